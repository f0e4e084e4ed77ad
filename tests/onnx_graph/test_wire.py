"""Cutting large data out of files, and files that are not protobuf."""

import mmap
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from atc_py.diag import AtcError
from atc_py.diag.codes import (
    BAD_TENSOR,
    FILE_NOT_FOUND,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    NOT_ONNX,
)
from atc_py.ir import ConstData
from atc_py.onnx_graph.reading import mapped
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.reading.wire import (
    CutField,
    WireSizeError,
    cut_large_data,
)
from atc_py.system.wire import WireError, opening
from tests.onnx_graph import onnx_files
from tests.sampling import examples

RNG = np.random.default_rng(7)
WEIGHTS = {
    "w": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
    "b": np.arange(4, dtype=np.float32),
}


def small_model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    return onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [1, 3, 8, 8])}, ["y"], WEIGHTS)


def large_model(array: np.ndarray) -> onnx.ModelProto:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    inputs = {"x": (onnx_files.FLOAT, [1])}
    return onnx_files.model(nodes, inputs, ["y"], {"w": array})


def weight_of(path: Path) -> ConstData:
    (node,) = read_model(path).fold({}).to_source().nodes
    value = node.inputs[1]
    assert value is not None
    assert value.const is not None
    return value.const


def test_cutting_leaves_everything_but_the_data() -> None:
    proto = large_model(np.arange(2000, dtype=np.float32))
    slim = cut_large_data(proto.SerializeToString(), "token:")
    rest = onnx.ModelProto.FromString(slim.data)
    (tensor,) = rest.graph.initializer
    assert [cut.field for cut in slim.cuts] == [CutField.RAW_DATA]
    assert tensor.external_data[0].value == "token:0"
    assert tensor.data_location == onnx.TensorProto.EXTERNAL
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    proto.graph.initializer[0].ClearField("raw_data")
    assert rest == proto


def test_cutting_a_model_without_large_data_changes_nothing() -> None:
    data = small_model().SerializeToString()
    slim = cut_large_data(data, "token:")
    assert (slim.data, slim.cuts) == (data, [])


def test_cutting_reaches_constants_in_subgraphs() -> None:
    tensor = numpy_helper.from_array(np.arange(2000, dtype=np.float32))
    constant = helper.make_node("Constant", [], ["k"], value=tensor)
    branch = helper.make_graph([constant], "branch", [], [onnx.ValueInfoProto(name="k")])
    nodes = [helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)]
    proto = onnx_files.model(nodes, {"x": (onnx.TensorProto.BOOL, [1])}, ["y"])
    assert len(cut_large_data(proto.SerializeToString(), "token:").cuts) == 2


