"""Every rule of every operator: what is just inside passes, what is just outside fails."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import OpSpec, Rule
from atc_py.spec.implied import RankIs, rules_of
from atc_py.tensor.dtypes import DType
from tests.check import (
    boundary_attributes,
    boundary_axes,
    boundary_operands,
    boundary_quantization,
    boundary_shapes,
)
from tests.check.boundaries import Expect, Side, boundary_of, kinds, opsets_of, sides
from tests.check.boundary_ground import Ground
from tests.check.one_node_checks import check_node
from tests.sampling import some
from tests.spec.every_list import each_spec, library_of, list_of, name_of
from tests.spec.one_node import OPEN_RANK, is_stated

SPECS = list(each_spec())
REGISTERING = (
    boundary_attributes,
    boundary_axes,
    boundary_operands,
    boundary_quantization,
    boundary_shapes,
)
"""The modules that register boundaries; who imports them has all."""

ODD = {
    ("RoiExtractor", "operand_present", Expect.OUTSIDE, 13),
    ("Unsqueeze", "axis_in_rank", Expect.INSIDE, 10),
    ("Unsqueeze", "axis_in_rank", Expect.OUTSIDE, 12),
}
"""Operator, rule, side and opset of which no model can be made.

Before opset 11 ONNX has no negative axes of Unsqueeze, and its inference gives the result another
rank for them. From opset 11 on it refuses axes outside the rank altogether, so that the result has
no rank; the model is refused for that.

RoiExtractor takes any number of feature maps and then regions; without regions the last map stands
in their place, and is refused for its rank.
"""

FIXED_RANKS = {
    "DepthToSpace": {"output"},
    "EyeLike": {"output"},
    "Flatten": {"output"},
    "GRU": {"Y", "Y_h"},
    "Gemm": {"Y"},
    "GridSample": {"Y"},
    "LSTM": {"Y", "Y_c", "Y_h"},
    "MaxRoiPool": {"Y"},
    "Multinomial": {"output"},
    "NonMaxSuppression": {"selected_indices"},
    "NonZero": {"Y"},
    "Range": {"output"},
    "RoiAlign": {"Y"},
    "Shape": {"shape"},
    "Size": {"size"},
    "SpaceToDepth": {"output"},
}
"""Outputs that have one rank by ONNX's definition, whatever the inputs are.

