"""Kernels of operands in blocks: what tells them apart, what they say, what is checked of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from atc_py.compare.kernels.listing import KernelEntry, KernelList
from atc_py.compare.kernels.verify import Verdict, packed_inputs, stored_outputs, unpacked_result
from atc_py.diag import AtcError
from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.kernels.kernels import emit_kernels
from atc_py.package.node_view import TensorFacts
from atc_py.report.kernel_tables import kernel_tables
from atc_py.system.cache_folders import templates_dir
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import image, matrix, stored
from tests.kernels.families.conftest import Verified

F16 = DType.FLOAT16
MAP = (2, 35, 5, 7)
SIM = find_soc("sim")


def _index(graph: Graph) -> list[KernelEntry]:
    kernels: list[KernelEntry] = json.loads(emit_kernels(graph, SIM).files["kernels.json"])[
        "kernels"
    ]
    return kernels


def test_storage_tells_kernels_apart(graph: Graph, add_node: AddNode) -> None:
    rows = TensorType(F16, MAP, Format.NCHW)
    for kind in (rows, image(F16, *MAP), matrix(F16, *MAP), image(F16, *MAP)):
        add_node(graph, "Relu", [kind], [kind])
    listed = _index(graph)
    assert len(listed) == 3
    storages = [each["inputs"][0]["storage"] for each in listed]
    assert storages == [
        None, {"format": "NC1HWC0", "groups": 1}, {"format": "FRACTAL_NZ", "groups": 1}
    ]  # fmt: skip
    assert {each["addresses"] for each in listed} == {"storage"}


def test_description_names_the_formats_that_are_addressed(graph: Graph, add_node: AddNode) -> None:
    filters = stored(F16, (16, 35, 1, 1), "FRACTAL_Z")
    kinds: list[Shape | TensorType | None] = [
        image(F16, *MAP), filters, TensorType(F16, (16,))
    ]  # fmt: skip
    add_node(graph, "Conv2D", kinds, [image(F16, 2, 16, 5, 7)])
    cells: dict[str, AttrValue] = {
        "pooled_h": 2,
        "pooled_w": 3,
        "spatial_scale_h": 1.0,
        "spatial_scale_w": 1.0,
    }
    inputs: list[Shape | TensorType | None] = [image(F16, *MAP), (4, 5)]
    add_node(graph, "ROIPooling", inputs, [image(F16, 4, 35, 2, 3)], cells)
    files = emit_kernels(graph, SIM).files
    described = [
        json.loads(text)[0]
        for path, text in files.items()
        if path.endswith(".json") and path != "kernels.json"
    ]
    formats = {each["op"]: [port["format"][0] for port in each["input_desc"]] for each in described}
    assert formats["Conv2D"] == ["NC1HWC0", "FRACTAL_Z", "ND"]
    assert formats["ROIPooling"][0] == "NCHW"
    pages = {path: text for path, text in files.items() if path.endswith("README.md")}
    said = {path[:6]: "addresses its operands row by row" in text for path, text in pages.items()}
    assert said == {"conv2d": False, "roi_po": True}


def test_padding_that_is_not_zero_is_reported(
    add_node: AddNode, verified: Verified, tmp_path: Path
) -> None:
    own = (templates_dir() / "kernels" / "planes.j2").read_text(encoding="utf-8")
    spoiled = own.replace("if (Filled(tile.first + row) != kLanes) {", "if (row > 9999) {")
    assert spoiled != own
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "planes.j2").write_text(spoiled, encoding="utf-8")
    graph = Graph("spoiled", Phase.TYPED)
    add_node(graph, "Exp", [image(F16, 1, 19, 2, 3)], [image(F16, 1, 19, 2, 3)])
    (checked,) = verified(graph, templates=folder)
    assert checked.verdict is Verdict.DIFFERS
    assert checked.text == f"{13 * 2 * 3} elements of the padding of y are not zero"


def test_kernels_that_address_rows_say_so_in_the_list(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("rows", Phase.TYPED)
    sums, result = matrix(DType.INT32, 2, 5, 7), matrix(F16, 2, 5, 7)
    add_node(graph, "AscendDequant", [sums, TensorType(F16, (5,))], [result], {"dtype": F16})
    add_node(graph, "Relu", [result], [result])
    listed = KernelList("sim", {"ub": 1}, tuple(each.kernel for each in verified(graph)))
    table, _ = kernel_tables(listed)
    states = {row[1]: row[2] for row in table.rows}
    assert states == {"AscendDequant": "complete, by rows", "Relu": "complete"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"storage": {"format": "ND", "groups": 1}}, "storage must be one of"),
        ({"storage": {"format": "Blocks", "groups": 1}}, "'Blocks' is not a valid Format"),
        ({"storage": {"format": "NC1HWC0", "groups": 2}}, "has no groups"),
        ({"format": "ND"}, "NC1HWC0 is for NCHW or NHWC"),
    ],
)
def test_storages_that_cannot_be_are_refused(
    graph: Graph, add_node: AddNode, change: dict[str, object], reason: str
) -> None:
    """Check that storage in a list of kernels, which is a file, is compared with the tensors."""
    add_node(graph, "Relu", [image(F16, *MAP)], [image(F16, *MAP)])
    (kernel,) = _index(graph)
    for port in (kernel["inputs"][0], kernel["outputs"][0]):
        port.update(change)  # type: ignore[typeddict-item]
    facts = TensorFacts(F16, MAP)
    array = np.zeros(MAP, np.float16)
    for tried in (
        lambda: packed_inputs(kernel, [array]),
        lambda: stored_outputs(kernel, [facts]),
        lambda: unpacked_result(kernel, kernel["outputs"][0], array, facts),
    ):
        with pytest.raises(AtcError, match=f"ATC5004.*{reason}"):
            tried()
