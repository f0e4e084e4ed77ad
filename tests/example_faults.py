"""Faults that no input of an example can cause, by name: contexts in which they occur."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = ["FAULTS"]


@contextmanager
def _without(module: str) -> Iterator[None]:
    """Let a module be absent, as in an environment in which it is not installed."""
    with mock.patch.dict(sys.modules, {module: None}):
        yield


FAULTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "no-pillow": lambda: _without("PIL"),
}
