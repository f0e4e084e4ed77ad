"""The engines that run the original: onnxruntime, and onnx's own evaluator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx
    from numpy.typing import NDArray

__all__ = ["ReferenceEngine", "start_onnx_reference", "start_onnxruntime"]


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """Runner of one piece of the original."""

    name: str
    call: Callable[[Mapping[str, NDArray[Any]]], Sequence[object]]
    writes: tuple[str, ...]

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the results that are tensors, by name."""
        results = zip(self.writes, self.call(feeds), strict=True)
        return {
            name: np.asarray(found)
            for name, found in results
            if isinstance(found, np.ndarray | np.generic)
        }


def start_onnxruntime(
    model: onnx.ModelProto, writes: tuple[str, ...], threads: int = 0
) -> ReferenceEngine:
    """Return onnxruntime without optimizations, which would remove results.

    Args:
        model: the nodes.
        writes: the results.
        threads: threads within a node; 0 for as many as there are cores. Starting them takes far
            longer than a small model does.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    # Threads that wait in a loop would take the cores from the device's kernels.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = list(writes)
    return ReferenceEngine("onnxruntime", lambda feeds: session.run(names, dict(feeds)), writes)


def start_onnx_reference(model: onnx.ModelProto, writes: tuple[str, ...]) -> ReferenceEngine:
    """Return the reference evaluator of onnx."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)

    def call(feeds: Mapping[str, NDArray[Any]]) -> Sequence[object]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(evaluator.run(list(writes), dict(feeds)))

    return ReferenceEngine("onnx", call, writes)
