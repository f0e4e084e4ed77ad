"""Faults that no input of an example can cause, by name: contexts in which they occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = ["FAULTS"]

FAULTS: dict[str, Callable[[], AbstractContextManager[object]]] = {}
