"""Rules that boards contradict warn, and nodes are taken by any list; both can be switched off."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from onnx import parser

import atc_py
from atc_py import api
from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag import AtcError
from atc_py.package.reader import open_model
from atc_py.report.check.json_document import check_document
from atc_py.report.model.offline_model import model_tables
from atc_py.report.planning.tables import plan_blocks
from atc_py.report.profile.formats import profile_json
from atc_py.report.profile.text import profile_tables
from atc_py.report.tables import block_lines, plain_lines
from atc_py.results.cann_nodes import read_newer
from atc_py.text.language import speaking
from tests.onnx_graph import onnx_files

KEEP: dict[str, Any] = {"precision_mode": "must_keep_origin_dtype", "soc": "Ascend910B3"}
BASE: dict[str, Any] = {"operator_list": "base"}


class Case(NamedTuple):
    """A node that a rule forbids and boards take.

    Attributes:
        graph: the model, as text.
        options: of the check.
        rules: names of the rules.
    """

    graph: str
    options: dict[str, Any]
    rules: set[str]


WIDE = (
    "g (float[1,1,1,8400] x, float[1,1,1,1] w) => (float[1,1,1,8400] y) "
    "{ y = Conv <strides = [1,1]> (x, w) }"
)
WORDS = (
    "g (float[1,1,32,300] x, float[4,1,2,300] w) => (float[1,4,31,1] y) "
    "{ y = Conv <strides = [1,1]> (x, w) }"
)
PRODUCT = "g (float[4,8] x, float[8,4] w) => (float[4,4] y) { y = MatMul(x, w) }"
PIXEL = (
    "g (float[1,1,2,2] x, float[1,1,4,4] w) => (float[1,1,1,1] y) "
    "{ y = Conv <pads = [1,1,1,1]> (x, w) }"
)
VOLUME = (
    "g (float[1,1,3,3,3] x, float[1,1,2,2,2] w) => (float[1,1,2,2,2] y) "
    "{ y = Conv <strides = [1,1,1]> (x, w) }"
)
POOL = (
    "g (float[1,1,4,4,4] x) => (float[1,1,2,2,2] y) "
    "{ y = MaxPool <kernel_shape = [2,2,2], strides = [2,2,2]> (x) }"
)
ROWS = (
    "g (float[3,4] x, float[4] s, float[4] b, float[4] m, float[4] v) => (float[3,4] y) "
    "{ y = BatchNormalization (x, s, b, m, v) }"
)

CASES = {
    "wide convolution": Case(WIDE, {}, {"Conv/dim_in_range/X.W"}),
    "window over words": Case(WORDS, {"soc": "Ascend310P3"}, {"Conv/dim_in_range/W.W"}),
    "float32 product": Case(PRODUCT, KEEP, {"MatMul/dtype_listed/A", "MatMul/dtype_listed/B"}),
    "result of one pixel": Case(PIXEL, BASE, {"Conv/dims_equal/X"}),
    "convolution of volumes": Case(
        VOLUME, BASE, {"Conv/rank_is/X", "Conv/rank_is/W", "Conv/rank_is/Y"}
    ),
    "pool of volumes": Case(POOL, BASE, {"MaxPool/rank_is/X", "MaxPool/rank_is/Y"}),
    "statistics of rows": Case(
        ROWS, BASE, {"BatchNormalization/rank_is/X", "BatchNormalization/rank_is/Y"}
    ),
}


def saved(graph: str, folder: Path, opset: int = 13) -> Path:
    """Write a model."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}'
    return onnx_files.save(parser.parse_model(text), folder)


def checked(graph: str, folder: Path, opset: int = 13, **options: Any) -> ModelCheck:
    """Return the check of a model."""
    (model,) = api.check_models(saved(graph, folder, opset), **options).models
    return model


def rules(check: ModelCheck, standing: Standing) -> set[str]:
    """Return the rules that findings of one standing are about."""
    return {each.rule for each in check.findings if each.standing is standing}


@pytest.mark.parametrize("what", CASES)
def test_a_contradicted_rule_warns_and_the_model_converts(what: str, tmp_path: Path) -> None:
    graph, options, names = CASES[what]
    check = checked(graph, tmp_path, **options)
    assert (check.standing, rules(check, Standing.LIST)) == (Standing.LIST, names)
    assert rules(check, Standing.ERROR) == set()
    help_ = check.findings[0].help
    assert help_.en.startswith("no action is needed: boards take ")
    assert help_.zh.startswith("无需处理：板卡可用 ")
    done = api.convert(tmp_path / "model.onnx", tmp_path / "m.om", **options)
    assert rules(done.check, Standing.LIST) == names


@pytest.mark.parametrize("what", CASES)
def test_the_strict_list_refuses_to_the_letter(what: str, tmp_path: Path) -> None:
    graph, options, names = CASES[what]
    options = {**BASE, **options, "strict_list": True}
    assert names <= rules(checked(graph, tmp_path, **options), Standing.ERROR)
    with pytest.raises(AtcError):
        api.convert(tmp_path / "model.onnx", tmp_path / "m.om", **options)
    assert not (tmp_path / "m.om").exists()


