"""Mixed int8 models of a plan: some layers on int8, calibrated with the samples, the others in floats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.compare.compilation import Compilation
from atc_py.compare.original import open_original
from atc_py.compare.paired_run import Feeds
from atc_py.compare.reference import ReferenceModel
from atc_py.package.schema import OmModel
from atc_py.quantizing.fall_back import cost_order
from atc_py.quantizing.plan.time_model import seconds_by_line
from atc_py.quantizing.trial_model import TrialModel

if TYPE_CHECKING:
    from atc_py.quantizing.calibrated import Calibrated


class Int8Models:
    """A calibrated model that is written with any of its layers on int8.

    Attributes:
        layers: names of all layers that have an int8 form.
    """

    def __init__(self, found: Calibrated, model: Path, folder: Path) -> None:
        self._found, self._model, self._folder = found, model, folder
        self.layers = tuple(each.name for each in found.layers)
        self._written: tuple[frozenset[str], Path] | None = None
        self._reference: ReferenceModel | None = None

    def compilation(self, own: Compilation, layers: frozenset[str]) -> Compilation:
        """Return how the model with `layers` on int8 is compiled.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        if self._written is None or self._written[0] != layers:
            path = self._folder / "mixed.onnx"
            self._found.written(path, layers)
            self._written, self._reference = (layers, path), None
        return replace(own, model=self._written[1])

    def reference(self) -> ReferenceModel:
        """The original, with the nodes of the model that was written last.

        Raises:
            AtcError: BAD_MODEL.
        """
        if self._reference is None:
            assert self._written is not None  # noqa: S101  (written before)
            path = self._written[1]
            self._reference = open_original(path, self._folder, None, self._model)
        return self._reference

    def write(self, path: Path, layers: Collection[str]) -> None:
        """Write the model with `layers` on int8.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        self._found.written(path, layers)

    def lines(self, own: Compilation, lines: Iterable[str]) -> frozenset[str]:
        """Those of `lines` that name a node of the models that are written."""
        self.compilation(own, frozenset(self.layers))
        names = {node.name for node in self.reference().nodes}
        return frozenset(line for line in lines if line in names)

    def cheapest_first(
        self,
        feeds: Iterable[Feeds],
        plain: OmModel,
        mixed: OmModel,
        tell: Callable[[str], None],
    ) -> list[str]:
        """The layers that int8 makes quicker, those of the least noise for their time first.

        Args:
            feeds: samples of single-layer trials.
            plain: the compiled model without int8.
            mixed: the compiled model with all layers on int8.
            tell: called with the progress.

        Raises:
            AtcError: what the executor raises.
        """
        trials = TrialModel(self._found, feeds, self._found.settings.executor)
        try:
            _, ratios = cost_order(trials, tell)
        finally:
            trials.close()
        before, after = seconds_by_line(plain), seconds_by_line(mixed)
        saved = {name: before.get(name, 0.0) - after.get(name, 0.0) for name in self.layers}
        whole = max((abs(each) for each in saved.values()), default=0.0) or 1.0
        return sorted(self.layers, key=lambda name: _price(ratios, name, saved[name] / whole))


def _price(ratios: Mapping[str, float], name: str, saved: float) -> float:
    """The noise of a layer for the time that it saves; of one that saves nothing, very much."""
    noise = 10 ** (-min(ratios.get(name, 0.0), 300.0) / 10)
    return noise / saved if saved > 0 else 1e30 * (1 + noise)
