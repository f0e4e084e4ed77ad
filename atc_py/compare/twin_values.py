"""Values of the original in the form that a fixed model has them in: without an axis, narrower, turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.compare.reference import ReferenceModel, ReferenceRun
    from atc_py.fix.tidy.tidying import Twin

__all__ = ["TwinValues"]


class TwinValues:
    """The values of one run of the original, by the names of the fixed model."""

    def __init__(
        self, model: ReferenceModel, run: ReferenceRun, twins: Mapping[str, Sequence[Twin]]
    ) -> None:
        """Take the original, a run of it, and what values of the fixed model stand for."""
        self._known = {*model.makers, *model.inputs}
        self._run = run
        self._twins = twins

    def expect(self, names: Iterable[str]) -> None:
        """Keep what each of `names` stands for."""
        self._run.expect(dict.fromkeys((self._source(name)[0] for name in names), 1))

    def value(self, name: str) -> NDArray[Any] | None:
        """Return the value called `name` in the fixed model; None where the original has none."""
        source, twin = self._source(name)
        value = self._run.value(source)
        if value is None or twin is None or twin.relation is None:
            return value
        return twin.relation.entered(value)

    def _source(self, name: str) -> tuple[str, Twin | None]:
        """Return the original's name of a value, and the relation between them."""
        if name in self._known:
            return name, None
        known = (each for each in self._twins.get(name, ()) if each.value in self._known)
        twin = next(known, None)
        return (name, None) if twin is None else (twin.value, twin)