No model can be on the other side of the rule; the front end is made to say that one is.
"""


@dataclass(frozen=True)
class Outcome:
    """The findings of the check on one node for one rule.

    Attributes:
        rule: the rule.
        side: on which side the node is.
        check: the whole check.
        findings: those of the rule.
    """

    rule: Rule
    side: Side
    check: ModelCheck
    findings: tuple[Finding, ...]

    @property
    def text(self) -> str:
        """All of it in one line."""
        found = [f"{each.standing.value}: {each.message.en}" for each in self.findings]
        faults = [fault.message for fault in self.check.faults]
        rule = f"line {self.rule.line} {self.rule.name}"
        return f"{rule}, opset {self.side.opset}, {self.side.what}: {found} {faults}"

    @property
    def is_expected(self) -> bool:
        """True if the findings are those of the side."""
        found = [(each.code, each.standing) for each in self.findings]
        code = boundary_of(self.rule).code
        if self.side.expect is Expect.OUTSIDE:
            return found == [(code, Standing.of(self.rule.level))]
        return not found or (
            self.side.expect is Expect.OPEN and found == [(code, Standing.UNKNOWN)]
        )

    @property
    def names_an_input(self) -> bool:
        """True if the help of what is not decided names an open input, if there is one."""
        helps = [each.help.en for each in self.findings]
        opened = [name for name, shape in self.side.change.shapes.items() if _is_open(shape)]
        return not opened or all(
            "--input-shape" in text and any(name in text for name in opened) for text in helps
        )


def _is_open(shape: tuple[int | str | None, ...] | None) -> bool:
    """Return True if a shape has open dims."""
    return any(isinstance(length, str) for length in shape or ())


def _outcome(spec: OpSpec, rule: Rule, side: Side, folder: Path) -> Outcome:
    """Return the outcome of one node."""
    seen = {
        name: SourceTensor(
            name,
            element.value if isinstance(element, DType) else element or DType.FLOAT32.value,
            None if shape == OPEN_RANK else tuple(int(each or 0) for each in shape or ()),
        )
        for name, (element, shape) in side.change.outputs.items()
        if not is_stated(spec) and (element, shape) != (None, None)
    }
    model = side.change.model(spec, side.opset)
    setting = side.setting
    check = check_node(
        model,
        folder,
        mode=setting.mode,
        soc=setting.soc,
        seen=seen,
        specs=library_of(spec),
        strict=True,
    )
    source, prefix = spec.place_of(rule.line), f"{spec.op}/{rule.name}/"
    findings = (f for f in check.findings if f.source == source and f.rule.startswith(prefix))
    return Outcome(rule, side, check, tuple(findings))


def _is_odd(spec: OpSpec, outcome: Outcome) -> bool:
    """Return True if the node is one that ONNX does not let be."""
    side = outcome.side
    return (spec.op, outcome.rule.name, side.expect, side.opset) in ODD


# Both sides -------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", some(SPECS, 10), ids=name_of)
def test_rule_holds_inside_its_limit_and_fails_outside(spec: OpSpec, tmp_path: Path) -> None:
    wrong = []
    for rule in rules_of(spec):
        found = [_outcome(spec, rule, side, tmp_path) for side in sides(spec, rule)]
        wrong += [each.text for each in found if not (each.is_expected or _is_odd(spec, each))]
        wrong += [f"{each.text}: no input named" for each in found if not each.names_an_input]
        wrong += [f"{rule.name} of line {rule.line}: {text}" for text in _gaps(spec, rule, found)]
    assert not wrong, "\n".join(wrong)


def _gaps(spec: OpSpec, rule: Rule, found: list[Outcome]) -> list[str]:
    """Return the parts of a rule that were not put to the test."""
    if not opsets_of(spec, rule):
        return []
    count = Counter(each.side.expect for each in found)
    gaps = [f"nothing {side.value}" for side in (Expect.INSIDE, Expect.OUTSIDE) if not count[side]]
    if rule.when is not None and not count[Expect.SILENT]:
        gaps.append("its conditions are always met")
    # Of a node that onnx refuses because of what is open it is not said that it is not decided.
    open_ones = [each for each in found if each.side.expect is Expect.OPEN]
    undecided = any(each.findings or each.check.faults for each in open_ones)
    if boundary_of(rule).reads and not undecided:
        gaps.append("it is decided whatever is open")
    return gaps


def test_rules_that_the_installed_onnx_is_too_old_for_are_of_the_newest_opsets() -> None:
    for spec in each_spec():
        for rule in rules_of(spec):
            if not opsets_of(spec, rule):
                assert any((row.since or 0) > 21 for row in Ground(spec, rule, 0).attributes)


def test_every_kind_of_rule_has_a_boundary() -> None:
    used = {type(rule) for spec in each_spec() for rule in rules_of(spec)}
    of_deviations = {type(row.unless) for spec in each_spec() for row in spec.deviations}
    assert used <= kinds() <= used | of_deviations


# What ONNX does not let be ----------------------------------------------------------------------


def test_nodes_that_cannot_be_made_are_not_as_they_should_be(tmp_path: Path) -> None:
    operators = {op for op, *_ in ODD}
    for spec in (spec for spec in each_spec() if spec.op in operators):
        found = set()
        for rule in rules_of(spec):
            for side in sides(spec, rule):
                outcome = _outcome(spec, rule, side, tmp_path)
                if not outcome.is_expected:
                    found.add((spec.op, rule.name, side.expect, side.opset))
                    assert outcome.check.standing is Standing.ERROR
        assert found == {row for row in ODD if row[0] == spec.op}, list_of(spec)


def test_outputs_of_fixed_rank_are_those_that_no_input_gives_another() -> None:
    found: dict[str, set[str]] = {}
    for spec in each_spec():
        for rule in rules_of(spec):
            if (
                spec.custom
                or not isinstance(rule, RankIs)
                or Ground(spec, rule, 0).is_input(rule.tensor)
            ):
                continue
            outside = [each for each in sides(spec, rule) if each.expect is Expect.OUTSIDE]
            if all(each.change.outputs[rule.tensor][1] is not None for each in outside):
                found.setdefault(spec.op, set()).add(rule.tensor)
    assert found == FIXED_RANKS
