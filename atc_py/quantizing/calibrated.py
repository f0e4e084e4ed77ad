"""A float model with the numbers of its layers' int8 forms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import Diagnostic
from atc_py.onnx_graph.rewriting.qdq.rewriting import Rewritten
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.ranges import Range
from atc_py.quantizing.calibrate.scales import ActivationScale
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer, FoundLayers
from atc_py.quantizing.layers.qdq_nodes import Int8Layer, TensorScale
from atc_py.quantizing.observe import Observed
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prepare import Prepared
from atc_py.results.quantization import RangeTrial, StepGain

if TYPE_CHECKING:
    from atc_py.text import Text


class CalibratedLayer(msgspec.Struct, frozen=True, eq=False):
    """A layer with the numbers of its int8 form.

    Attributes:
        layer: the layer in the prepared model.
        histogram: values of its data in all samples; None where the numbers come from a record.
        range: what codes of its data stand for.
        activation: scale and offset of its data.
        weight_scale: float32 scales of its weights, one per output channel.
        codes: int8 codes of its weights.
        bias: bias in place of its own; None where that stays.
        bias_gain: by how much that bias lowers the squared error of the layer's result, in dB.
    """

    layer: FloatLayer
    histogram: Histogram | None
    range: Range
    activation: ActivationScale
    weight_scale: NDArray[np.float32]
    codes: NDArray[np.int8]
    bias: NDArray[np.float32] | None = None
    bias_gain: float | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.layer.name

    @property
    def kind(self) -> str:
        """Its operator."""
        return self.layer.kind

    @property
    def tensor(self) -> str:
        """The tensor that it reads."""
        return self.layer.data

    @property
    def weight(self) -> str:
        """The constant that holds its weights."""
        return self.layer.weight


class Calibrated:
    """A float model that can be written with any of its layers on int8.

    It has files in a folder for temporary files: use it in a `with` block, or call `close`.

    Attributes:
        original: the float model as it was given.
        prepared: the rewrites of that.
        model: the float model after its equivalent rewrites, whose layers are quantized.
        layers: layers with numbers, producers first.
        left: layers of `model` that stay in floats, with the reason.
        warnings: what is odd about layers.
        observed: what the samples showed; None where the numbers come from a record.
        settings: the choices.
        steps: what steps gained where that was judged.
        trials: the ranges that were tried for tensors.
        seconds: time of the calibration.
        folder: a folder for temporary files; it is gone after `close`.
    """

    def __init__(  # noqa: PLR0913  (the parts of a result)
        self,
        *,
        original: FloatModel,
        prepared: Prepared,
        layers: tuple[CalibratedLayer, ...],
        left: Mapping[str, Text],
        warnings: tuple[Diagnostic, ...],
        observed: Observed | None,
        settings: CalibrationOptions,
        seconds: float,
        folder: Path,
        resources: ExitStack,
    ) -> None:
        self.original, self.prepared, self.layers = original, prepared, layers
        self.model = prepared.model
        self.left, self.warnings, self.observed = left, warnings, observed
        self.settings, self.seconds, self.folder = settings, seconds, folder
        self.steps: tuple[StepGain, ...] = prepared.steps
        self.trials: tuple[RangeTrial, ...] = ()
        self._resources = resources
        self._qdq_model: FloatModel | None = None

    def with_layers(self, layers: Sequence[CalibratedLayer]) -> Calibrated:
        """The same with other numbers; it is open as long as this one is."""
        made = Calibrated(
            original=self.original,
            prepared=self.prepared,
            layers=tuple(layers),
            left=self.left,
            warnings=self.warnings,
            observed=self.observed,
            settings=self.settings,
            seconds=self.seconds,
            folder=self.folder,
            resources=ExitStack(),
        )
        made._qdq_model = self._qdq_model
        made.steps, made.trials = self.steps, self.trials
        return made

    def having(self, *steps: StepGain, trials: Sequence[RangeTrial] = ()) -> Calibrated:
        """Add what steps gained, and ranges that were tried; return this."""
        self.steps, self.trials = (*self.steps, *steps), (*self.trials, *trials)
        return self

    def leaving(self, reasons: Mapping[str, Text]) -> Calibrated:
        """Add layers that stay in floats, with the reasons; return this."""
        self.left = {**self.left, **reasons}
        return self

    def owning(self, resources: ExitStack, seconds: float) -> Calibrated:
        """Take what is to be released by `close`; return this."""
        self._resources, self.seconds = resources, seconds
        return self

    def written(
        self,
        path: Path,
        layers: Collection[str] | None = None,
        form: str = "ascend",
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model with layers on int8; return the record of the rewrite.

        Args:
            path: the file; it appears whole or not at all.
            layers: names of the layers that are to be on int8; None for all.
            form: `ascend` or `qdq`.
            external: put weights into a file beside the model.
            final: the path, of the same name, that the file is moved to afterwards.

        Raises:
            AtcError: CANNOT_WRITE; NO_QDQ_FORM.
        """
        chosen = {each.name: each for each in self.layers if layers is None or each.name in layers}

        def numbers(found: FoundLayers) -> list[Int8Layer]:
            return [
                _int8_layer(each, chosen[each.name]) for each in found.layers if each.name in chosen
            ]

        if form == "qdq":
            return self.qdq_model.write_qdq(path, numbers, external=external, final=final)
        return self.model.write_ascend(path, numbers, external=external, final=final)

    @property
    def qdq_model(self) -> FloatModel:
        """The model at an opset that has QDQ per channel."""
        if self._qdq_model is None:
            self._qdq_model = self.model.raised(self.folder)
        return self._qdq_model

    def forms(self) -> dict[str, Int8Layer]:
        """The numbers of each layer of `qdq_model`, by its name."""
        own = {each.name: each for each in self.layers}
        found = self.qdq_model.found.layers
        return {each.name: _int8_layer(each, own[each.name]) for each in found if each.name in own}

    def close(self) -> None:
        """Remove the temporary files."""
        self._resources.close()

    def __enter__(self) -> Calibrated:  # noqa: PYI034  (Self is not in Python 3.10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _int8_layer(layer: FloatLayer, found: CalibratedLayer) -> Int8Layer:
    data = TensorScale(found.activation.scale, found.activation.offset)
    return Int8Layer(layer, data, found.codes, found.weight_scale, found.bias)
