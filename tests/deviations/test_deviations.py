"""Every deviation: reported of exactly the nodes that meet it, computed under `--semantics cann`."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.findings import Finding
from atc_py.diag.codes import DEVIATES_ON_CANN, NO_CANN_ARITHMETIC, REFUSED_BY_PARSER
from atc_py.fix.cann import FORMS
from atc_py.spec import library
from atc_py.spec.deviations import Deviation
from atc_py.spec.lists import operator_lists
from tests.deviations.case import DeviatingNode, DeviationCase, all_cases
from tests.end_to_end import run_with_atc_py
from tests.sampling import some

CASES = all_cases()
MODE = "allow_fp32_to_fp16"
ROWS = {
    f"{spec.op}/{row.name}": row
    for each in operator_lists()
    for spec in library(each.name).all()
    for row in spec.deviations
}
OF_SEVERAL_NODES = frozenset(
    {"ConvTranspose/marked-by-node-before", "ConvTranspose/not-marked-after-auto-pad"}
)
"""Rows that no model of one node meets; test_flags_of_the_process has them."""

OF_CASES = 3


def one_in_three(first: int) -> pytest.MarkDecorator:
    """Cases of a test; the next test has others, and whole sweeps have all."""
    return pytest.mark.parametrize(
        "case", some(CASES, OF_CASES, first), ids=lambda each: f"{each.row}-{each.generation}"
    )


def row_of(case: DeviationCase) -> Deviation:
    return ROWS[case.row]


def reported(case: DeviationCase, node: DeviatingNode, folder: Path) -> list[Finding]:
    """Return the findings of the case's row."""
    path = folder / "model.onnx"
    onnx.save(node.model(), path)
    (model,) = atc_py.check_models(
        path,
        precision_mode=MODE,
        soc=case.soc,
        cann=case.generation,
        operator_list=case.operator_list,
    ).models
    operator, name = case.row.split("/")
    return [each for each in model.findings if each.rule == f"{operator}/cann/{name}"]


def computed(case: DeviationCase, node: DeviatingNode, folder: Path, **options: Any) -> Any:
    """Return the first output on the simulator."""
    options = {"precision_mode": MODE, "operator_list": case.operator_list, **options}
    options["soc"] = case.soc
    return run_with_atc_py(node.model(), node.feeds, folder, **options)["y0"]


def agree(found: Any, expected: Any) -> bool:
    """Return True if two results are one, dtypes included, but for rounding to float16."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if expected.dtype.kind != "f":
        return bool((found == expected).all())
    return bool(np.allclose(found, expected, rtol=4e-3, atol=4e-3, equal_nan=True))


def test_every_row_has_a_case() -> None:
    assert {case.row for case in CASES} == ROWS.keys() - OF_SEVERAL_NODES
    assert ROWS.keys() >= OF_SEVERAL_NODES


def test_every_row_that_is_computed_has_a_form() -> None:
    forms = {f"{operator}/{name}" for operator, name in FORMS}
    computed_rows = {key for key, row in ROWS.items() if not row.refused and not row.undefined}
    assert forms == computed_rows


@one_in_three(0)
def test_exactly_the_nodes_that_meet_it_are_reported(case: DeviationCase, tmp_path: Path) -> None:
    (finding,) = reported(case, case.hit, tmp_path)
    row = row_of(case)
    assert finding.code is (REFUSED_BY_PARSER if row.refused else DEVIATES_ON_CANN)
    assert row.effect.en in finding.help.en
    assert row.effect.zh in finding.help.zh
    assert finding.certainty in {"proven", "inferred"}
    if case.near is not None:
        assert not reported(case, case.near, tmp_path)


@one_in_three(1)
def test_default_semantics_are_those_of_onnx(case: DeviationCase, tmp_path: Path) -> None:
    expected = case.onnx_result
    assert agree(computed(case, case.hit, tmp_path), expected)
    if case.cann_result is not None:
        assert not agree(case.cann_result, expected), "the case does not show the deviation"


@one_in_three(1)
def test_semantics_of_cann_are_computed_or_refused(case: DeviationCase, tmp_path: Path) -> None:
    options = {"semantics": "cann", "cann": case.generation}
    row = row_of(case)
    if case.cann_result is None:
        with pytest.raises(atc_py.AtcError) as caught:
            computed(case, case.hit, tmp_path, **options)
        expected = REFUSED_BY_PARSER if row.refused else NO_CANN_ARITHMETIC
        assert {each.code for each in caught.value.diagnostics} == {expected}
        return
    assert agree(computed(case, case.hit, tmp_path, **options), case.cann_result)


@one_in_three(2)
def test_a_node_that_does_not_meet_it_compiles_to_the_same_bytes(
    case: DeviationCase, tmp_path: Path
) -> None:
    if case.near is None:
        pytest.skip("every node of the operator meets it")
    path = tmp_path / "model.onnx"
    onnx.save(case.near.model(), path)
    made = []
    for semantics in ("onnx", "cann"):
        done = atc_py.convert(
            path,
            tmp_path / f"{semantics}.om",
            precision_mode=MODE,
            soc=case.soc,
            operator_list=case.operator_list,
            semantics=semantics,
            cann=case.generation,
        )
        made.append(done.output.read_bytes())
    assert made[0] == made[1]
