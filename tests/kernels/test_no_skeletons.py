"""Kernels of the AI Core that are left to write: of all rows, columns of dtypes and families of SoCs."""

import re
from pathlib import Path

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.kernels.collect import collect
from atc_py.kernels.kernels import LEFT, emit_kernels
from atc_py.kernels.registry import family_of, is_skeleton
from atc_py.system.cache_folders import templates_dir
from atc_py.target import Soc, TargetOp, operators, socs
from atc_py.target.row import Column
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode, _result, _shapes
from tests.kernels.families.blocks import image
from tests.kernels.test_kernel_templates import IN_BLOCKS, SHOWN

FORMS: dict[str, dict[str, AttrValue]] = {
    "ROIAlign": {"roi_end_mode": 0},
    "ReduceLogSumExp": {"axes": (1,)},
    "Resize": {"mode": "linear"},
}
"""Attributes by which lowering makes nodes of an operator, where those of the tests are no such."""


PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"
ROW = re.compile(r"^\| (?P<operator>[A-Z]\w+) \| (?P<dtypes>[a-z0-9, ]+) \| .+ \|$", re.MULTILINE)


def left_on_ascend950() -> dict[str, list[str]]:
    """Return the dtypes of data for which the page says that operators are skeletons."""
    part = PAGE.read_text(encoding="utf-8").partition("## Skeletons on Ascend950")[2]
    rows = ROW.finditer(part.partition("\n## ")[0])
    return {row["operator"]: sorted(row["dtypes"].split(", ")) for row in rows}


NEEDED = {"mean", "scales", "variance"}
"""Optional inputs that every node has that lowering makes."""


def first_of_each_family() -> list[Soc]:
    """Return one SoC of each family."""
    found: dict[object, Soc] = {}
    for soc in socs():
        found.setdefault(soc.family, soc)
    return list(found.values())


def _add(graph: Graph, add_node: AddNode, row: TargetOp, column: Column) -> None:
    """Add a node whose optional inputs are absent, and whose dtypes are a column's."""
    inputs = []
    for at, shape in enumerate(_shapes(row)):
        operand = row.input_at(at)
        there = operand is None or not operand.optional or operand.name in NEEDED
        dtype = column.inputs[min(at, len(column.inputs) - 1)]
        inputs.append(TensorType(dtype, shape) if there else None)
    outputs = [TensorType(dtype, _result(row)) for dtype in column.outputs]
    attributes = dict(FORMS.get(row.name, {}))
    if row.name == "TransData":
        outputs = [image(column.outputs[0], *_result(row))]
        attributes = {"src_format": "NCHW", "dst_format": "NC1HWC0"}
    add_node(graph, row.name, inputs, outputs, attributes)


@pytest.mark.parametrize("soc", first_of_each_family(), ids=lambda soc: soc.name)
def test_every_kernel_of_the_ai_core_has_a_family(add_node: AddNode, soc: Soc) -> None:
    left: dict[str, list[str]] = {}
    for row in operators():
        for column in row.columns_on(soc) if row.launches_kernel else ():
            if (row.name, column.inputs[0]) == ("TransData", DType.INT4):
                continue  # int4 is never stored in blocks
            graph = Graph("one", Phase.TYPED)
            _add(graph, add_node, row, column)
            (kernel,) = collect(graph, soc)
            if is_skeleton(family_of(kernel.facts)):
                left.setdefault(row.name, []).append(column.inputs[0].value)
    stated = left_on_ascend950() if soc.family is SocFamily.ASCEND950 else {}
    assert {name: sorted(dtypes) for name, dtypes in left.items()} == stated


def test_templates_leave_nothing_to_write() -> None:
    folder = templates_dir() / "kernels"
    marked = {
        path.name
        for path in folder.rglob("*.j2")
        if LEFT in path.read_text(encoding="utf-8") or "to_write(" in path.read_text("utf-8")
    }
    assert marked == {"aicpu.cpp.j2", "macros.j2", "readme.md.j2", "skeleton.cpp.j2"}


def test_shown_kernels_are_complete(graph: Graph, add_node: AddNode) -> None:
    for shown in (*SHOWN.values(), *IN_BLOCKS.values()):
        add_node(graph, *shown)
    kernels = emit_kernels(graph, next(soc for soc in socs() if soc.name == "sim"))
    assert [path for path, text in kernels.files.items() if LEFT in text] == []
