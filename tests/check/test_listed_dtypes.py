"""Dtypes of every input: the listed ones are accepted in every mode, others are refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import onnx
import onnx.defs
import pytest

from atc_py.check.findings import Finding, Standing
from atc_py.diag.codes import DTYPE_NOT_LISTED
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import OpSpec
from atc_py.spec.implied import DtypeListed, rules_of
from atc_py.tensor.dtypes import DType
from tests.check.boundary_ground import Change, Ground
from tests.check.boundary_operands import unlisted_dtype
from tests.check.one_node_checks import check_node
from tests.failures import Failures
from tests.spec.every_list import each_spec, library_of, parameters

SPECS = parameters(spec for spec in each_spec() if spec.inputs)
FORCE_FP16, MUST_KEEP = PrecisionMode.FORCE_FP16, PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
FLOATS = {DType.FLOAT16, DType.FLOAT32}


def _rules(spec: OpSpec) -> Iterator[tuple[DtypeListed, tuple[int, ...]]]:
    """Yield the rules on dtypes of inputs, each with its oldest and its newest opset."""
    for rule in rules_of(spec):
        row = next((row for row in spec.inputs if row.line == rule.line), None)
        if isinstance(rule, DtypeListed) and row is not None:
            opsets = [o for o in spec.opsets if row.exists_at(o) and onnx.defs.has(spec.op, o)]
            yield rule, (min(opsets), max(opsets)) if opsets else (13,)


@dataclass(frozen=True)
class Case:
    """An input of a dtype, in a model of the operator alone.

    Attributes:
        spec: of the operator.
        rule: on the dtypes of the input.
        model: at one opset, in which the input has the dtype.
        folder: where the model is written.
    """

    spec: OpSpec
    rule: DtypeListed
    model: onnx.ModelProto
    folder: Path

    def findings(self, mode: PrecisionMode) -> list[Finding]:
        """Those on the dtype of the input; rules that exclude dtypes are left out."""
        check = check_node(self.model, self.folder, mode=mode, specs=library_of(self.spec))
        found = (each for each in check.findings if each.code is DTYPE_NOT_LISTED)
        return [
            each
            for each in found
            if each.place.field == f"input {self.rule.tensor}"
            and "/dtype_excluded/" not in each.rule
        ]


def _case(spec: OpSpec, rule: DtypeListed, opset: int, dtype: DType | str, folder: Path) -> Case:
    change = Ground(spec, rule, opset).base.plus(Change(dtypes={rule.tensor: dtype}))
    return Case(spec, rule, change.model(spec, opset), folder)


@pytest.mark.parametrize("spec", SPECS)
def test_dtype_is_accepted_where_listed_or_changed_by_the_mode(
    spec: OpSpec, tmp_path: Path
) -> None:
    with Failures() as failures:
        for rule, opsets in _rules(spec):
            for dtype, opset in product(rule.dtypes, opsets):
                with failures.of(rule.tensor, dtype, opset):
                    case = _case(spec, rule, opset, dtype, tmp_path)
                    assert [case.findings(mode) for mode in (FORCE_FP16, MUST_KEEP)] == [[], []]
            with failures.of(rule.tensor, "not listed"):
                _refused_in_every_mode(spec, rule, max(opsets), tmp_path)
            with failures.of(rule.tensor, "the other float"):
                _accepted_where_changed(spec, rule, max(opsets), tmp_path)


def _refused_in_every_mode(spec: OpSpec, rule: DtypeListed, opset: int, folder: Path) -> None:
    """Check that a dtype that is not listed is refused."""
    dtype = unlisted_dtype(rule.dtypes)
    case = _case(spec, rule, opset, dtype, folder)
    for mode in PrecisionMode:
        found = case.findings(mode)
        assert [(each.standing, each.source) for each in found] == [
            (Standing.ERROR, spec.place_of(rule.line))
        ], (dtype, mode)
        assert found[0].observed.en == (dtype.value if isinstance(dtype, DType) else dtype)


def _accepted_where_changed(spec: OpSpec, rule: DtypeListed, opset: int, folder: Path) -> None:
    """Check that a float that the mode makes a listed one is accepted."""
    listed = FLOATS & set(rule.dtypes)
    for dtype in FLOATS - listed if listed else ():
        case = _case(spec, rule, opset, dtype, folder)
        assert not case.findings(FORCE_FP16), dtype
        assert bool(case.findings(MUST_KEEP)) is (dtype is DType.FLOAT32), dtype


def test_floats_that_modes_change_occur_both_ways() -> None:
    lacking = {
        dtype
        for spec in each_spec()
        for rule, _ in _rules(spec)
        for dtype in FLOATS - set(rule.dtypes)
        if FLOATS & set(rule.dtypes)
    }
    assert lacking == FLOATS
