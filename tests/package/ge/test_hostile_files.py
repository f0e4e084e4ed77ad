"""Damaged files: each is refused with a code, at once, and in little memory."""

import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from atc_py.diag import BAD_HUAWEI_MODEL, AtcError
from atc_py.package.ge import messages, source
from atc_py.package.ge.model import HuaweiModel, open_huawei
from atc_py.system.wire import bytes_field
from tests.package.ge import om_files
from tests.package.ge.om_files import om_file, op, small_model


def first_op(model: HuaweiModel) -> object:
    return dict(model.ops[0].attributes)


def refusal(path: Path, data: bytes, read: Callable[[HuaweiModel], object] = first_op) -> str:
    path.write_bytes(data)
    with pytest.raises(AtcError) as raised, open_huawei(path) as file:
        read(file.models[0])
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code is BAD_HUAWEI_MODEL
    assert diagnostic.place is not None
    assert diagnostic.place.file == str(path)
    return str(diagnostic.message)


def graph_of(*ops: bytes) -> bytes:
    return om_file([(0, om_files.model_def([om_files.graph("g", ops)]))])


def changed(data: bytes, at: int, *values: int) -> bytes:
    packed = struct.pack(f"<{len(values)}I", *values)
    return data[:at] + packed + data[at + len(packed) :]


SMALL = small_model()

DAMAGED = {
    "has 100 bytes, fewer than its header": SMALL[:100],
    "header should have 256 bytes, but states 255": changed(SMALL, 4, 255),
    "at most 4096 are read": changed(SMALL, 156, 2**32 - 1),
    "ends before its table": SMALL[:256],
    "table states 4294967295 partitions": changed(SMALL, 256, 2**32 - 1),
    "partition MODEL_INOUT_INFO should end at byte": changed(SMALL, 264, 8, 0, 0, 0, 0, 1),
    "should end at byte .* but the file ends": SMALL[:-1],
    "offsets .*|partition .* should end": changed(SMALL, 264, 8, 0, 2**32 - 1, 2**32 - 1),
    "should be read as protobuf|is not protobuf": om_file([(0, b"\x0f")]),
    "wire type 3": graph_of(b"\x0b"),
    "a number that starts at byte": graph_of(b"\xff" * 12),
}


@pytest.mark.parametrize("reason", DAMAGED)
def test_damage_is_reported(tmp_path: Path, reason: str) -> None:
    import re

    assert re.search(reason, refusal(tmp_path / "net.om", DAMAGED[reason]))


def test_number_without_a_name(tmp_path: Path) -> None:
    names = om_files.Enumerated(on=True)
    data = graph_of(op("n", "Op", {"a": 1}, names))  # the file has no table
    assert "number 0 in attr_name_enum, which has 0 entries" in refusal(tmp_path / "net.om", data)


def test_very_long_enumerated_name_costs_nothing(tmp_path: Path) -> None:
    key = b"\0" + b"\xff" * (1 << 20)
    entry = bytes_field(10, bytes_field(1, key) + bytes_field(2, b""))
    assert "attr_name_enum" in refusal(tmp_path / "net.om", graph_of(op("n", "Op") + entry))


def test_number_without_a_text(tmp_path: Path) -> None:
    names = om_files.Enumerated(on=True)
    ops = [op("n", "Op", {"mode": "nearest"}, names)]
    names.texts = []
    data = om_file([(0, om_files.model_def([om_files.graph("g", ops)], {}, names))])
    assert "number 0 in attr_value_enum" in refusal(tmp_path / "net.om", data)


@pytest.mark.parametrize(("offset", "size"), [(2**62, 4), (0, 2**62), (-4, 8), (8, -4), (500, 20)])
def test_constant_outside_of_the_weights(tmp_path: Path, offset: int, size: int) -> None:
    graph = om_files.graph("g", [om_files.constant("w", offset, size)])
    data = om_file([(0, om_files.model_def([graph])), (1, bytes(512))])
    message = refusal(tmp_path / "net.om", data, lambda model: model.constant(model.ops[0]))
    assert "of the weights, which have 512" in message


