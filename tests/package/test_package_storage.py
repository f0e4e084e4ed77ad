"""Storage formats in an offline model: they come back as they were, and impossible ones do not."""

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.stored_types import storage_of
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import Format
from atc_py.tensor.storage import Storage
from tests.package.conftest import Seal

TEXT = """graph @net phase laid_out {
  input %x : float16[1,3,4,4] NCHW
  const %w : float16[4,1,1,1] NCHW@FRACTAL_Z(2) = dense [1.0, 2.0, 3.0, 4.0]
  %p = TransData(%x) {src_format="NCHW", dst_format="NC1HWC0", groups=1} \
: float16[1,3,4,4] NCHW@NC1HWC0 engine=aicore
  %q = Relu(%p) : float16[1,3,4,4] NCHW@NC1HWC0 engine=aicore
  %n = Relu(%x) : float16[1,3,4,4] NCHW@FRACTAL_NZ engine=aicore
  %v = Flatten(%n) {axis=1} : float16[3,4,4] ND@FRACTAL_NZ engine=local
  %u = TransData(%w) {src_format="FRACTAL_Z", dst_format="ND", groups=2} \
: float16[4,1,1,1] NCHW engine=aicore
  output %q
  output %v
  output %u
}"""
"""x, w, p, q, n, v, u: numbers 0 to 6; nodes TransData, Relu, Relu, Flatten, TransData."""

MAP = {"format": "NC1HWC0", "groups": 1}


@pytest.fixture
def graph() -> Graph:
    """Return the graph that the fixtures `om` and `seal` write."""
    return parse_graph(TEXT)


def described(om: Path) -> dict[str, Any]:
    """Return the description as plain data."""
    with open_model(om) as model:
        data: dict[str, Any] = msgspec.json.decode(model.text("model.json"))
    return data


def refusals(path: Path) -> list[tuple[str | None, str]]:
    """Return field and message of every finding with which a file is refused."""
    with pytest.raises(AtcError) as caught:
        open_model(path)
    assert {found.code for found in caught.value.diagnostics} == {OM_CONTENT}
    assert all(found.help for found in caught.value.diagnostics)
    return [(d.place.field if d.place else None, d.message) for d in caught.value.diagnostics]


def test_storage_is_part_of_the_description(om: Path) -> None:
    found = [tensor["storage"] for tensor in described(om)["tensors"]]
    nz = {"format": "FRACTAL_NZ"}
    stored = {"format": "NC1HWC0"}
    assert found == [
        None, {"format": "FRACTAL_Z", "groups": 2}, stored, stored, nz, nz, None
    ]  # fmt: skip
    with open_model(om) as model:
        read = [storage_of(tensor) for tensor in model.description.tensors]
    assert read[:3] == [None, Storage(Format.FRACTAL_Z, 2), Storage(Format.NC1HWC0)]


def test_weights_are_the_logical_numbers_whatever_their_storage(om: Path) -> None:
    with zipfile.ZipFile(om) as archive, archive.open("weights/0000_w.npy") as file:
        array = np.load(file)
    assert array.shape == (4, 1, 1, 1)
    assert array.reshape(-1).tolist() == [1, 2, 3, 4]


def test_tensor_without_storage_is_stored_row_by_row(om: Path, seal: Seal) -> None:
    found = described(om)
    tensors = [{**tensor, "storage": None} for tensor in found["tensors"]]
    for tensor in tensors:
        del tensor["storage"]
    nodes = [node for node in found["nodes"] if node["op"] != "TransData"]
    nodes[0]["inputs"] = [0]
    kept = [0, 3, 4, 5]
    for node in nodes:
        node["inputs"] = [kept.index(t) for t in node["inputs"]]
        node["outputs"] = [kept.index(t) for t in node["outputs"]]
    outputs = [{"name": "q", "tensor": 1}]
    change = {"tensors": [tensors[t] for t in kept], "nodes": nodes, "outputs": outputs}
    path = seal({**change, "format_version": 2}, leave_out="weights/0000_w.npy")
    with open_model(path) as model:
        assert [storage_of(tensor) for tensor in model.description.tensors] == [None] * 4


def test_version_before_cannot_have_storage(seal: Seal) -> None:
    (found,) = refusals(seal({"format_version": 2}))
    assert found == ("tensors", "version 2 of the format has no storage")


