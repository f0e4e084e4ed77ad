"""When a check tries a model out: what is left out must be proved to be safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.diag.codes import NO_KERNEL
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.columns import choose_column
from atc_py.passes.precision.mix_lists import default_list
from atc_py.passes.precision.requested_dtypes import Tensors, wishes
from atc_py.target import Unit, operators, socs
from tests.check.checks import checked, residual_network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from atc_py.ir import Node
    from atc_py.target import Column, Soc, TargetOp

LOWERED_FROM = {
    "Conv2D": "Conv",
    "DepthwiseConv2D": "Conv",
    "AscendDequant": "AscendDequant",
    "AscendQuant": "AscendQuant",
}
"""The model's operators that become target operators for which a kernel may be missing."""


def every_column(row: TargetOp) -> Iterator[Column]:
    """What some engine of some SoC takes."""
    yield from row.columns
    yield from row.aicpu_columns


def bare_node(row: TargetOp, column: Column) -> Node:
    """A node of the operator with each of its operands once, attributes beyond all limits."""
    inputs = [f"  input %x{n} : {d.value}[1] ND" for n, d in enumerate(column.inputs)]
    names = ", ".join(f"%x{n}" for n in range(len(column.inputs)))
    results = ", ".join(f"{d.value}[1] ND" for d in column.outputs)
    heads = ", ".join(f"%y{n}" for n in range(len(column.outputs)))
    body = f"  {heads} = {row.name}({names}) : {results}"
    text = "\n".join(["graph @g phase lowered {", *inputs, body, "  output %y0", "}"])
    (node,) = parse_graph(text).nodes
    for limit in row.limits:
        node.attributes[limit.attribute] = (10**6,) * (max(limit.positions) + 1)
    return node


def without_kernel(row: TargetOp, soc: Soc) -> bool:
    """Whether force_fp16 may leave a node of dtypes that some engine takes without any."""
    for column in every_column(row):
        node = bare_node(row, column)
        fixed = frozenset(row.numbers_at(len(column.inputs)))
        place = default_list(row.name)
        facts = Tensors(row.name, column.inputs, column.outputs, fixed, place, None)
        (wish,) = wishes(PrecisionMode.FORCE_FP16, facts)
        floats = any(dtype.is_float for dtype in (*column.inputs, *column.outputs))
        if floats and choose_column(node, row, soc, (wish.inputs, wish.outputs)) is None:
            return True
    return False


def test_force_fp16_leaves_no_operator_but_the_limited_without_a_kernel() -> None:
    rows = [row for row in operators() if row.unit is not Unit.LOCAL]
    found = {row.name for row in rows for soc in socs() if without_kernel(row, soc)}
    assert {"Conv2D", "AscendDequant"} <= found <= set(LOWERED_FROM)


def test_limited_operators_are_tried_in_every_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atc_py.pipeline import trial

    assert set(LOWERED_FROM.values()) == trial.LIMITED
    seen: list[str] = []
    monkeypatch.setattr(trial, "lower_model", lambda model, _specs: seen.append(model.name))
    monkeypatch.setattr(trial.Trial, "_findings", lambda *_: [])
    checked(residual_network(11), tmp_path)
    assert len(seen) == 1


def test_lowering_that_stops_leaves_the_word_to_convert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atc_py.pipeline import trial

    def stops(*_: object) -> None:
        raise NO_KERNEL.error("lowering stops")

    monkeypatch.setattr(trial, "lower_model", stops)
    check = checked(residual_network(11), tmp_path)
    assert check.standing is not Standing.ERROR
    assert NO_KERNEL not in {each.code for each in check.findings}
