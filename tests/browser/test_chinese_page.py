"""The page in Chinese: no word of its own stays English, whatever is open or selected."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atc_py.target.operator_table import operators
from tests.browser.conftest import Opened

Show = Callable[..., Opened]

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,}")

STAYS = {
    *WORD.findall(
        "AI Core CPU CANN ATC ONNX SoC SNR NaN Inf SHA Pass GiB MiB KiB TiB UTC English Enter Esc "
        "cosine snr top inf sim ort onnxruntime perm opset qdq QDQ QOperator force_fp16 fix pipe "
        "Cube Vector kernel float64 float32 float16 int64 int32 int8 dtype aicore aicpu TransData Reshape beta alpha"
    )
} | {row.name for row in operators()}
"""Names of things, units, keys and options, which read the same in both languages."""

NAME = re.compile(r"\S*…\S*|[\w/.%]{30,}|\b[a-z]+(?:-[a-z]+)+\b|ATC\d+")
"""Codes, names of passes, rules and options, long names, and what is left around the cut in a name."""

SENTENCE = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){3,}\b")

SEEN = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("script, style, noscript, pre, code, #language")) continue;
    if (node.textContent.trim()) found.push(node.textContent);
  }
  for (const each of document.querySelectorAll("[aria-label], [title], [placeholder], [data-head]")) {
    for (const name of ["aria-label", "title", "placeholder", "data-head"]) {
      if (each.id !== "language" && each.getAttribute(name)) found.push(each.getAttribute(name));
    }
  }
  for (const chart of atcReport.charts) for (const point of (chart.points || []).slice(0, 40)) found.push(point.text());
  for (const view of Object.values(atcReport.views)) if (view.layout) for (const box of view.view.boxes.slice(0, 60)) found.push(view.hint(box));
  return found;
}"""


def _neutral(value: Any) -> Iterator[str]:
    """Yield the texts of a document that have no translation: names, operators, numbers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _neutral(each)
    elif isinstance(value, list):
        is_pair = len(value) == 2 and all(isinstance(each, str) for each in value)
        if not is_pair:
            for each in value:
                yield from _neutral(each)


def names_of(document: dict[str, Any]) -> set[str]:
    """Return the words in names of a model, its operators, values, files and options."""
    graphs = [
        part
        for model in document["models"]
        for part in (
            model["source"], model["compiled"], model["facts"], model["options"], model["path"],
            [[*row[:2], row[4]] for row in model["fusions"]],
            [output["name"] for output in (model["precision"] or {}).get("outputs", ())],
            [row[3:7] for row in (model["precision"] or {}).get("layers", ())],
            [row[1:3] for row in (model["precision"] or {}).get("alone", ())],
            (model["precision"] or {}).get("engines", []),
            [(row[0], row[1], row[3], row[4], row[5])
             for soc in (model["time"] or {"socs": []})["socs"] for row in soc.get("kernels", ())],
            [soc["soc"] for soc in (model["time"] or {"socs": []})["socs"]],
            [[found["node_name"], found["op"], found["field"], found["scope"], found["rule"], found["source"], found["code"], found["name"]]
             for found in (model["check"] or {"findings": ()})["findings"]],
            [row[0] for row in (model["check"] or {"operators": ()})["operators"]],
            [(model["check"] or {}).get("list", "")],
        )
    ]  # fmt: skip
    names = set()
    for text in _neutral(
        [[*each] if isinstance(each, tuple) else each for each in _listed(graphs)]
    ):
        names.update(WORD.findall(text))
    return names


def _listed(value: Any) -> Any:
    """Return lists in place of tuples, and no list of two, which would be read as a translation."""
    if isinstance(value, tuple | list):
        return [_listed(each) for each in value] + [0]
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    return value


def english_of(texts: list[str], names: set[str]) -> list[str]:
    """Return the texts with English in them that is not a name."""
    allowed = names | STAYS
    found = []
    for shown in dict.fromkeys(texts):
        text = NAME.sub(" ", shown)
        words = [word for word in WORD.findall(text) if word not in allowed]
        is_own = len(words) >= 3 or (words and not re.search(r"[\u4e00-\u9fff]", text))
        if is_own or (SENTENCE.search(text) and not _is_named(text, names)):
            found.append(shown)
    return found


def _is_named(text: str, names: set[str]) -> bool:
    """Return True if all words of a text are of names."""
    return all(word in names | STAYS for word in WORD.findall(text))


def open_everything(opened: Opened) -> None:
    """Turn the page to Chinese, open what is folded, and look for something."""
    if opened.page.evaluate("document.documentElement.lang") != "zh-CN":
        opened.page.click("#language")
    opened.page.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    )
    opened.page.evaluate(
        "document.querySelectorAll('.columns input:not(:checked)').forEach((each) => each.click())"
    )
    opened.page.locator("#search").fill("o")


@pytest.mark.parametrize(
    "name",
    [
        "resnet50",
        "swin_t",
        "quantized",
        "refused",
        "hostile",
        "failing",
        "gears",
        "samples",
        "several",
    ],
)
def test_no_word_of_the_page_stays_english(show: Show, name: str) -> None:
    opened = show(name)
    open_everything(opened)
    document = opened.app("app.document")
    names = names_of(document)
    texts = list(opened.page.evaluate(SEEN))
    count = opened.app("app.model.nodes.size")
    for at in {0, 1, count // 3, count // 2, count - 2, count - 1}:
        opened.app(f"app.select([...app.model.nodes.values()][{at}], {{center: true}})")
        texts += opened.page.evaluate(SEEN)
    colors = opened.app("[...document.querySelectorAll('#color option')].map((each) => each.value)")
    for color in colors:
        opened.page.select_option("#color", color)
        texts += opened.page.locator("#legend").all_inner_texts()
    assert english_of(texts, names) == []


def test_the_walk_finds_english(show: Show) -> None:
    opened = show("failing")
    texts = opened.page.evaluate(SEEN)
    assert len(english_of(texts, names_of(opened.app("app.document")))) > 20


def test_every_word_of_the_script_has_both_languages(show: Show) -> None:
    opened = show("failing")
    texts = opened.page.evaluate(
        "() => [...document.querySelectorAll('script')].map((each) => each.textContent).join('')"
    )
    pairs = re.findall(r'(\w+): \["((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"\]', texts)
    assert len(pairs) > 200
    alike = {key for key, english, chinese in pairs if english == chinese}
    assert alike <= {
        "digest",
        "soc",
        "cann",
        "lost",
        "pass",
        "b_aicpu",
        "l_aicpu",
        "e_aicore",
        "e_aicpu",
    }
