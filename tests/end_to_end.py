"""From an ONNX model to numbers: through atc-py's whole way, and through onnxruntime."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper

import atc_py

Array = npt.NDArray[Any]


IR_VERSION = 8

onnxruntime.set_default_logger_severity(4)


def run_with_atc_py(
    model: onnx.ModelProto, feeds: Mapping[str, Array], folder: Path, **options: Any
) -> dict[str, Array]:
    """Save, convert, load and run `model`; every pass is verified."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    om = folder / "model.om"
    atc_py.convert(path, om, verify=True, **options)
    with atc_py.load(om) as loaded:
        return loaded.run(feeds)


def run_with_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the results of onnxruntime without its optimizations, which are the reference."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def one_node_model(
    op_type: str,
    inputs: Mapping[str, Array],
    opset: int,
    *,
    constants: Mapping[str, Array] | None = None,
    order: Sequence[str] | None = None,
    outputs: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one node.

    Args:
        op_type: the operator.
        inputs: arrays that are fed, by name; only their types are used.
        opset: version of ONNX's own domain.
        constants: arrays that become initializers.
        order: names by input position, "" for an absent one; by default inputs, then constants.
        outputs: number of outputs, named y0, y1 ...
        **attributes: of the node.
    """
    constants = constants or {}
    names = list(order) if order is not None else [*inputs, *constants]
    results = [f"y{position}" for position in range(outputs)]
    node = helper.make_node(op_type, names, results, name="node", **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [_info(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in results],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    inferred.graph.ClearField("value_info")
    return inferred


def _info(name: str, array: Array) -> onnx.ValueInfoProto:
    """Return the declaration of an input like `array`."""
    dtype: np.dtype[Any] = array.dtype
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), array.shape)
