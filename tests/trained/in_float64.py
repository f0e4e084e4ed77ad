"""A model in float64: what it computes without the rounding of float32, by ONNX's reference."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

Arrays = Mapping[str, npt.NDArray[Any]]


class STFT(OpRun):
    """Spectra of frames; the reference takes no signals of rank 2."""

    def _run(
        self, signal: Any, step: Any, window: Any = None, length: Any = None, onesided: int = 1
    ) -> tuple[npt.NDArray[Any]]:
        count = int(len(window) if length is None else length)
        rows = signal.reshape(signal.shape[:2])
        frames = np.lib.stride_tricks.sliding_window_view(rows, count, axis=1)[:, :: int(step)]
        transform = np.fft.rfft if onesided else np.fft.fft
        found = transform(frames * (1 if window is None else window), axis=-1)
        return (np.stack([found.real, found.imag], axis=-1).astype(signal.dtype),)


class GatherElements(OpRun):
    """Selection along an axis; the reference takes no axis of more than 64 elements."""

    def _run(self, data: Any, indices: Any, axis: int = 0) -> tuple[npt.NDArray[Any]]:
        return (np.take_along_axis(data, indices % data.shape[axis], axis),)


class Pad(OpRun):
    """Padding; the reference takes no negative pads, which cut."""

    def _run(
        self, data: Any, pads: Any, value: Any = None, axes: Any = None, mode: str = "constant"
    ) -> tuple[npt.NDArray[Any]]:
        pairs = np.zeros((data.ndim, 2), np.int64)
        pairs[range(data.ndim) if axes is None else axes] = np.reshape(pads, (2, -1)).T
        kept = tuple(
            slice(max(0, -low), length - max(0, -high))
            for (low, high), length in zip(pairs.tolist(), data.shape, strict=True)
        )
        fill = {"constant_values": 0 if value is None else value} if mode == "constant" else {}
        return (np.pad(data[kept], pairs.clip(0), mode, **fill),)  # type: ignore[call-overload]


def run_in_float64(path: Path, feeds: Arrays) -> Arrays | None:
    """Return the outputs of a model whose floats are all widened; None where the reference fails."""
    model = onnx.load(path)
    _widen(model.graph)
    wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in feeds.items()}
    names = [output.name for output in model.graph.output]
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model, new_ops=[GatherElements, Pad, STFT])
            results: Any = evaluator.run(names, wide)
    except (RuntimeError, TypeError, ValueError):  # it does not take every form of every operator
        return None
    return dict(zip(names, results, strict=True))


def _widen(graph: onnx.GraphProto) -> None:
    """Make every float32 of a graph and of the graphs in it a float64."""
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _widen(attribute.g)
            elif attribute.type == AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            elif node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    """Make a tensor of float32 one of float64."""
    if tensor.data_type == TensorProto.FLOAT:
        wide = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
