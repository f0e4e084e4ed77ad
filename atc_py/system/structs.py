"""Structs of msgspec: the base of public ones, and `replace` as type checkers understand it.

msgspec's own function takes any keyword in their eyes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:
    from msgspec.structs import replace as replace


class Result(msgspec.Struct, frozen=True):
    """A struct that the Python interface takes or returns.

    Names in the annotations of its kinds are there at run time, not for type checkers alone: `help`
    looks them up.
    """
