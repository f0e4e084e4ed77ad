"""What nodes that move data become: the rewrites that the specifications name, and refusals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError, Diagnostic
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.relaxed_specs import relaxed_specs

Array = NDArray[Any]

X = np.zeros((2, 3), np.float32)
NOTHING = np.array([], np.float32)


def longs(*numbers: int) -> Array:
    """Return an int64 vector."""
    return np.array(numbers, np.int64).reshape(len(numbers))


def target_nodes(
    folder: Path, op_type: str, feeds: Mapping[str, Array], opset: int = 11, **options: Any
) -> list[str]:
    """Return the target operators that a node becomes, with the dtypes of their first inputs."""
    model = one_node_model(op_type, feeds, opset, **options)
    onnx.save(model, folder / "model.onnx")
    mode = "must_keep_origin_dtype"
    atc_py.convert(folder / "model.onnx", folder / "model.om", precision_mode=mode)
    with atc_py.load(folder / "model.om") as loaded:
        description = loaded.description
    tensors = description.tensors
    return [f"{node.op} {tensors[node.inputs[0]].dtype}" for node in description.nodes]


BOOLS = np.zeros((2, 3), np.bool_)
CUBE = np.zeros((2, 3, 2), np.bool_)


@pytest.mark.parametrize(
    ("op_type", "target", "attributes"),
    [
        ("Transpose", "TransposeD", {}),
        ("Flatten", "Flatten", {}),
    ],
)
def test_bools_are_carried_as_bytes(
    op_type: str, target: str, attributes: dict[str, Any], tmp_path: Path
) -> None:
    found = target_nodes(tmp_path, op_type, {"x": CUBE}, **attributes)
    assert found == ["Cast bool", f"{target} uint8", "Cast uint8"]


def test_every_joined_tensor_is_carried(tmp_path: Path) -> None:
    model = one_node_model("Concat", {"x": BOOLS}, 11, order=["x", "x"], axis=0)
    onnx.save(model, tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with atc_py.load(tmp_path / "model.om") as loaded:
        assert [node.op for node in loaded.description.nodes] == ["Cast", "ConcatD", "Cast"]
        (result,) = loaded.run({"x": ~BOOLS}).values()
    assert result.dtype == np.bool_
    assert result.shape == (4, 3)
    assert result.all()


@pytest.mark.parametrize(
    ("dtype", "target"), [("int64", "Reshape"), ("bool", "Reshape"), ("int32", "Unsqueeze")]
)
def test_unsqueeze_becomes_a_reshape_for_dtypes_beyond_the_list(
    dtype: str, target: str, tmp_path: Path
) -> None:
    found = target_nodes(tmp_path, "Unsqueeze", {"x": X.astype(dtype)}, axes=[0])
    assert found == [f"{target} {dtype}"]


VECTOR = ["Reshape", "StridedSliceD", "Reshape"]


@pytest.mark.parametrize(
    ("shape", "bounds", "targets"),
    [
        ((4, 6), {"starts": (1, 0), "ends": (3, 5)}, ["StridedSliceD"]),
        ((4, 6), {"starts": (3,), "ends": (0,), "axes": (0,), "steps": (-1,)}, ["StridedSliceD"]),
        ((4, 6), {"starts": (0,), "ends": (6,), "axes": (1,), "steps": (2,)}, ["GatherV2D"]),
        (
            (4, 6),
            {"starts": (1, 5), "ends": (3, 0), "axes": (0, 1), "steps": (1, -2)},
            ["StridedSliceD", "GatherV2D"],
        ),
        ((6,), {"starts": (1,), "ends": (4,)}, VECTOR),
        ((6,), {"starts": (0,), "ends": (6,), "axes": (0,), "steps": (3,)}, ["GatherV2D"]),
        ((6,), {"starts": (1,), "ends": (2,), "axes": (0,), "steps": (3,)}, VECTOR),
        ((4, 6), {"starts": (0,), "ends": (9,)}, []),
    ],
)
def test_slices_that_the_target_lacks_are_rewritten(
    shape: tuple[int, ...],
    bounds: dict[str, tuple[int, ...]],
    targets: list[str],
    tmp_path: Path,
) -> None:
    constants = {name: longs(*numbers) for name, numbers in bounds.items()}
    x = np.zeros(shape, np.float32)
    found = target_nodes(tmp_path, "Slice", {"x": x}, constants=constants)
    assert [text.split()[0] for text in found] == targets


def test_constant_indices_are_counted_from_the_front(tmp_path: Path) -> None:
    constants = {"indices": np.array([[-1, 0], [-3, 2]], np.int32)}
    model = one_node_model("Gather", {"x": X}, 11, constants=constants, axis=1)
    onnx.save(model, tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with atc_py.load(tmp_path / "model.om") as loaded:
        (node,) = (node for node in loaded.description.nodes if node.op == "GatherV2D")
        assert node.attributes["negative_index_support"] is False
        result = loaded.run({"x": np.array([[1, 2, 3], [4, 5, 6]], np.float32)})["y0"]
    assert result[0].tolist() == [[3, 1], [1, 3]]


@pytest.mark.parametrize(
    ("dtype", "engine"),
    [("int32", "aicore"), ("int8", "aicore"), ("int64", "aicpu"), ("uint64", "aicpu")],
)
def test_one_hot_runs_where_its_indices_are_taken(dtype: str, engine: str, tmp_path: Path) -> None:
    constants: dict[str, Array] = {
        "depth": np.array(4, np.int64),
        "values": np.array([0, 1], np.float32),
    }
    x = np.zeros(3, dtype)
    model = one_node_model("OneHot", {"x": x}, 11, constants=constants)
    onnx.save(model, tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", precision_mode="force_fp16")
    with atc_py.load(tmp_path / "model.om") as loaded:
        (node,) = (node for node in loaded.description.nodes if node.op == "OneHotD")
    assert node.engine == engine


def test_a_resize_of_opset_10_that_grows_and_shrinks_becomes_two(tmp_path: Path) -> None:
    constants = {"scales": np.array([2.0, 0.5], np.float32)}
    x = np.zeros((2, 4), np.float32)
    assert target_nodes(tmp_path, "Resize", {"x": x}, 10, constants=constants) == [
        "Resize float32",
        "Resize float32",
    ]


@pytest.mark.parametrize("dtype", sorted(set(DType) - {DType.BFLOAT16, DType.INT4}, key=str))
def test_what_needs_no_kernel_takes_every_dtype_as_it_is(dtype: DType, tmp_path: Path) -> None:
    x = X.astype(dtype.numpy)
    constants = {"shape": longs(3, 2)}
    found = target_nodes(tmp_path, "Reshape", {"x": x}, 13, constants=constants)
    assert found == [f"Reshape {dtype.value}"]


# Refusals --------------------------------------------------------------------------------------


def refused(folder: Path, model: onnx.ModelProto) -> Diagnostic:
    """Return the one finding of a conversion, the list's own limits apart."""
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(folder / "model.onnx", folder / "model.om", op_specs=relaxed_specs(model))
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
TWICE = np.array([2, 2], np.float32)


