"""Tensor data in all the fields that it may stand in, in models and in `.pb` files."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag import Code
from atc_py.diag.codes import BAD_DATA_FILE, BAD_MODEL, BAD_TENSOR, FILE_NOT_FOUND
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.reading.tensor_file import read_tensor
from tests.onnx_graph import onnx_files

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INT4 = np.dtype(ml_dtypes.int4)


@pytest.mark.parametrize(
    ("tensor", "values"),
    [
        (TensorProto(data_type=1, float_data=[1.5, -2]), np.array([1.5, -2], np.float32)),
        (TensorProto(data_type=11, double_data=[1.5, -2]), np.array([1.5, -2])),
        (TensorProto(data_type=6, int32_data=[1, -2]), np.array([1, -2], np.int32)),
        (TensorProto(data_type=7, int64_data=[1, -2]), np.array([1, -2])),
        (TensorProto(data_type=3, int32_data=[1, -2]), np.array([1, -2], np.int8)),
        (TensorProto(data_type=2, int32_data=[1, 255]), np.array([1, 255], np.uint8)),
        (TensorProto(data_type=4, int32_data=[1, 65535]), np.array([1, 65535], np.uint16)),
        (TensorProto(data_type=5, int32_data=[1, -5]), np.array([1, -5], np.int16)),
        (TensorProto(data_type=9, int32_data=[0, 1]), np.array([False, True])),
        (TensorProto(data_type=12, uint64_data=[0, 7]), np.array([0, 7], np.uint32)),
        (
            TensorProto(data_type=13, uint64_data=[0, 2**64 - 1]),
            np.array([0, 2**64 - 1], np.uint64),
        ),
        (TensorProto(data_type=10, int32_data=[0x3C00, 0xC000]), np.array([1, -2], np.float16)),
        (TensorProto(data_type=16, int32_data=[0x3F80, 0xC000]), np.array([1, -2], BFLOAT16)),
        (TensorProto(data_type=16, raw_data=b"\x80\x3f\0\xc0"), np.array([1, -2], BFLOAT16)),
        (TensorProto(data_type=9, raw_data=b"\0\x02"), np.array([False, True])),
        (TensorProto(data_type=22, raw_data=b"\x87"), np.array([7, -8], INT4)),
        (TensorProto(data_type=22, int32_data=[0x87]), np.array([7, -8], INT4)),
    ],
)
def test_numbers_decode(tensor: TensorProto, values: np.ndarray, tmp_path: Path) -> None:
    tensor.dims.append(2)
    path = tmp_path / "t.pb"
    path.write_bytes(tensor.SerializeToString())
    found = read_tensor(path)
    assert found.dtype == values.dtype
    assert np.array_equal(found, values)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_shapes_decode(shape: tuple[int, ...], tmp_path: Path) -> None:
    array = np.ones(shape, np.float32)
    (tmp_path / "raw.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    listed = TensorProto(data_type=1, dims=shape, float_data=array.reshape(-1))
    (tmp_path / "listed.pb").write_bytes(listed.SerializeToString())
    assert np.array_equal(read_tensor(tmp_path / "raw.pb"), array)
    assert np.array_equal(read_tensor(tmp_path / "listed.pb"), array)


BAD_TENSORS = [
    (TensorProto(data_type=1, dims=[3], raw_data=b"\0" * 11), "11 bytes of data"),
    (TensorProto(data_type=1, dims=[3], float_data=[1, 2]), "2 numbers for shape 3"),
    (TensorProto(data_type=1, dims=[-1], raw_data=b""), "must not be negative, found [-1]"),
    (TensorProto(data_type=1, dims=[2**62, 2**62], raw_data=b""), "no array can have the dims"),
    (TensorProto(data_type=1, dims=[2, 2**50], raw_data=b""), "0 bytes of data"),
    (TensorProto(data_type=1, dims=[0, 2**62, 8]), "no array can have the dims 0x46116860184"),
    (TensorProto(data_type=1, dims=[1] * 33, float_data=[1]), "at most 32 axes, found 33"),
    (TensorProto(data_type=3, dims=[1], int32_data=[300]), "out of range for int8"),
    (TensorProto(data_type=22, dims=[3], raw_data=b"\0"), "1 bytes of data, but int4 3 has 2"),
    (TensorProto(data_type=22, dims=[1], int32_data=[0x1FF, 2]), "2 bytes of data"),
    (TensorProto(data_type=10, dims=[1], int32_data=[-1]), "out of range for uint16"),
    (
        TensorProto(data_type=1, dims=[1], float_data=[1], segment=TensorProto.Segment(begin=0)),
        "in segments",
    ),
]


@pytest.mark.parametrize(("tensor", "said"), BAD_TENSORS)
def test_bad_tensor_file_is_refused(tensor: TensorProto, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    path.write_bytes(tensor.SerializeToString())
    error = onnx_files.fails(lambda: read_tensor(path), BAD_DATA_FILE)
    assert said in str(error)


@pytest.mark.parametrize(("tensor", "said"), BAD_TENSORS)
def test_bad_initializer_is_refused(tensor: TensorProto, said: str, tmp_path: Path) -> None:
    node = helper.make_node("Identity", ["w"], ["y"])
    proto = onnx_files.model([node], {}, ["y"])
    proto.graph.initializer.append(tensor)
    proto.graph.initializer[0].name = "w"
    path = onnx_files.save(proto, tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_TENSOR)
    assert said in str(error)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xff",
        TensorProto(data_type=8, dims=[1], string_data=[b"a"]).SerializeToString(),
        TensorProto(data_type=77, dims=[1], int32_data=[1]).SerializeToString(),
        TensorProto(data_type=1, dims=[1], data_location="EXTERNAL").SerializeToString(),
    ],
)
def test_file_without_a_usable_tensor_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    path.write_bytes(data)
    onnx_files.fails(lambda: read_tensor(path), BAD_DATA_FILE)


def test_absent_tensor_file_is_named(tmp_path: Path) -> None:
    onnx_files.fails(lambda: read_tensor(tmp_path / "none.pb"), FILE_NOT_FOUND)
    onnx_files.fails(lambda: read_tensor(tmp_path), FILE_NOT_FOUND)


def test_strings_are_refused_where_they_are_used(tmp_path: Path) -> None:
    nodes = [helper.make_node("Foo", ["x", "s"], ["y"], domain="own")]
    inputs = {"x": (onnx_files.FLOAT, [1])}
    proto = onnx_files.model(nodes, inputs, ["y"], {"unused": np.array(["a"], object)})
    proto.graph.output[0].type.CopyFrom(proto.graph.input[0].type)
    strings = TensorProto(name="s", data_type=8, dims=[1], string_data=[b"a"])
    proto.graph.initializer.append(strings)
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_TENSOR)
    assert "string" in str(error)
    assert error.diagnostics[0].place is not None
    assert error.diagnostics[0].place.field == "initializer 's'"


def test_string_constant_is_refused_where_it_is_used(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["s"], value_string="a"),
        helper.make_node("Cast", ["s"], ["y"], to=1),
    ]
    proto = onnx_files.model(nodes, {}, ["y"])
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_TENSOR)
    assert "string" in str(error)


def test_value_of_unsupported_type_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], to=TensorProto.STRING),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    proto = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [1])}, ["y"])
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_TENSOR)
    assert "the element type string of its output 'c'" in str(error)


def test_sparse_initializer_is_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [1])}, ["y"])
    sparse = onnx.SparseTensorProto(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "s"))
    proto.graph.sparse_initializer.append(sparse)
    path = onnx_files.save(proto, tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL)
    assert "sparse" in str(error)


def test_test_data_of_onnx_is_read() -> None:
    folder = onnx_files.SHARED / "onnx_suite/node/test_relu/test_data_set_0"
    if not folder.is_dir():
        pytest.skip("the conformance cases are not here")
    array = read_tensor(folder / "input_0.pb")
    assert np.array_equal(np.maximum(array, 0), read_tensor(folder / "output_0.pb"))


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16", "bool", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (1, 2, 2)])
def test_constants_in_the_message_are_read_as_tensors_are(
    dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    array = (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(dtype)
    proto = onnx_files.model([], {}, ["c"], {"c": array})
    const = read_model(onnx_files.save(proto, tmp_path)).contents.weights["c"]
    assert const.shape == shape
    assert const.dtype.value == dtype
    assert np.array_equal(const.numpy(), array)
    assert not const.numpy().flags.writeable or not array.size or dtype == "bool"


@pytest.mark.parametrize(
    ("tensor", "code"),
    [
        (TensorProto(data_type=1, dims=[2], raw_data=b"1234"), BAD_TENSOR),
        (TensorProto(data_type=1, dims=[-1, -1], raw_data=b"1234"), BAD_TENSOR),
        (TensorProto(data_type=1, dims=[1] * 40, raw_data=b"1234"), BAD_TENSOR),
        (
            TensorProto(
                data_type=1, dims=[1], raw_data=b"1234", segment=TensorProto.Segment(begin=0, end=1)
            ),
            BAD_TENSOR,
        ),
    ],
)
def test_constants_at_fault_are_refused(tensor: TensorProto, code: Code, tmp_path: Path) -> None:
    proto = onnx_files.model([], {}, ["c"])
    tensor.name = "c"
    proto.graph.initializer.append(tensor)
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), code)
