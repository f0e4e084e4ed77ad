"""Nodes of operators that only the list of CANN 9.0 has: many in one model, each with its formula.

A model is compiled once for each mode and opset, whatever the number of nodes in it.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from atc_py.spec import library
from tests.device.tolerances import assert_close
from tests.end_to_end import IR_VERSION, run_with_atc_py
from tests.lowering.reference import MODES, comparable, operand
from tests.sampling import sampled

Array = NDArray[Any]


LIST = "cann-9.0"


@dataclass(frozen=True)
class Case:
    """One node.

    Attributes:
        op_type: the operator.
        inputs: what it is fed, by position; None for an absent input.
        formula: the expected result from the operands that the mode computes with.
        attributes: of the node.
        constants: positions of inputs that are constants of the model.
    """

    op_type: str
    inputs: Sequence[Array | None]
    formula: Callable[..., Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: frozenset[int] = frozenset()

    def name(self, number: int, position: int) -> str:
        """Return the name of an input; none where it is absent."""
        return "" if self.inputs[position] is None else f"x{number}_{position}"


def opsets_of(op_type: str) -> list[Any]:
    """Return the listed opsets that ONNX has the operator at: the ends in samples, all in sweeps."""
    spec = library(LIST).find(op_type)
    assert spec is not None
    since = min(s.since_version for s in _schemas(op_type))
    opsets = [opset for opset in spec.opsets if opset >= since]
    return sampled(sorted({opsets[0], opsets[-1]}), opsets[1:-1])


def _schemas(op_type: str) -> list[onnx.defs.OpSchema]:
    """Return ONNX's definitions of an operator, of all opsets."""
    return [s for s in onnx.defs.get_all_schemas_with_history() if s.name == op_type]


def model_of(cases: Sequence[Case], opset: int) -> onnx.ModelProto:
    """Return a model with a node for each case; the result of case n is called yn."""
    nodes, inputs, constants = [], [], []
    for number, case in enumerate(cases):
        names = [case.name(number, position) for position in range(len(case.inputs))]
        for position, (name, array) in enumerate(zip(names, case.inputs, strict=True)):
            if array is None:
                continue
            if position in case.constants:
                constants.append(onnx.numpy_helper.from_array(array, name))
                continue
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(name, element, array.shape))
        nodes.append(helper.make_node(case.op_type, names, [f"y{number}"], **case.attributes))
    outputs = [onnx.ValueInfoProto(name=f"y{number}") for number in range(len(cases))]
    graph = helper.make_graph(nodes, "newer", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def feeds_of(cases: Sequence[Case]) -> dict[str, Array]:
    """Return what a model of these cases is fed, by name."""
    return {
        case.name(number, position): array
        for number, case in enumerate(cases)
        for position, array in enumerate(case.inputs)
        if array is not None and position not in case.constants
    }


def run_on_list(
    cases: Sequence[Case], opset: int, mode: str = MODES[0], **options: Any
) -> list[Array]:
    """Return the result of each case, compiled under the list."""
    options = {"operator_list": LIST, "precision_mode": mode, **options}
    with tempfile.TemporaryDirectory() as folder:
        found = run_with_atc_py(model_of(cases, opset), feeds_of(cases), Path(folder), **options)
    return [found[f"y{number}"] for number in range(len(cases))]


def run_on_newer_list(
    model: onnx.ModelProto, feeds: Mapping[str, Array], folder: Path, mode: str = MODES[0]
) -> Array:
    """Return the only result of a model that keeps to the list."""
    options: dict[str, Any] = {"precision_mode": mode, "operator_list": LIST}
    (found,) = run_with_atc_py(model, feeds, folder, **options).values()
    return found


def hold_to_formulas(cases: Sequence[Case], opset: int) -> None:
    """Check that the results of all cases are those of their formulas, in both modes."""
    for mode in MODES:
        for case, found in zip(cases, run_on_list(cases, opset, mode), strict=True):
            arrays = [array if array is None else operand(array, mode) for array in case.inputs]
            with np.errstate(all="ignore"):
                expected = np.asarray(case.formula(*arrays))
            assert_close(*comparable(found, expected, mode))
