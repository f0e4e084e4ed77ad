"""Ranges that onnxruntime's own calibraters choose for arrays."""

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnxruntime.quantization.calibrate import (
    CalibrationDataReader,
    HistogramCollector,
    MinMaxCalibrater,
)

from atc_py.quantizing.calibrate.value_range import ValueRange


class _Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Arrays for the input `x`."""

    def __init__(self, arrays: Iterable[NDArray[Any]]) -> None:
        self._feeds = iter([{"x": array} for array in arrays])

    def get_next(self) -> dict[str, NDArray[Any]] | None:
        return next(self._feeds, None)


def min_max_range(arrays: list[NDArray[np.float32]], folder: Path) -> ValueRange:
    """Return the range of MinMaxCalibrater for the data input of a MatMul."""
    size = arrays[0].shape[-1]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [helper.make_tensor("w", TensorProto.FLOAT, [size, 1], [1.0] * size)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    calibrater = MinMaxCalibrater(path, augmented_model_path=str(folder / "augmented.onnx"))
    calibrater.augment_graph()
    calibrater.create_inference_session()
    calibrater.collect_data(_Reader(arrays))
    low, high = calibrater.compute_data()["x"].range_value
    return ValueRange(low.item(), high.item())


def collected_range(
    method: str,
    arrays: list[NDArray[np.float32]],
    *,
    bins: int = 2048,
    percentile: float = 99.999,
    symmetric: bool = False,
) -> ValueRange:
    """Return the range of the percentile or entropy method, with 128 quantized bins."""
    collector = HistogramCollector(method, symmetric, bins, 128, percentile, None)
    with contextlib.redirect_stdout(io.StringIO()):
        for array in arrays:
            collector.collect({"x": array})
        low, high, *_ = collector.compute_collection_result()["x"]
    return ValueRange(float(low), float(high))
