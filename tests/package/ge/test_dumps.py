"""Dumps of boards: versions, names of files, storage formats, damage."""

import random
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.package.ge.dump import dump_of
from atc_py.package.ge.dump_folder import escaped_name, find_dumps, parsed_name
from atc_py.package.ge.dump_tensors import UnreadTensorError
from atc_py.system.wire import bytes_field, encode_varint, tag
from tests.board.standin.dump_file import DumpedTensor, dump_bytes


def dumped(array: NDArray[np.generic], layout: str, shape: tuple[int, ...]) -> bytes:
    """Return a dump of one result, padded as buffers of the device are."""
    data = array.tobytes() + bytes(32)
    row = DumpedTensor(data, array.dtype.name, layout, array.shape, shape, "/a/b", 1)
    return dump_bytes("/a/op", 7, [row])


def blocks(x: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
    """Return tensors of [2, 19, 3, 5] by storage format, element by element as docs/layout.md says."""
    n, c, h, w = x.shape
    five = np.zeros((n, 2, h, w, 16), x.dtype)
    fractal_z = np.zeros((2 * h * w, 1, 16, 16), x.dtype)
    nz = np.zeros((n, c, 1, 1, 16, 16), x.dtype)
    for at in np.ndindex(x.shape):
        i, j, k, m = at
        five[i, j // 16, k, m, j % 16] = x[at]
        fractal_z[(j // 16) * h * w + k * w + m, 0, i, j % 16] = x[at]
        nz[i, j, 0, 0, k, m] = x[at]
    return {"NC1HWC0": five, "FRACTAL_Z": fractal_z, "FRACTAL_NZ": nz, "NCHW": x, "ND": x}


def test_storage_formats_are_unpacked_to_the_dims_of_the_network() -> None:
    for dtype in (np.float16, np.float32, np.int8, ml_dtypes.bfloat16):
        x = np.arange(2 * 19 * 3 * 5).reshape(2, 19, 3, 5).astype(dtype)
        for layout, stored in blocks(x).items():
            dump = dump_of(dumped(stored, layout, x.shape), "f")
            (row,) = dump.outputs
            assert (dump.op, row.origin_name, row.origin_output, row.layout) == (
                "/a/op",
                "/a/b",
                1,
                layout,
            )
            assert np.array_equal(dump.array(row), x), (layout, dtype)


def test_channels_may_come_last_in_the_network() -> None:
    x = np.arange(2 * 19 * 3 * 5).reshape(2, 19, 3, 5).astype(np.float16)
    turned = x.transpose(0, 2, 3, 1)
    dump = dump_of(dumped(blocks(x)["NC1HWC0"], "NC1HWC0", turned.shape), "f")
    assert np.array_equal(dump.array(dump.outputs[0]), turned)


def test_int4_has_two_numbers_in_a_byte() -> None:
    row = DumpedTensor(b"\x21\xf8", "int4", "ND", (4,), (4,), "", 0)
    dump = dump_of(dump_bytes("op", 1, [row]), "f")
    assert dump.array(dump.outputs[0]).astype(int).tolist() == [1, 2, -8, -1]


def test_data_of_the_first_version_stand_in_the_message() -> None:
    data = np.array([1, 2], np.float32).tobytes()
    shape = bytes_field(1, bytes([2]))
    output = (
        tag(1, 0) + b"\x01" + tag(2, 0) + b"\x02" + bytes_field(3, shape) + bytes_field(5, data)
    )
    dump = dump_of(bytes_field(1, b"1.0") + bytes_field(3, output) + bytes_field(6, b"op"), "f")
    assert dump.array(dump.outputs[0]).tolist() == [1.0, 2.0]


def test_devices_without_protobuf_have_blocks_of_tags() -> None:
    data = np.array([[1, -2]], np.float16).tobytes()
    dims = struct.pack("<IIQQ", 0, 16, 1, 2) + struct.pack("<IIQQ", 1, 16, 1, 2)
    tail = dims + struct.pack("<II", 2, 4) + b"node"
    row = struct.pack("<iiiiiiQQQI", 1, 2, 0, 3, 1, 2, 0, 0, len(data), len(tail)) + tail
    head = b"ZZZZ" + struct.pack("<I", 1) + struct.pack("<III", 4, 4, 0)
    head += struct.pack("<III", 5, len(row) + 4, 1) + row
    dump = dump_of(struct.pack("<Q", len(head)) + head + data, "f")
    (found,) = dump.outputs
    assert (found.origin_name, found.origin_output, found.dtype) == ("node", 3, "float16")
    assert dump.array(found).tolist() == [[1.0, -2.0]]


def test_names_of_all_releases_are_read() -> None:
    names = {
        "Conv2D._layer1_conv.12.1700000000000001": -1,
        "Conv2D._layer1_conv.12.3.1700000000000001": 3,
        "Conv2D._layer1_conv.12.3.1700000000000001.4.7.0.0": 3,
    }
    for name, stream in names.items():
        found = parsed_name(name, Path(name))
        assert found is not None
        assert (found.name, found.task, found.stream) == ("_layer1_conv", 12, stream)
    assert escaped_name("/layer1/conv.a b\\c") == "_layer1_conv_a_b_c"
    assert parsed_name("acl.json", Path()) is None


def test_folder_gives_the_first_execution_of_the_newest_run(tmp_path: Path) -> None:
    data = dumped(np.zeros(3, np.float16), "ND", (3,))
    for run, index in (("20260101000000", 0), ("20260102000000", 0), ("20260102000000", 1)):
        folder = tmp_path / run / "0" / "net" / "1" / str(index)
        folder.mkdir(parents=True)
        (folder / "Relu.r.1.1.1700000000000001").write_bytes(data)
    (folder / "123456").write_bytes(data)
    (folder / "mapping.csv").write_text("123456,Add.long_name.2.1.1700000000000002\n")
    (folder / "loop").symlink_to(tmp_path)
    found = find_dumps(tmp_path)
    assert (found.execution.time, found.execution.index) == ("20260102000000", 0)
    assert len(found.others) == 2
    assert found.models == ("net",)
    assert set(find_dumps(folder).files) == {"r", "long_name"}
    with pytest.raises(AtcError) as error:
        find_dumps(_empty(tmp_path))
    assert error.value.diagnostics[0].code.name == "no-dumps"


def _empty(folder: Path) -> Path:
    empty = folder / "empty"
    empty.mkdir()
    return empty


def test_damage_is_a_coded_error_in_bounded_memory() -> None:
    random_ = random.Random(1)  # noqa: S311  (mutations)
    whole = dumped(
        np.arange(64).astype(np.float16).reshape(1, 1, 2, 2, 16), "NC1HWC0", (1, 16, 2, 2)
    )
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        at = random_.randrange(90)
        data[at : at + random_.randrange(3)] = random_.randbytes(random_.randrange(4))
        try:
            dump = dump_of(bytes(data[: random_.choice([len(data), at + 40])]), "f")
            for row in (*dump.inputs, *dump.outputs):
                dump.array(row)
        except AtcError as error:
            refused += error.diagnostics[0].code.name == "bad-dump"
        except UnreadTensorError:
            pass
    assert refused > 100


def test_dims_that_no_tensor_has_are_said_so() -> None:
    huge = encode_varint(1 << 62)
    shape = bytes_field(1, huge * 3)
    output = tag(1, 0) + b"\x01" + bytes_field(3, shape) + bytes_field(7, shape)
    message = bytes_field(1, b"2.0") + bytes_field(3, output)
    dump = dump_of(struct.pack("<Q", len(message)) + message, "f")
    with pytest.raises(UnreadTensorError, match="no tensor can have"):
        dump.array(dump.outputs[0])
