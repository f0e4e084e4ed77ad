"""What elementwise nodes become: the rewrites that specifications promise, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from tests.end_to_end import one_node_model
from tests.relaxed_specs import relaxed_specs

Array = NDArray[Any]

F32, F16 = np.float32, np.float16
MAP = np.zeros((2, 3, 4, 5), F32)
ROW = np.zeros(5, F32)


def _became(model: onnx.ModelProto, folder: Path) -> dict[str, int]:
    """Return the target operators of the compiled model, by name."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    made = atc_py.convert(path, folder / "m.om", precision_mode="must_keep_origin_dtype")
    return dict(made.facts.target_operators)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "expected"),
    [
        ("Sub", {"a": MAP, "b": MAP}, {}, {"Sub": 1}),
        ("Sub", {"a": MAP, "b": ROW}, {}, {"ExpandD": 1, "Sub": 1}),
        ("Sub", {"a": MAP[:, :1], "b": ROW[:1]}, {}, {"ExpandD": 1, "Sub": 1}),
        ("Sub", {"a": MAP[:, :, :1], "b": MAP[:1]}, {}, {"ExpandD": 2, "Sub": 1}),
        ("Softplus", {"x": ROW}, {}, {"Softplus": 1}),
        ("Softplus", {"x": MAP}, {}, {"Reshape": 2, "Softplus": 1}),
        ("PRelu", {"x": MAP, "s": ROW[:3]}, {}, {"PRelu": 1}),
        ("PRelu", {"x": MAP, "s": MAP[0, :, :1, :1]}, {}, {"PRelu": 1, "Reshape": 1}),
        ("PRelu", {"x": MAP, "s": MAP[:1, :1, :1, :1]}, {}, {"PRelu": 1, "Reshape": 1}),
        (
            "PRelu",
            {"x": MAP[..., :3], "s": ROW[:3]},
            {},
            {"Less": 1, "Mul": 1, "SelectV2": 1},
        ),
        ("Selu", {"x": ROW}, {}, {"Selu": 1}),
        ("Selu", {"x": ROW}, {"alpha": 1.5}, {"Elu": 1}),
        ("ThresholdedRelu", {"x": ROW}, {}, {"Cast": 1, "SelectV2": 1, "Threshold": 1}),
        ("Mod", {"a": np.ones(2, np.int64), "b": np.ones(2, np.int64)}, {}, {"FloorMod": 1}),
        ("Mod", {"a": ROW, "b": ROW}, {"fmod": 1}, {"Mod": 1}),
        ("Sum", {"a": MAP, "b": MAP}, {}, {"AccumulateNV2": 1}),
        ("Mean", {"a": MAP, "b": MAP, "c": MAP}, {}, {"AccumulateNV2": 1, "Muls": 1}),
        ("Mean", {"a": MAP, "b": ROW, "c": MAP}, {}, {"Add": 2, "Muls": 1}),
        ("Max", {"a": MAP, "b": ROW, "c": MAP}, {}, {"Maximum": 2}),
        ("Min", {"a": MAP}, {}, {}),
        ("Celu", {"x": ROW}, {}, {"Celu": 1}),
    ],
)
def test_node_becomes_target_operators(
    op_type: str,
    inputs: dict[str, Array],
    attributes: dict[str, Any],
    expected: dict[str, int],
    tmp_path: Path,
) -> None:
    assert _became(one_node_model(op_type, inputs, 13, **attributes), tmp_path) == expected


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8])
def test_expand_carries_bytes_in_float16(dtype: type[Any], tmp_path: Path) -> None:
    constants = {"shape": np.array([2, 3], np.int64)}
    model = one_node_model("Expand", {"x": np.zeros(3, dtype)}, 13, constants=constants)
    assert _became(model, tmp_path) == {"Cast": 2, "ExpandD": 1}


def test_expand_to_the_shape_that_it_has_is_nothing(tmp_path: Path) -> None:
    constants = {"shape": np.array([5], np.int64)}
    model = one_node_model("Expand", {"x": ROW}, 13, constants=constants)
    assert _became(model, tmp_path) == {}


@pytest.mark.parametrize(
    ("op_type", "inputs", "message", "field"),
    [
        ("PRelu", {"x": MAP, "s": ROW[:2]}, "cannot broadcast 2 to 2x3x4x5", "input slope"),
        ("PRelu", {"x": ROW, "s": MAP[0, 0]}, "cannot broadcast 4x5 to 5", "input slope"),
        ("Mod", {"a": ROW, "b": ROW}, "needs fmod 1 for float32, found 0", "attribute fmod"),
    ],
)
def test_contradiction_is_refused_with_its_place(
    op_type: str, inputs: dict[str, Array], message: str, field: str, tmp_path: Path
) -> None:
    model = one_node_model(op_type, inputs, 13)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    with pytest.raises(AtcError, match=message) as caught:
        atc_py.convert(path, tmp_path / "m.om", op_specs=relaxed_specs(model))
    (found,) = caught.value.diagnostics
    assert found.code.name == "bad-node"
    assert found.place is not None
    assert found.place.field == field
