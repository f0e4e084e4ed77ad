"""A check's report as a page that stands alone."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_TEMPLATE
from atc_py.report.check.baseline import Baseline
from atc_py.report.check.json_document import check_document
from atc_py.report.page import html_page
from atc_py.report.page import rendering as module
from atc_py.report.page.html_page import check_html
from atc_py.system.cache_folders import templates_dir
from tests.executed_lines import PACKAGE, executed, steep
from tests.report.check_samples import (
    RESTATED,
    SLOW,
    STRIDES,
    UNDECIDED,
    at,
    faulty,
    hostile,
    mixed,
    model_check,
    report,
    unreadable,
)
from tests.report.page_document import document_of

VOID = {"meta", "input", "link", "br", "hr", "img", "rect"}


class Page(HTMLParser):
    """The contents of a page, and the soundness of its nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        """Return attributes of all elements of one name."""
        return [attributes for tag, attributes in self.elements if tag == name]


def html_of(*models: ModelCheck, language: str = "en", baseline: Baseline | None = None) -> str:
    return check_html(check_document(report(*models), language, baseline))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_holds_all_models_and_rules(language: str) -> None:
    text = html_of(mixed(), faulty(), unreadable(), model_check(), language=language)
    document = document_of(text)
    levels = [[each["level"] for each in one["check"]["findings"]] for one in document["models"]]
    assert list(map(len, levels)) == [7, 2, 1, 0]
    assert set(levels[0]) == {"error", "unknown", "rewrite", "aicpu"}
    assert Page(text).all("html")[0]["lang"] == {"en": "en", "zh": "zh-CN"}[language]


def test_page_loads_nothing() -> None:
    text = html_of(mixed(), hostile())
    page = Page(text)
    assert {"link", "img", "iframe", "base"}.isdisjoint(tag for tag, _ in page.elements)
    assert not any({"src", "style", "onclick"} & set(each) for _, each in page.elements)
    assert all((each.get("href") or "").startswith("#") for each in page.all("a"))
    assert "url(" not in text
    assert "@import" not in text


def test_policy_names_style_and_scripts() -> None:
    text = html_of(mixed())
    policy = Page(text).all("meta")[1]["content"] or ""
    assert policy.startswith("default-src 'none'; ")
    found = re.findall(r"<(style|script)>(.*?)</(?:style|script)>", text, re.DOTALL)
    assert [tag for tag, _ in found] == ["style", "script", "script"]
    for _, source in found:
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_hostile_names_stay_text() -> None:
    text = html_of(hostile(), mixed())
    page = Page(text)
    assert {"b", "x"}.isdisjoint(tag for tag, _ in page.elements)
    assert "\\x1b[31m\\u202e<b>" in str(document_of(text)).replace("\\\\", "\\")
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


def test_name_cannot_close_the_script() -> None:
    name = "</script><script>alert(1)</script>"
    text = html_of(model_check(at(STRIDES, 1, name), path=f"{name}.onnx"))
    assert len(Page(text).all("script")) == 3
    assert document_of(text)["models"][0]["check"]["findings"][0]["node_name"] == name


def test_known_findings_are_marked() -> None:
    known = Baseline({("resnet.onnx", STRIDES.fingerprint): 1})
    text = html_of(model_check(STRIDES, UNDECIDED), baseline=known)
    found = document_of(text)["models"][0]["check"]["findings"]
    assert [each.get("known", False) for each in found] == [True, False]
    assert "1 known, 1 new" in text


def test_page_of_a_check_has_both_languages() -> None:
    checked = report(mixed())
    for language in ("en", "zh"):
        text = check_html(check_document(checked, language), checked)
        document = document_of(text)
        assert document["lang"] == language
        english, chinese = document["models"][0]["check"]["headline"]
        assert english.startswith("not supported")
        assert chinese.startswith("不支持")


def big_check(count: int) -> ModelCheck:
    """Return a model of many findings of four kinds."""
    kinds = (STRIDES, UNDECIDED, RESTATED, SLOW)
    findings = [at(kinds[i % 4], i, f"node_{i}", f"[{i % 3000}]") for i in range(count)]
    return ModelCheck("big.onnx", "g", {}, count, count, tuple(findings))


def test_work_is_proportional_to_the_findings() -> None:
    html_of(big_check(10))
    counts = [
        executed(lambda size=size: html_of(big_check(size)), PACKAGE)  # type: ignore[misc]
        for size in (500, 1000, 2000)
    ]
    assert steep(counts) == {}


def test_ten_thousand_findings_fit() -> None:
    check = big_check(10_000)
    text = html_of(check)
    assert len(document_of(text)["models"][0]["check"]["findings"]) == 10_000
    assert len(text) < 12_000_000


def test_template_that_is_missing_or_broken_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(html_page, "templates_dir", lambda: tmp_path)
        with pytest.raises(AtcError) as missing:
            html_of(mixed())
    monkeypatch.setattr(module, "templates_dir", lambda: tmp_path)
    folder = tmp_path / "report" / "overview"
    folder.mkdir(parents=True)
    (folder / "page.css").touch()
    (folder / "page.html.j2").write_text("{{ nothing }}", encoding="utf-8")
    with pytest.raises(AtcError) as broken:
        html_of(mixed())
    for error, message in ((missing, "words.js"), (broken, "'nothing' is undefined")):
        assert error.value.diagnostics[0].code is BAD_TEMPLATE
        assert message in error.value.diagnostics[0].message


def contrast(one: str, other: str) -> float:
    """Return ratio of two colors' luminances, as WCAG 2 has it."""
    lights = []
    for color in (one, other):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        lights.append(sum(f * c for f, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colors_have_contrast(scheme: int) -> None:
    style = (templates_dir() / "report" / "plain.css").read_text(encoding="utf-8")
    root = re.findall(r":root[^{]* \{(.*?)\}", style, re.DOTALL)[scheme]
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", root))
    pairs = [(name, f"{name}-tint") for name in (each.value for each in Standing)]
    pairs += [(ink, paper) for ink in ("text", "soft", "accent") for paper in ("page", "card")]
    for ink, paper in pairs:
        assert contrast(colors[ink], colors[paper]) >= 4.5, (ink, paper)
