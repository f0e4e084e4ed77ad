"""The values that a graph hands out, which knows the places of each of them."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from atc_py.ir.graph import Value

__all__ = ["Outputs"]


class Outputs(MutableSequence["Value"]):
    """Values by position; one may stand at several.

    Asking whether a value is among them, and putting another in its place, take no longer where
    there are many: passes do both once for each node.
    """

    __slots__ = ("_places", "_values")

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._values = list(values)
        self._places: dict[Value, set[int]] | None = None

    @overload
    def __getitem__(self, position: int) -> Value: ...
    @overload
    def __getitem__(self, position: slice) -> list[Value]: ...
    def __getitem__(self, position: int | slice) -> Value | list[Value]:
        return self._values[position]

    @overload
    def __setitem__(self, position: int, value: Value) -> None: ...
    @overload
    def __setitem__(self, position: slice, value: Iterable[Value]) -> None: ...
    def __setitem__(self, position: int | slice, value: Value | Iterable[Value]) -> None:
        self._values[position] = value  # type: ignore[index, assignment]  # one overload each
        self._places = None

    def __delitem__(self, position: int | slice) -> None:
        del self._values[position]
        self._places = None

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values)

    def __contains__(self, value: object) -> bool:
        return value in self._known()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, Outputs)):
            return NotImplemented
        return self._values == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes in place

    def __repr__(self) -> str:
        return repr(self._values)

    def insert(self, position: int, value: Value) -> None:
        """Put `value` before what stands at `position`."""
        self._values.insert(position, value)
        self._places = None

    def replace(self, old: Value, new: Value) -> None:
        """Let `new` stand wherever `old` does."""
        places = self._known().pop(old, None)
        if places is None:
            return
        for place in places:
            self._values[place] = new
        self._known().setdefault(new, set()).update(places)

    def _known(self) -> dict[Value, set[int]]:
        """The positions of each value, found again after changes other than `replace`."""
        if self._places is None:
            self._places = {}
            for place, value in enumerate(self._values):
                self._places.setdefault(value, set()).add(place)
        return self._places