def test_evidence_counts_for_what_was_seen_alone(tmp_path: Path) -> None:
    line = (
        "g (float[1,1,3] x, float[1,1,2] w) => (float[1,1,2] y) { y = Conv <strides = [1]> (x, w) }"
    )
    double = PRODUCT.replace("float[", "double[")
    for graph, options in (
        (PRODUCT, {**KEEP, "soc": "Ascend310P3"}),
        (double, KEEP),
        (WORDS, {}),
        (line, {}),
        (line, BASE),
    ):
        check = checked(graph, tmp_path, **options)
        assert (check.standing, rules(check, Standing.LIST)) == (Standing.ERROR, set()), graph


def test_a_rule_that_would_warn_is_not_left_undecided(tmp_path: Path) -> None:
    graph = WIDE.replace("8400", "width")
    assert checked(graph, tmp_path).findings == ()
    undecided = rules(checked(graph, tmp_path, strict_list=True), Standing.UNKNOWN)
    assert undecided == {"Conv/dim_in_range/X.W"}


# Any list ---------------------------------------------------------------------------------------

NORM = (
    "g (float[4,8] x, float[8] s, float[8] b) => (float[4,8] y) "
    "{ a = Relu(x) c = LayerNormalization(a, s, b) y = LayerNormalization(c, s, b) }"
)
BOTH_REFUSE = "g (float[1,1,4,4] x) => (float[1,1,4,4] y) { y = LRN <size = 2> (x) }"


def test_each_node_is_taken_by_the_first_list_that_takes_it(tmp_path: Path) -> None:
    path = saved(NORM, tmp_path, 17)
    report = api.check_models(path)
    (check,) = report.models
    assert report.operator_list == "any"
    assert check.newer == {"cann-9.0": {"LayerNormalization": 2}}
    assert [each.rule for each in check.findings] == ["Relu/opset"]  # base takes it, restated
    for language, text in (
        ("en", "2 nodes (LayerNormalization) are taken only by the list cann-9.0: CANN 9.0"),
        ("zh", "2 个节点（LayerNormalization）仅 cann-9.0 清单可用"),
    ):
        (note,) = check_document(report, language).models[0].notes
        assert (note.name, note.operators) == ("newer", ("LayerNormalization",))
        assert note.text.startswith(text)


def test_an_offline_model_knows_which_nodes_a_later_list_alone_takes(tmp_path: Path) -> None:
    path, newer = saved(NORM, tmp_path, 17), {"cann-9.0": {"LayerNormalization": 2}}
    api.convert(path, tmp_path / "m.om")
    with open_model(tmp_path / "m.om") as model:
        assert model.report["newer"] == newer
        info = plain_lines(model_tables(model, 0)[0])
    profile = atc_py.profile_model(tmp_path / "m.om")
    assert json.loads(profile_json(profile))["newer"] == newer
    for lines in (info, plain_lines(profile_tables(profile)[0])):
        assert "  taken only by cann-9.0  LayerNormalization 2" in lines
    plan = atc_py.plan_model(path, target={"cosine": 0.9})
    assert plan.as_json()["newer"] == newer
    with speaking("zh"):
        lines = block_lines(plan_blocks(plan, whole=True))
        assert any("2 个节点（LayerNormalization）仅 cann-9.0" in line for line in lines)
    api.convert(
        saved("g (float[4] x) => (float[4] y) { y = Relu(x) }", tmp_path), tmp_path / "m.om"
    )
    with open_model(tmp_path / "m.om") as model:
        assert "newer" not in model.report  # its bytes are those of a model before lists were noted


@pytest.mark.parametrize("record", [3, {"a b": {}}, {"cann-9.0": {"Mish": 0}}])
def test_a_record_of_newer_nodes_that_is_none_is_refused(record: object) -> None:
    with pytest.raises(AtcError, match="the record of newer does not follow its schema"):
        read_newer({"newer": record}, "m.om")


def test_one_list_alone_counts_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(NORM, tmp_path, 17, **BASE).standing is Standing.ERROR
    assert checked(NORM, tmp_path, 17, operator_list="cann-9.0").newer == {}
    monkeypatch.setenv("ATC_PY_LIST", "base")
    assert checked(NORM, tmp_path, 17).standing is Standing.ERROR


def test_a_node_that_only_evidence_lets_the_first_list_take_needs_no_newer_one(
    tmp_path: Path,
) -> None:
    check = checked(VOLUME, tmp_path)
    assert (check.standing, check.newer, check.findings) == (Standing.SUPPORTED, {}, ())


def test_what_no_list_takes_is_reported_once_and_points_at_no_other(tmp_path: Path) -> None:
    check = checked(BOTH_REFUSE, tmp_path)
    assert rules(check, Standing.ERROR) == {"LRN/attr_odd/size"}
    assert check.other_lists == ()
    assert all(each.taken_by == () for each in check.findings)


def test_files_of_the_user_come_before_any_list(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "layer_normalization.yaml").write_text(
        "op: LayerNormalization\nopsets: [17]\nsummary: {en: norm, zh: 归一化}\n"
        "inputs:\n  - {name: X, dtypes: [float16], rank: 3}\n"
        "  - {name: Scale, dtypes: same_as X}\n  - {name: B, dtypes: same_as X, optional: true}\n"
        "outputs:\n  - {name: Y, dtypes: same_as X}\n"
        "attributes:\n  - {name: axis, type: int, default: -1}\n"
        "target: {op: LayerNorm}\n",
        encoding="utf-8",
    )
    check = checked(NORM, tmp_path, 17, op_specs=folder)
    assert "LayerNormalization/rank_is/X" in rules(check, Standing.ERROR)