def test_large_weight_is_not_copied(tmp_path: Path) -> None:
    array = RNG.standard_normal(2**24).astype(np.float32)
    path = onnx_files.save(large_model(array), tmp_path)
    read_model(onnx_files.save(small_model(), tmp_path.joinpath("..")))
    tracemalloc.start()
    try:
        const = weight_of(path)
        same = bool(np.array_equal(const.numpy()[:1000], array[:1000]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert same
    assert peak < 4 * 2**20
    assert np.array_equal(const.numpy(), array)
    const.release()
    assert np.array_equal(const.numpy(), array)


def test_released_weight_leaves_memory(tmp_path: Path) -> None:
    if not hasattr(mmap, "MADV_DONTNEED"):
        pytest.skip("this system takes no advice about mapped pages")
    const = weight_of(onnx_files.save(large_model(np.ones(2**22, np.float32)), tmp_path))
    before = resident_bytes()
    const.numpy().sum()
    read = resident_bytes()
    const.release()
    released = resident_bytes()
    assert read - before > 12 * 2**20
    assert read - released > 12 * 2**20


def resident_bytes() -> int:
    from pathlib import Path

    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("this system does not tell what is resident")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize("name", ["float_data", "double_data"])
def test_packed_numbers_are_cut_out(name: str, tmp_path: Path) -> None:
    number = {"float_data": onnx.TensorProto.FLOAT, "double_data": onnx.TensorProto.DOUBLE}[name]
    values = RNG.standard_normal(3000).astype(np.float32)
    proto = large_model(values)
    tensor = onnx.TensorProto(name="w", data_type=number, dims=[3000])
    getattr(tensor, name).extend(values)
    proto.graph.initializer[0].CopyFrom(tensor)
    proto.graph.input[0].type.tensor_type.elem_type = number
    const = weight_of(onnx_files.save(proto, tmp_path))
    assert isinstance(const, mapped.MappedConst)
    assert np.array_equal(const.numpy(), values)


def test_large_bool_is_true_for_any_byte_but_zero(tmp_path: Path) -> None:
    proto = large_model(np.zeros(5000, np.float32))
    tensor = proto.graph.initializer[0]
    tensor.data_type = onnx.TensorProto.BOOL
    tensor.raw_data = bytes([0, 1, 2, 255]) * 1250
    proto.graph.node[0].op_type = "And"
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BOOL
    const = weight_of(onnx_files.save(proto, tmp_path))
    assert const.numpy()[:4].tolist() == [False, True, True, True]


def test_marker_in_a_file_is_not_believed(tmp_path: Path) -> None:
    proto = large_model(np.zeros(2000, np.float32))
    tensor = proto.graph.initializer[0]
    tensor.external_data.add(key="location", value="0" * 32 + ":0")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    path = onnx_files.save(proto, tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_TENSOR)
    assert "more than one place" in str(error)


def test_data_in_two_fields_is_refused(tmp_path: Path) -> None:
    proto = large_model(np.zeros(2000, np.float32))
    proto.graph.initializer[0].float_data.extend([0.0] * 2000)
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_TENSOR)


def test_data_of_another_dtype_is_refused(tmp_path: Path) -> None:
    proto = large_model(np.zeros(2000, np.float32))
    tensor = onnx.TensorProto(name="w", data_type=6, dims=[2000], float_data=[0.0] * 2000)
    proto.graph.initializer[0].CopyFrom(tensor)
    path = onnx_files.save(proto, tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_TENSOR)
    assert "its dtype is int32, but its data is float32" in str(error)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x0b", "wire type 3"),
        (b"\x0c", "wire type 4"),
        (b"\x0f", "wire type 7"),
        (b"\x02\x00", "field number 0"),
        (b"\x08", "does not end"),
        (b"\x08" + b"\xff" * 11, "does not end"),
        (b"\x3a\x05ab", "should end at byte 7"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "should end"),
        (b"\x0d\x00", "should end at byte 5"),
    ],
)
def test_malformed_bytes_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(WireError, match=said):
        cut_large_data(data, "token:")


def test_deep_nesting_is_refused() -> None:
    body = b"x" * 5000
    for number in (6, 5, 1) * 40:
        tag = bytes([number << 3 | 2])
        size = len(body)
        body = tag + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + body
    size = len(body)
    body = bytes([7 << 3 | 2, size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + body
    with pytest.raises(WireError, match="nested more than"):
        cut_large_data(body, "token:")


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    data = small_model().SerializeToString()
    path = tmp_path / "cut.onnx"
    for size in range(0, len(data), 3):
        path.write_bytes(data[:size])
        onnx_files.fails(lambda: read_model(path), NOT_ONNX)


def test_truncated_weight_is_refused(tmp_path: Path) -> None:
    data = large_model(np.zeros(5000, np.float32)).SerializeToString()
    path = tmp_path / "cut.onnx"
    for size in range(0, len(data), 999):
        path.write_bytes(data[:size])
        onnx_files.fails(lambda: read_model(path), NOT_ONNX)


@settings(examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "random.onnx"
    path.write_bytes(data)
    onnx_files.fails(lambda: read_model(path), NOT_ONNX)


@settings(examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(small_model().SerializeToString()) * 8 - 1), min_size=1))
def test_flipped_bits_raise_coded_errors_alone(tmp_path: Path, bits: list[int]) -> None:
    data = bytearray(small_model().SerializeToString())
    for bit in bits:
        data[bit // 8] ^= 1 << bit % 8
    path = tmp_path / "flipped.onnx"
    path.write_bytes(data)
    try:
        source = read_model(path).fold({}).to_source()
    except AtcError as error:
        diagnostics = error.diagnostics
    else:
        diagnostics = ()
        assert source.outputs
    assert all(finding.message for finding in diagnostics)


def test_absent_file_and_folder_are_named(tmp_path: Path) -> None:
    onnx_files.fails(lambda: read_model(tmp_path / "none.onnx"), FILE_NOT_FOUND)
    onnx_files.fails(lambda: read_model(tmp_path), FILE_NOT_FOUND)
    file = onnx_files.save(small_model(), tmp_path)
    onnx_files.fails(lambda: read_model(file / "below.onnx"), FILE_NOT_FOUND)
    onnx_files.fails(lambda: read_model(tmp_path / "nul\0.onnx"), FILE_NOT_FOUND)


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    path = tmp_path / "pipe.onnx"
    os.mkfifo(path)
    onnx_files.fails(lambda: read_model(path), FILE_UNREADABLE)


def test_forbidden_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = onnx_files.save(small_model(), tmp_path)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("atc_py.system.input_files.os.open", refuse)
    error = onnx_files.fails(lambda: read_model(path), FILE_UNREADABLE)
    assert "Permission denied" in str(error)


@pytest.mark.parametrize("change", ["graph", "nodes", "opsets", "ir"])
def test_protobuf_that_is_not_a_model_is_refused(change: str, tmp_path: Path) -> None:
    proto = small_model()
    if change == "graph":
        proto.ClearField("graph")
    elif change == "nodes":
        proto.graph.ClearField("node")
        proto.graph.ClearField("output")
    elif change == "opsets":
        proto.ClearField("opset_import")
    else:
        proto.ClearField("ir_version")
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), NOT_ONNX)