@pytest.mark.parametrize("names", [("main",), ("a", "main"), ("a", "b", "a"), ("missing",)])
def test_graphs_that_run_themselves(tmp_path: Path, names: tuple[str, ...]) -> None:
    chain = ["main", *names]
    graphs = {
        name: om_files.graph(name, [op("n", "If", subgraph_name=inner)])
        for name, inner in zip(chain, names, strict=False)
    }
    data = om_file([(0, om_files.model_def(list(graphs.values())))])
    message = refusal(tmp_path / "net.om", data, lambda model: model.run_graphs())
    assert ("does not exist" if names == ("missing",) else "calls itself") in message


def test_deep_chain_of_graphs_needs_no_recursion(tmp_path: Path) -> None:
    graphs = [
        om_files.graph(f"g{n}", [op("n", "If", subgraph_name=f"g{n + 1}")]) for n in range(5000)
    ]
    data = om_file([(0, om_files.model_def([*graphs, om_files.graph("g5000", [])]))])
    path = tmp_path / "net.om"
    path.write_bytes(data)
    with open_huawei(path) as file:
        assert len(file.models[0].run_graphs()) == 5001


def test_kernel_that_does_not_end(tmp_path: Path) -> None:
    data = om_file([(3, om_files.kernel("k")[:-1])])
    assert "kernel 1 at byte" in refusal(tmp_path / "net.om", data, lambda model: model.kernels)


@pytest.mark.parametrize("cut", [4, 12, 20, 44])
def test_interface_that_ends_too_early(tmp_path: Path, cut: int) -> None:
    data = om_file([(8, om_files.ports(0, om_files.port("x", (1, 2)))[:cut])])
    assert "too early" in refusal(tmp_path / "net.om", data, lambda model: model.interface)


def test_too_many_fields_are_refused_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_KEPT", 1000)
    data = graph_of(*[b""] * 5000)
    assert "more than 1000 fields" in refusal(tmp_path / "net.om", data)


def test_attribute_with_too_many_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_NUMBERS", 1000)
    values: list[list[object]] = [[1] * 1001, [[]] * 1001, [0.5] * 1001, ["a"] * 1001]
    for value in values:
        data = graph_of(op("n", "Op", {"many": value}))
        assert "more than 1000 numbers" in refusal(tmp_path / "net.om", data)


def test_attributes_inside_of_attributes_are_decoded_as_asked(tmp_path: Path) -> None:
    inner = b""
    for _ in range(5000):
        body = om_files.message("NamedAttrs", name="f") + bytes_field(
            2, bytes_field(1, b"a") + bytes_field(2, inner)
        )
        inner = om_files.member("func", body)
    path = tmp_path / "net.om"
    path.write_bytes(graph_of(op("n", "Op", {"a": inner})))
    with open_huawei(path) as file:
        value = file.models[0].ops[0].attributes["a"]
        assert isinstance(value, messages.GeFunction)
        assert value.name == "f"


def test_weights_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "net.om"
    graph = om_files.graph("g", [om_files.constant("w", 0, 2**33)])
    data = om_file([(0, om_files.model_def([graph])), (1, b"")])
    at = 256 + 8 + 24 + 16  # the size of the second partition
    data = data[:at] + struct.pack("<Q", 2**33) + data[at + 8 :]
    with path.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + 2**33)
    tracemalloc.start()
    try:
        with open_huawei(path) as opened:
            model = opened.models[0]
            found = model.constant(model.ops[0])
            assert found is not None
            assert model.data(found[1])[-1] == 0
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


ZIPS = {
    "manifest.json is not JSON": {"manifest.json": b"{"},
    "manifest.json is not a JSON object": {"manifest.json": b"[]"},
    "should have -1 models": {"manifest.json": b'{"om2_version": "0", "model_num": -1}'},
    "no member data/model_0/model_meta.json": {
        "manifest.json": b'{"om2_version": "0", "model_num": 1}'
    },
    "another kind": {"other": b""},
}


@pytest.mark.parametrize("reason", ZIPS)
def test_damaged_om2(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "net.om2"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in ZIPS[reason].items():
            archive.writestr(name, data)
    assert reason in refusal(path, path.read_bytes())
    assert "not a valid ZIP" in refusal(path, path.read_bytes()[:-10])


def test_bomb_in_om2(tmp_path: Path) -> None:
    path = tmp_path / "net.om2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (2**26 + 1))
    assert "has more than 67108864 bytes" in refusal(path, path.read_bytes())
