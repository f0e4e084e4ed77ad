"""ATC's fusion switch file in both its forms."""

import json
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.passes.fusion.switch_file import read_switches
from atc_py.passes.pipeline import PIPELINE

OPTIONAL = {row.name for row in PIPELINE if row.optional}
UB = {row.name for row in PIPELINE if row.ub_fusion}
LEFT_ON = {
    "batch-norm-to-bn-infer": "BatchNormBnInferFusionPass",
    "fuse-conv-bias": "AABiasaddConvFusion",
    "fuse-transpose-matmul": "BatchMatMulFusionPass",
    "merge-common-nodes": "CommonSubexpressionEliminationPass",
    "merge-conv-elemwise": "TbeConvCommonRules0FusionPass",
    "merge-requant": "TbeConvRequantFusionPass",
}
"""Our passes whose ATC rules the guide to CANN's fusion rules calls risky to turn off."""


def _off(path: Path, text: str) -> set[str]:
    """Return the passes that a file with `text` switches off."""
    file = path / "switch.cfg"
    file.write_text(text, encoding="utf-8")
    return set(read_switches(file, PIPELINE).disabled)


def test_lines_switch_passes_by_either_name(tmp_path: Path) -> None:
    text = "# mine\n\nGeluONNXFusionPass:off\n fuse-swish : OFF \nfuse-layer-norm:on\n"
    assert _off(tmp_path, text) == {"fuse-gelu", "fuse-swish"}


def test_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert _off(tmp_path, "\ufefffuse-gelu:off\n") == {"fuse-gelu"}


def test_json_switches_all_but_some(tmp_path: Path) -> None:
    switch = {"GraphFusion": {"fuse-gelu": "on", "ALL": "off"}, "UBFusion": {"ALL": "on"}}
    wanted = OPTIONAL - UB - set(LEFT_ON) - {"fuse-gelu"}
    assert _off(tmp_path, json.dumps({"Switch": switch})) == wanted


def test_all_reaches_its_section_alone(tmp_path: Path) -> None:
    assert _off(tmp_path, json.dumps({"Switch": {"UBFusion": {"ALL": "off"}}})) == UB - set(LEFT_ON)


def test_all_leaves_on_what_atc_leaves_on(tmp_path: Path) -> None:
    """ATC's guide says that "ALL" turns off some rules; that it spares the risky ones is inferred."""
    assert _off(tmp_path, "ALL:off") == OPTIONAL - set(LEFT_ON)
    names = {row.name: row.atc_names for row in PIPELINE}
    assert all(rule in names[name] for name, rule in LEFT_ON.items())


def test_rule_that_atc_always_runs_can_be_switched_off_by_our_name_alone(tmp_path: Path) -> None:
    """CANN's fusion engine ignores a switch of AABiasaddConvFusion."""
    assert _off(tmp_path, "AABiasaddConvFusion:off") == set()
    assert _off(tmp_path, "fuse-conv-bias:off") == {"fuse-conv-bias"}
    assert _off(tmp_path, "BatchMatMulFusionPass:off") == {"fuse-transpose-matmul"}


@pytest.mark.parametrize(
    "name",
    ["TbeAippConvSingleInFusion", "SoftmaxFusionPass", "ClipFusionRule0", "FIXPIPEFUSIONPASS"],
)
@pytest.mark.parametrize("word", ["on", "off"])
def test_rule_that_only_atc_has_is_accepted_silently(tmp_path: Path, name: str, word: str) -> None:
    """Switch files of real projects name rules of CANN 8.1 that this compiler has no pass for."""
    file = tmp_path / "switch.cfg"
    file.write_text(f"{name}:{word}\n", encoding="utf-8")
    switches = read_switches(file, PIPELINE)
    assert not switches.disabled
    assert not switches.warnings


def test_last_of_two_entries_counts(tmp_path: Path) -> None:
    assert _off(tmp_path, "fuse-gelu:off\nfuse-gelu:on\n") == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "TbeFooFusionPass:off",
            "neither atc-py nor ATC is known to have a pass TbeFooFusionPass",
        ),
        (
            "AABiasaddConvFusion:off",
            "AABiasaddConvFusion stays on: ATC does not turn it off; here fuse-conv-bias can be",
        ),
        ("split-grouped-conv:off", "split-grouped-conv stays on: every compilation needs it"),
    ],
)
def test_entry_without_effect_is_a_warning_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "switch.cfg"
    file.write_text(f"\n{text}\n", encoding="utf-8")
    switches = read_switches(file, PIPELINE)
    assert not switches.disabled
    (warning,) = switches.warnings
    assert (warning.message, warning.code.name) == (message, "fusion-not-switched")
    assert warning.place is not None
    assert warning.place.line == 2


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("fuse-gelu off\n:off\n", ["a line must be", "a line must be"]),
        ("fuse-gelu:no", ["fuse-gelu must be on or off, found 'no'"]),
        ('{"Switch": {"GraphFusion": {"fuse-gelu": true}}}', ["must be on or off, found True"]),
        ('{"Switch": {"Fusion": {}}}', ['"GraphFusion" or "UBFusion", found \'Fusion\'']),
        ('{"Switch": {"UBFusion": []}}', ["UBFusion must be an object, found []"]),
        ('{"Fusion": {}}', ['"Switch" must be an object, found nothing']),
        ("{\n", ["the JSON is incomplete or malformed"]),
        ('{"Switch": ' * 20_000, ["the JSON cannot be read: maximum recursion depth"]),
        (f'{{"Switch": {"1" * 5_000}}}', ["the JSON cannot be read: Exceeds the limit"]),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, text: str, messages: list[str]) -> None:
    with pytest.raises(AtcError) as caught:
        _off(tmp_path, text)
    found = caught.value.diagnostics
    assert {each.code.name for each in found} == {"bad-switch-file"}
    for diagnostic, message in zip(found, messages, strict=True):
        assert message in diagnostic.message


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match="No such file"):
        read_switches(tmp_path / "none.cfg", PIPELINE)
    with pytest.raises(AtcError, match="cannot read"):
        read_switches(tmp_path, PIPELINE)
    (tmp_path / "binary.cfg").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AtcError, match="is not UTF-8 text"):
        read_switches(tmp_path / "binary.cfg", PIPELINE)
