"""Deviations of CANN in every form of a check's report: their certainty, level and summary."""

import csv
import json
import re

import pytest

from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.diag import Place
from atc_py.diag.codes import DEVIATES_ON_CANN, REFUSED_BY_PARSER
from atc_py.report.check.document import CheckDocument
from atc_py.report.check.formats import render_check
from atc_py.report.check.json_document import check_document
from atc_py.report.check.words import verdict_text
from atc_py.system.cache_folders import templates_dir
from atc_py.system.structs import replace
from atc_py.text import Words, verbatim
from tests.report.check_samples import SLOW, STRIDES, UNDECIDED, at, model_check, report
from tests.report.page_document import document_of
from tests.report.test_check_html import html_of

_INFERRED = Words(" (inferred)", "（推断）")


def deviates(certainty: str = "proven") -> Finding:
    """Return a finding as a deviation has it."""
    said = verbatim("CANN 9.1") + (_INFERRED if certainty == "inferred" else Words("", ""))
    return Finding(
        code=DEVIATES_ON_CANN,
        standing=Standing.ACCURACY,
        rule="GRU/cann/reset-after-product",
        source="op_specs/base/rnn/gru.yaml:27",
        place=Place("nets/resnet.onnx", 4, "gru", "GRU", "attribute linear_before_reset"),
        scope="",
        observed=verbatim("0"),
        allowed=Words("linear_before_reset of GRU must be 1", "GRU 的 linear_before_reset 须为 1"),
        help=said + Words(": it is dropped", "：该属性被忽略"),
        certainty=certainty,
    )


def refuses(certainty: str = "proven") -> Finding:
    """Return a finding as a refusal of the parser has it."""
    return replace(
        deviates(certainty), code=REFUSED_BY_PARSER, standing=Standing.PARSER, rule="GRU/cann/gone"
    )


def document(*findings: Finding, language: str = "en") -> CheckDocument:
    return check_document(report(model_check(*findings)), language)


def rendered(form: str, language: str = "en") -> str:
    """Return a report on a proven and an inferred deviation."""
    found = document(at(deviates(), 1, "a"), at(deviates("inferred"), 2, "b"), language=language)
    return render_check(form, found, Standing.ERROR)


def verdict(*findings: Finding, language: str = "en", **changes: object) -> str:
    (model,) = check_document(report(model_check(*findings, **changes)), language).models
    return verdict_text(model).in_language(language)


@pytest.mark.parametrize(("language", "word"), [("en", " (inferred)"), ("zh", "（推断）")])
@pytest.mark.parametrize("form", ["text", "html", "junit"])
def test_what_is_inferred_is_called_so_beside_its_node(form: str, language: str, word: str) -> None:
    text = rendered(form, language)
    if form == "html":
        findings = document_of(text)["models"][0]["check"]["findings"]
        words = [each["certainty"][language == "zh"] for each in findings]
        assert (
            words
            == {
                "en": ["proven by published sources", "inferred"],
                "zh": ["公开源码可证实", "推断"],
            }[language]
        )
        return
    marker = f"CANN 9.1{word}"
    assert marker in text
    plain = "CANN 9.1: " if language == "en" else "CANN 9.1："
    assert plain in text, "the proven one stands apart"
    assert text.count(marker) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_machines_read_the_certainty_of_each_finding(language: str) -> None:
    expected = ["proven", "inferred"]
    found = json.loads(rendered("json", language))["models"][0]["findings"]
    assert [each["certainty"] for each in found] == expected
    results = json.loads(rendered("sarif", language))["runs"][0]["results"]
    assert [each["properties"]["certainty"] for each in results] == expected
    assert [each["level"] for each in results] == ["warning", "warning"]
    rows = [*csv.DictReader(rendered("csv", language).splitlines())]
    assert [row["certainty"] for row in rows if row["code"]] == expected


