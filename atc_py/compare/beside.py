"""The third side of a comparison, which takes values while two run in step."""

from collections.abc import Collection
from typing import Any, Protocol

from numpy.typing import NDArray


class Beside(Protocol):
    """A third side of a comparison.

    Attributes:
        names: values of the original that it asks for.
    """

    names: Collection[str]

    def begin(self) -> None: ...

    def add(self, name: str, found: NDArray[Any] | None, wanted: NDArray[Any] | None) -> None:
        """Take the device's result for a value, None without, and the original's."""
        ...