TENSORS = [
    (2, {"format": "NC1HWCO"}, "a storage must be one of NC1HWC0, FRACTAL_Z, "),
    (2, {"format": "NCHW"}, "a storage must be one of NC1HWC0, FRACTAL_Z, "),
    (2, {"format": "NC1HWC0", "groups": 2}, "NC1HWC0 has no groups, found 2"),
    (1, {"format": "FRACTAL_Z", "groups": 3}, "4 output channels do not divide into 3 groups"),
    (1, {"format": "FRACTAL_Z", "groups": 0}, "groups of a storage must be at least 1, found 0"),
    (5, {"format": "NC1HWC0"}, "NC1HWC0 is for NCHW or NHWC, found ND of 3x4x4"),
    (0, {"format": "NC1HWC0", "c0": 4}, "C0 of a storage must be 8 or that of the dtype, found 4"),
    (0, {"format": "C1HWNCoC0"}, "one input channel a group, found NCHW of 1x3x4x4"),
]


def test_storage_without_room_is_refused(om: Path, seal: Seal) -> None:
    """Check that an empty filter divides among any number of groups."""
    tensors = described(om)["tensors"]
    tensors[0] |= {"shape": [0, 1, 1, 1], "storage": {"format": "C1HWNCoC0", "groups": 2**61}}
    found = refusals(seal({"tensors": tensors}))
    assert found[0][0] == "tensors[0].storage"
    assert "144115188075855872x1x1x0x16x16 is too large for any memory" in found[0][1]


@pytest.mark.parametrize(("position", "storage", "message"), TENSORS)
def test_impossible_storage_is_refused(
    om: Path, seal: Seal, position: int, storage: dict[str, object], message: str
) -> None:
    tensors = described(om)["tensors"]
    tensors[position]["storage"] = storage
    (found,) = refusals(seal({"tensors": tensors}))
    assert found[0] == f"tensors[{position}].storage"
    assert message in found[1]


NODES = [
    (2, None, [("nodes[0]", "dst_format is 'NC1HWC0', but %p is stored as NCHW")]),
    (0, MAP, [("nodes[0]", "src_format is 'NCHW', but %x is stored as NCHW@NC1HWC0")]),
    (
        1,
        {"format": "FRACTAL_Z", "groups": 4},
        [("nodes[4]", "groups is 2, but %w is stored in blocks of 4 groups")],
    ),
    (
        5,
        None,
        [("nodes[3]", "Flatten is a view of memory: it cannot turn NCHW@FRACTAL_NZ into ND")],
    ),
    (
        4,
        MAP,
        [
            (
                "nodes[3]",
                "Flatten is a view of memory: it cannot turn NCHW@NC1HWC0 into ND@FRACTAL_NZ",
            )
        ],
    ),
]


@pytest.mark.parametrize(("position", "storage", "found"), NODES)
def test_node_that_its_operands_storage_contradicts_is_refused(
    om: Path,
    seal: Seal,
    position: int,
    storage: dict[str, object] | None,
    found: list[tuple[str, str]],
) -> None:
    tensors = described(om)["tensors"]
    tensors[position]["storage"] = storage
    assert refusals(seal({"tensors": tensors})) == found


VIEWS = [
    ("float16[2,32,1,1] NCHW@NC1HWC0", "float16[64] ND", True),
    ("float16[2,20,1,1] NCHW@NC1HWC0", "float16[40] ND", False),
    ("float16[2,32,1,1] NCHW@NC1HWC0", "float16[2,1,1,32] NHWC@NC1HWC0", False),
    ("float16[2,16,1,1] NHWC@NC1HWC0", "float16[32] ND", False),
    ("float16[2,32,1,1] NHWC@NC1HWC0", "float16[2,32,1,1] NHWC@NC1HWC0", True),
    ("float16[2,3,32,16] ND@FRACTAL_NZ", "float16[96,32] ND", True),
    ("float16[2,3,32,20] ND@FRACTAL_NZ", "float16[6,32,20] ND@FRACTAL_NZ", True),
    ("float16[2,3,32,20] ND@FRACTAL_NZ", "float16[2,96,20] ND@FRACTAL_NZ", False),
]


@pytest.mark.parametrize(("shown", "seen", "fits"), VIEWS)
def test_view_shows_bytes_with_their_elements_in_order(
    shown: str, seen: str, fits: bool, contents: PackageContents, tmp_path: Path
) -> None:
    graph = parse_graph(f"""graph @net phase laid_out {{
      input %x : {shown}
      %y = Squeeze(%x) : {seen} engine=local
      output %y
    }}""")
    path = write_model(graph, tmp_path / "view.om", contents).path
    if fits:
        open_model(path).close()
        return
    (found,) = refusals(path)
    assert found[0] == "nodes[0]"
    assert "Squeeze is a view of memory" in found[1]