@pytest.mark.parametrize(
    ("op_type", "opset", "constants", "attributes", "message", "field"),
    [
        ("Gather", 13, {"indices": longs(0, 2)}, {}, "index 2 into an axis of 2", "input indices"),
        (
            "GatherElements",
            13,
            {"indices": np.array([[-4, 0, 0]])},
            {"axis": 1},
            "index -4 into an axis of 3",
            "input indices",
        ),
        ("GatherND", 13, {"indices": longs(0, 3)[None]}, {}, "index 3 into an axis of 3", None),
        ("GatherND", 13, {"indices": np.array([[0, 0, 0]])}, {}, None, None),
        ("GatherND", 13, {"indices": np.array([[0]])}, {"batch_dims": 2}, None, None),
        ("GatherND", 13, {"indices": np.array([[0]])}, {"batch_dims": -1}, None, None),
        (
            "ScatterND",
            11,
            {"indices": np.array([[2]]), "updates": X[:1]},
            {},
            "index 2 into an axis of 2",
            "input indices",
        ),
        ("OneHot", 11, {"depth": np.array(4), "values": longs(0, 1, 2)}, {}, None, None),
        ("Split", 11, {}, {"split": [1, 1], "axis": 1}, None, None),
        ("Split", 11, {}, {"axis": 1}, None, None),
        ("Split", 13, {"split": longs(1, 1)}, {"axis": 1}, None, None),
        ("Squeeze", 11, {}, {"axes": [1]}, None, None),
        ("Tile", 13, {"repeats": longs(2)}, {}, None, None),
        ("Slice", 11, {"starts": longs(0), "ends": longs(1, 2)}, {}, None, None),
        (
            "Slice",
            11,
            {n: longs(k) for n, k in (("starts", 0), ("ends", 1), ("axes", 0), ("steps", 0))},
            {},
            None,
            None,
        ),
        ("Pad", 13, {"pads": longs(0, 0, 0)}, {}, None, None),
        ("Pad", 13, {"pads": longs(0, 0, 0, 1), "constant_value": NOTHING}, {}, None, None),
        ("Resize", 11, {"roi": NOTHING, "scales": NOTHING}, {}, None, None),
        ("Pad", 13, {"pads": longs(0, -4, 0, 0)}, {}, None, None),
        ("Resize", 11, {"roi": NOTHING, "scales": TWICE}, {"mode": "cubic"}, "found 'cubic'", None),
        ("Resize", 10, {"scales": TWICE}, {"mode": "cubic"}, "found 'cubic'", "attribute mode"),
        ("Resize", 11, {"roi": NOTHING, "scales": TWICE}, CROP, "a roi of 4 numbers", "input roi"),
    ],
)
def test_a_node_is_refused_with_its_place(  # noqa: PLR0913  (one column a parameter)
    op_type: str,
    opset: int,
    constants: dict[str, Array],
    attributes: dict[str, Any],
    message: str | None,
    field: str | None,
    tmp_path: Path,
) -> None:
    outputs = 2 if op_type == "Split" else 1
    model = one_node_model(
        op_type, {"x": X}, opset, constants=constants, outputs=outputs, **attributes
    )
    found = refused(tmp_path, model)
    assert found.code.exit == 1
    assert found.place is not None
    assert message is None or message in found.message
    assert field is None or found.place.field == field
