"""The fixed model in the target's precision: compiled, run on the simulator, compared with the original.

Its kernels' estimated times go to the rewrites whose nodes they compute.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.measure import Measure
from atc_py.compare.proof.result_gap import in_float64, largest_gap
from atc_py.compare.row_order import RowOrder
from atc_py.cost.network import network_cost
from atc_py.cost.reading import launches_of
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import AtcError
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.package.reader import OfflineModel, open_model
from atc_py.package.schema import OmModel
from atc_py.pipeline.compile import compile_model
from atc_py.results.fixing import TargetError, TargetProof
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_MOST_WEIGHTS = 256 << 20
"""Bytes of weights up to which the simulator, which holds them all, is given the model."""

_MICRO = 1e6

Feeds = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class OnTarget:
    """The result on the target."""

    proof: TargetProof  # for the record
    microseconds: Mapping[int, float]  # estimated time by position of the written file's nodes


def prove_on_target(
    model: Path,
    weight_bytes: int,
    check: CheckOptions,
    samples: Sequence[tuple[Feeds, Feeds]],
    folder: Path,
    nodes: Sequence[OnnxNode] = (),
) -> OnTarget:
    """Compile a fixed model and run it; a model that does not compile or run is a part of the result.

    `samples` are data of the inputs, and the original's results. Outputs that a TopK among the
    `nodes` of the fixed model orders are sets of rows.
    """
    names = check.soc, check.precision_mode.value
    if weight_bytes > _MOST_WEIGHTS:
        size = f"{weight_bytes / 2**20:.0f} MiB"
        why = Text(
            "not run: the simulator would hold weights of {size}; the limit is {most_weights} MiB",
            size=size,
            most_weights=_MOST_WEIGHTS >> 20,
        )
        return OnTarget(TargetProof(*names, {}, why=why), {})
    try:
        om = folder / "target.om"
        compile_model(model, om, _options(check, samples), to_run=True)
        with open_model(om) as package:
            cost = network_cost(package.description)
            outputs = _outputs(package, samples, nodes)
            times = _times(package.description, [kernel.cost.expected for kernel in cost.kernels])
    except AtcError as error:
        return OnTarget(TargetProof(*names, {}, failed=error.diagnostics), {})
    return OnTarget(TargetProof(*names, outputs, cost.time.expected * _MICRO), times)


def _options(check: CheckOptions, samples: Sequence[tuple[Feeds, Feeds]]) -> CompileOptions:
    """The options of the compilation; dims of inputs that are bound are left out."""
    fed = {name for feeds, _ in samples for name in feeds}
    return CompileOptions(
        soc=check.soc,
        precision_mode=check.precision_mode,
        input_shapes={name: dims for name, dims in check.input_shapes.items() if name in fed},
        op_specs=check.op_specs,
        precision=check.precision,
    )


def _outputs(
    package: OfflineModel, samples: Sequence[tuple[Feeds, Feeds]], nodes: Sequence[OnnxNode]
) -> dict[str, TargetError]:
    model = package.description
    dtypes = {output.name: DType(model.tensors[output.tensor].dtype) for output in model.outputs}
    order = RowOrder.of_compiled(model, nodes, dtypes)
    inputs = {
        tensor.name: DType(model.tensors[tensor.tensor].dtype).numpy for tensor in model.inputs
    }
    measures = {name: Measure(dtype) for name, dtype in dtypes.items()}
    gaps, ends = dict.fromkeys(dtypes, 0.0), {name: _Ends() for name in dtypes}
    odd = dict.fromkeys(dtypes, 0)
    device = SimModel(package)
    try:
        for feeds, wanted in samples:
            found = device.run(
                {name: feeds[name].astype(inputs[name], copy=False) for name in inputs}
            )
            found = {**found, **order.moved(found, wanted)}
            for name, array in found.items():
                if name in wanted and wanted[name].shape == array.shape:
                    measures[name].add(array, wanted[name])
                    for one, other in in_float64(array, wanted[name]):
                        gaps[name] = max(gaps[name], largest_gap(one, other))
                        ends[name].add(other)
                        odd[name] += int(np.sum(np.isfinite(other) & ~np.isfinite(one)))
    finally:
        device.close()
    cosines = {name: measure.figures().cosine for name, measure in measures.items()}
    return {
        name: TargetError(
            cosines[name] if isfinite(cosines[name]) else None,
            gaps[name] / ends[name].span,
            odd[name],
        )
        for name in dtypes
    }


class _Ends:
    def __init__(self) -> None:
        self._low, self._high = np.inf, -np.inf

    def add(self, values: NDArray[np.float64]) -> None:
        kept = values[np.isfinite(values)]
        self._low = min(self._low, float(kept.min(initial=np.inf)))
        self._high = max(self._high, float(kept.max(initial=-np.inf)))

    @property
    def span(self) -> float:
        """Their distance; of equal values the magnitude, and 1 where that is 0."""
        if self._low > self._high:
            return 1.0
        return self._high - self._low or abs(self._high) or 1.0


def _times(model: OmModel, seconds: Sequence[float]) -> dict[int, float]:
    """Microseconds by position of the source's nodes; those of one launch share its time."""
    results: dict[int, float] = defaultdict(float)
    for launch, time in zip(launches_of(model), seconds, strict=True):
        origins = Counter(origin.index for at in launch.nodes for origin in model.nodes[at].origins)
        for index in origins:
            results[index] += time * _MICRO / len(origins)
    return dict(results)
