"""What float16 costs a network, measured by onnxruntime: its float32 arithmetic between roundings.

Nothing of atc-py takes part. Where a compiled model holds float16 values, the source model gets a
Cast to float16 and one back; onnxruntime computes everything between them in float32.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.end_to_end import run_with_onnxruntime

Array = npt.NDArray[Any]


CUBE = frozenset({"Conv", "Gemm", "GRU", "LSTM", "MatMul"})
"""What runs in float16 with allow_fp32_to_fp16."""

SHAPES_ONLY = frozenset({"Constant", "ConstantOfShape", "Identity", "Shape"})
"""What makes no kernel, or one that sees no float."""

HALF_UNIT = 2.0**-11


def rounded_model(model: onnx.ModelProto, mode: str) -> onnx.ModelProto:
    """Return `model` with floats rounded to float16 around the nodes that `mode` narrows.

    Inputs and outputs of such a node are rounded, weights among them. Recurrent nodes round
    neither gates nor states between two steps: a kernel rounds what it returns.
    """
    found = onnx.ModelProto()
    found.CopyFrom(model)
    rounder = _Rounder(_float_values(model))
    for node in model.graph.node:
        wanted = node.op_type in CUBE or mode == "force_fp16"
        if wanted and node.op_type not in SHAPES_ONLY and rounder.gives_floats(node):
            rounder.add_rounded(node)
        else:
            rounder.nodes.append(node)
    del found.graph.node[:]
    found.graph.node.extend(rounder.nodes)
    return found


def rounding_errors(
    model: onnx.ModelProto, feeds: Mapping[str, Array], mode: str, draws: int
) -> Array:
    """Return errors [draws, *output] of the first output in draws of weights and inputs.

    In each draw weights and inputs are moved by at most half a unit of float16. That changes
    the network's results next to nothing and decides every rounding anew, so the draws tell how
    errors of roundings spread.
    """
    random = np.random.default_rng(0)
    errors = []
    for _ in range(draws):
        moved = _moved_model(model, random)
        fed = {name: _moved(array, random) for name, array in feeds.items()}
        exact = next(iter(run_with_onnxruntime(moved, fed).values()))
        rounded = next(iter(run_with_onnxruntime(rounded_model(moved, mode), fed).values()))
        errors.append(rounded - exact)
    return np.stack(errors)


class _Rounder:
    """Nodes of a new graph; each value is rounded once, whoever reads it."""

    def __init__(self, floats: frozenset[str]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._floats = floats
        self._rounded: dict[str, str] = {}

    def gives_floats(self, node: onnx.NodeProto) -> bool:
        """Return True if the node's first output is a float."""
        return node.output[0] in self._floats

    def add_rounded(self, node: onnx.NodeProto) -> None:
        """Add the node on rounded inputs, with rounded outputs."""
        made = onnx.NodeProto()
        made.CopyFrom(node)
        for at, name in enumerate(node.input):
            if name in self._floats:
                made.input[at] = self._rounded_input(name)
        for at, name in enumerate(node.output):
            made.output[at] = f"{name}/exact" if name else ""
        self.nodes.append(made)
        for name in filter(None, node.output):
            self._add_casts(f"{name}/exact", name)

    def _rounded_input(self, name: str) -> str:
        """Return the name of a value's rounded twin."""
        if name not in self._rounded:
            self._rounded[name] = f"{name}/rounded"
            self._add_casts(name, self._rounded[name])
        return self._rounded[name]

    def _add_casts(self, source: str, target: str) -> None:
        """Add casts to float16 and back."""
        narrow = f"{target}/float16"
        self.nodes.append(helper.make_node("Cast", [source], [narrow], to=TensorProto.FLOAT16))
        self.nodes.append(helper.make_node("Cast", [narrow], [target], to=TensorProto.FLOAT))


def _float_values(model: onnx.ModelProto) -> frozenset[str]:
    """Return names of float32 values, constants among them."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    declared = (*graph.input, *graph.output, *graph.value_info)
    names = {v.name for v in declared if v.type.tensor_type.elem_type == TensorProto.FLOAT}
    return frozenset(
        names | {w.name for w in graph.initializer if w.data_type == TensorProto.FLOAT}
    )


def _moved_model(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto:
    """Return the model with its initializers moved."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for weight in found.graph.initializer:
        array = _moved(numpy_helper.to_array(weight), random)
        weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    return found


def _moved(array: Array, random: np.random.Generator) -> Array:
    """Return floats moved by at most half a unit of float16; others as they are."""
    if array.dtype != np.float32:
        return array
    moved: Array = array * (1 + random.uniform(-HALF_UNIT, HALF_UNIT, array.shape))
    return moved.astype(np.float32)
