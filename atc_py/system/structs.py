"""`replace` of msgspec structs as type checkers understand it: they know the fields of a struct.

msgspec's own function takes any keyword in their eyes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414
else:
    from msgspec.structs import replace

__all__ = ["replace"]