@pytest.mark.parametrize(
    ("findings", "en", "zh"),
    [
        (
            [deviates()],
            "supported: all 71 nodes, but 1 node computes something else on CANN 9.1",
            "支持：全部 71 个节点，但其中 1 个节点在 CANN 9.1 上的结果与 ONNX 不同",
        ),
        (
            [at(deviates("inferred"), 1, "a"), at(deviates("inferred"), 2, "b")],
            "supported: all 71 nodes, but 2 nodes compute something else on CANN 9.1 (inferred)",
            "支持：全部 71 个节点，但其中 2 个节点在 CANN 9.1 上的结果与 ONNX 不同（推断）",
        ),
        (
            [at(deviates(), 1, "a"), at(deviates("inferred"), 2, "b")],
            "supported: all 71 nodes, but 2 nodes compute something else on CANN 9.1 (1 inferred)",
            "支持：全部 71 个节点，但其中 2 个节点在 CANN 9.1 上的结果与 ONNX 不同（1 个为推断）",
        ),
        (
            [refuses()],
            "supported: all 71 nodes, but 1 node is refused by the parser of CANN 9.1",
            "支持：全部 71 个节点，但其中 1 个节点不被 CANN 9.1 的解析器接受",
        ),
        (
            [at(refuses("inferred"), 1, "a"), at(refuses("inferred"), 2, "b")],
            "supported: all 71 nodes, but 2 nodes are refused by the parser of CANN 9.1 (inferred)",
            "支持：全部 71 个节点，但其中 2 个节点不被 CANN 9.1 的解析器接受（推断）",
        ),
        (
            [at(deviates(), 1, "a"), at(refuses(), 2, "b"), at(refuses(), 3, "c"), SLOW],
            (
                "supported: all 71 nodes, but 1 node computes something else on CANN 9.1 and 2 are "
                "refused by its parser; 1 on the AI CPU"
            ),
            (
                "支持：全部 71 个节点，但其中 1 个节点在 CANN 9.1 上的结果与 ONNX 不同，2 个节点不被 "
                "CANN 9.1 的解析器接受；1 个在 AI CPU 上运行"
            ),
        ),
        (
            [STRIDES, deviates()],
            "not supported: 1 error in 1 of 71 nodes; 1 node computes something else on CANN 9.1",
            "不支持：71 个节点中有 1 个有错误，共 1 处；其中 1 个节点在 CANN 9.1 上的结果与 ONNX 不同",
        ),
        (
            [UNDECIDED, refuses()],
            "not decided: 1 of 71 nodes; 1 node is refused by the parser of CANN 9.1",
            "无法判定：71 个节点中的 1 个；其中 1 个节点不被 CANN 9.1 的解析器接受",
        ),
    ],
)
def test_summary_counts_deviations_and_refusals_apart(
    findings: list[Finding], en: str, zh: str
) -> None:
    assert verdict(*findings) == en
    assert verdict(*findings, language="zh") == zh


def test_summary_of_an_only_node_does_not_count_it() -> None:
    assert verdict(deviates(), nodes=1) == (
        "supported: its only node, but it computes something else on CANN 9.1"
    )
    assert verdict(refuses("inferred"), nodes=1) == (
        "supported: its only node, but it is refused by the parser of CANN 9.1 (inferred)"
    )
    assert verdict(deviates(), nodes=1, language="zh") == (
        "支持：唯一的节点，但它在 CANN 9.1 上的结果与 ONNX 不同"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_shows_the_level_of_refusals(language: str) -> None:
    models: list[ModelCheck] = [model_check(refuses(), at(deviates(), 9, "other"))]
    page = document_of(html_of(*models, language=language))
    check = page["models"][0]["check"]
    at_language = language == "zh"
    assert check["levels"]["parser"][at_language] == ("parser" if language == "en" else "解析器")
    assert [each["level"] for each in check["findings"]] == ["parser", "accuracy"]
    assert {*check["node_counts"]} == {"supported", "accuracy", "parser"}
    assert check["cann"] == "9.1"
    verdict_line = verdict(refuses(), at(deviates(), 9, "other"), language=language)
    assert check["headline"][at_language] == verdict_line


def test_every_level_has_colors_of_its_own_in_both_schemes() -> None:
    style = (templates_dir() / "report" / "plain.css").read_text(encoding="utf-8")
    colors = re.findall(r"--(\w+)(-tint)?: (#[0-9a-f]{6})", style)
    for each in Standing:
        assert f".bar .{each.value} {{ fill: var(--{each.value}); }}" in style
        assert re.search(rf"^\.{each.value} {{ color: var\(--{each.value}\)", style, re.MULTILINE)
        assert sum(name == each.value for name, _, _ in colors) == 4
    hues = [
        color for name, tint, color in colors if not tint and name in {s.value for s in Standing}
    ]
    for at_, one in enumerate(hues):
        others = hues[: len(Standing)] if at_ < len(Standing) else hues[len(Standing) :]
        for other in others:
            assert one == other or _difference(one, other) > 32, (one, other)


def _difference(one: str, other: str) -> float:
    """Return how far two colors are apart."""
    parts = [[int(color[at_ : at_ + 2], 16) for at_ in (1, 3, 5)] for color in (one, other)]
    return float(sum((a - b) ** 2 for a, b in zip(*parts, strict=True)) ** 0.5)