def test_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    data = small_model().SerializeToString().replace(b"Relu", b"R\xff\xfeu")
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    error = onnx_files.fails(lambda: read_model(path), NOT_ONNX)
    assert "not UTF-8" in str(error)


def test_attribute_of_two_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    size = 2**31
    path = onnx_files.save(small_model(), tmp_path)
    name = opening(1, 1) + b"a" + b"\xa0\x01\x03"
    attribute = len(name) + len(opening(4, size)) + size
    node = len(opening(5, attribute)) + attribute
    graph = len(opening(1, node)) + node
    with path.open("ab") as file:  # a second graph field, which protobuf would join to the first
        file.write(opening(7, graph) + opening(1, node) + opening(5, attribute))
        file.write(name + opening(4, size))
        file.truncate(file.tell() + size)  # a hole, which takes no room on the disk
    tracemalloc.start()
    error = onnx_files.fails(lambda: read_model(path), FILE_TOO_LARGE)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    assert "beside the raw data of its tensors" in str(error)


def test_data_that_is_cut_out_does_not_count() -> None:
    tensors = {"w": np.ones(100_000, np.float32), "v": np.ones(100_000, np.float32)}
    proto = onnx_files.model([helper.make_node("Add", ["w", "v"], ["y"])], {}, ["y"], tensors)
    data = proto.SerializeToString()
    assert len(cut_large_data(data, "token:", most=1000).cuts) == 2
    with pytest.raises(WireSizeError):
        cut_large_data(data, "token:", most=20)


def test_fields_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="n" * 50)] * 100
    data = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [2])}, ["y"]).SerializeToString()
    assert cut_large_data(data, "token:").cuts == []
    monkeypatch.setattr("atc_py.onnx_graph.reading.wire.MOST_FIELDS", 100)
    with pytest.raises(WireSizeError, match="more than 100 fields"):
        cut_large_data(data, "token:")


@pytest.mark.parametrize(("fields", "cuts"), [(65536, 1), (65537, 0)])
def test_tensor_of_very_many_fields_is_left_as_it_is(fields: int, cuts: int) -> None:
    tensor = onnx.TensorProto(raw_data=bytes(4096)).SerializeToString()
    dims = b"\x08\x01" * (fields - 1)  # field 1, one dim of 1 each
    graph = onnx.GraphProto(name="g").SerializeToString()
    body = graph + b"\x2a" + _varint(len(tensor + dims)) + tensor + dims
    data = b"\x3a" + _varint(len(body)) + body
    assert len(onnx.ModelProto.FromString(data).graph.initializer[0].dims) == fields - 1
    assert len(cut_large_data(data, "token:").cuts) == cuts


def _varint(number: int) -> bytes:
    """Return a number as protobuf writes it: seven bits a byte, the lowest first."""
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
