"""Values of the original in the form that a fixed model has them in: with an axis of 1, narrower, turned."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from atc_py.compare.reference import ReferenceRun
from atc_py.diag.codes import REFERENCE_FAILED
from atc_py.fix.tidy.tidying import Twin
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text


class TwinValues:
    """Values of the original that those of a fixed model stand for."""

    def __init__(self, known: Collection[str], twins: Mapping[str, Sequence[Twin]]) -> None:
        """Take the names of the original's values, and the twins that tidying made."""
        self._found: dict[str, Twin] = {}
        for name, several in twins.items():
            twin = next((each for each in several if each.value in known), None)
            if twin is not None and name not in known:
                self._found[name] = twin

    def __contains__(self, name: str) -> bool:
        """Return True for a value that stands for one of the original's."""
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        """Yield the values that stand for others."""
        return iter(self._found)

    def source(self, name: str) -> str:
        """Return the original's name of a value."""
        return self._found[name].value if name in self._found else name

    def value(self, name: str, run: ReferenceRun) -> NDArray[Any] | None:
        """Return a value of the fixed model, as a run of the original has it; None if it has none.

        Raises:
            AtcError: REFERENCE_FAILED where the run gives it dims that contradict the types of the model.
        """
        value = run.value(self.source(name))
        relation = self._found[name].relation if name in self._found else None
        if value is None or relation is None:
            return value
        try:
            return relation.entered(value)
        except ValueError as error:
            raise REFERENCE_FAILED.error(
                Text(
                    "the run of the original gives {source} the dims {shape}, which "
                    "contradict the types of the model",
                    source=repr(self.source(name)),
                    shape=format_shape(value.shape),
                )
            ) from error
