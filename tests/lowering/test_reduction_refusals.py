"""Nodes along axes, and random ones, that lowering refuses: the code and the place.

An axis beyond the rank of most operators, and products that do not fit, are found before that.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.diag import AtcError
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]

X = np.zeros((2, 3), np.float32)
TWO = np.array([1, 1], np.int64)


def model_of(
    op_type: str, opset: int, constants: Mapping[str, Array], attributes: Mapping[str, Any]
) -> onnx.ModelProto:
    """Return one node on `X` with outputs declared to be like it, so that lowering is reached."""
    outputs = ["y", "z"] if op_type == "TopK" else ["y"]
    node = helper.make_node(op_type, ["x", *constants], outputs, name="the node", **attributes)
    element = {"ArgMax": 7, "Multinomial": 6}.get(op_type, 1)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", 1, X.shape)],
        [helper.make_tensor_value_info(outputs[0], element, X.shape)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(
    ("op_type", "opset", "constants", "attributes", "code", "reason"),
    [
        ("ArgMax", 12, {}, {"select_last_index": 1}, "ATC4001", "the last of equal values"),
        ("CumSum", 13, {"axis": np.array(2)}, {}, "ATC4013", "axis must be in [-2, 1], found 2"),
        ("CumSum", 13, {"axis": TWO}, {}, "ATC4013", "needs 1 number in axis, found 2"),
        ("LpNormalization", 13, {}, {"p": 3}, "ATC4013", "takes p 1 or 2, found 3"),
        ("MeanVarianceNormalization", 9, {}, {}, "ATC4013", "axis must be in [-2, 1], found 2"),
        (
            "MeanVarianceNormalization",
            9,
            {},
            {"axes": [1, -1]},
            "ATC4013",
            "needs axes that differ, found [1, 1]",
        ),
        ("TopK", 8, {}, {"k": 4}, "ATC4013", "takes k from 0 to 3, found 4"),
        ("Multinomial", 13, {}, {"sample_size": 0}, "ATC4013", "positive sample_size, found 0"),
    ],
)
def test_node_is_refused_with_its_place(  # noqa: PLR0913  (one column a parameter)
    op_type: str,
    opset: int,
    constants: Mapping[str, Array],
    attributes: Mapping[str, Any],
    code: str,
    reason: str,
    tmp_path: Path,
) -> None:
    model = model_of(op_type, opset, constants, attributes)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(
            tmp_path / "model.onnx", tmp_path / "model.om", op_specs=relaxed_specs(model)
        )
    found = caught.value.diagnostics[0]
    assert (found.code.id, found.place and found.place.node_name) == (code, "the node"), found
    assert reason in found.message
