"""The table of a sweep in a browser: it opens without a word, sorts, filters and links reports."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atc_py.report.sweep.html_page import sweep_html
from atc_py.results.sweep import Combination, SweepOutput, SweepRow, SweepVerdict
from atc_py.system.structs import replace

AXE = os.environ.get("ATC_PY_AXE", "")
"""The file `axe.min.js` of axe-core, which `make test-browser` gets."""

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def rows() -> list[SweepRow]:
    """Return 30 models on two SoCs: every third is refused, and one crashed."""
    found = []
    for at in range(30):
        for soc in ("Ascend310P3", "Ascend910B4"):
            name = HOSTILE if at == 29 else f"zoo/model{at}"
            row = SweepRow(
                Combination(name, soc, "force_fp16", "base"), f"{name}.onnx", SweepVerdict.COMPILES
            )
            if at % 3 == 1:
                row = replace(
                    row,
                    verdict=SweepVerdict.REFUSED,
                    reasons={"ATC3001": at},
                    message="no",
                    message_zh="不",
                )
            elif at == 3:
                row = replace(row, verdict=SweepVerdict.CRASHED, message="gone", message_zh="消失")
            else:
                output = SweepOutput("y", 1.0 - at / 1000, 30.0, at / 100, 0.1, 0.0)
                row = replace(
                    row, file_bytes=1000 + at, memory_bytes=2000 * (at + 1), outputs=(output,), report=f"reports/{at}.html",
                    estimated_seconds=1e-4 * (40 - at), cosine=output.cosine, distance=output.distance,
                )  # fmt: skip
            found.append(row)
    return found


@pytest.fixture(params=[(360, "en"), (1400, "en"), (1400, "zh")], ids=str)
def page(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Any, list[str]]]:
    """Return the page at a width, and what its console said."""
    width, language = request.param
    path = tmp_path / "index.html"
    path.write_bytes(sweep_html(rows(), language))
    opened = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(path.as_uri())
    opened.wait_for_function("window.atcSweep && window.atcSweep.ready")
    yield opened, said
    opened.close()


def models(page: Any) -> list[str]:
    """Return the models of the rows that are shown."""
    found: list[str] = page.eval_on_selector_all(
        "#table tbody th", "all => all.map(e => e.textContent)"
    )
    return found


def test_page_opens_in_silence_and_does_not_scroll_sideways(page: tuple[Any, list[str]]) -> None:
    opened, said = page
    assert said == []
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert len(models(opened)) == 60
    assert not any("\u202e" in name for name in models(opened))
    assert opened.locator("#table a").first.get_attribute("href") == "reports/0.html"


def test_rows_are_filtered_by_axis_verdict_code_and_text(page: tuple[Any, list[str]]) -> None:
    opened, said = page
    opened.locator("#axes select").first.select_option("Ascend910B4")
    assert len(models(opened)) == 30
    opened.locator(".chips button").first.click()
    assert len(models(opened)) == 10
    opened.locator(".chips button").first.click()
    opened.locator("#axes select").last.select_option("crashed")
    assert models(opened) == ["zoo/model3"]
    opened.locator("#axes select").last.select_option("")
    opened.locator("#table input[type=search]").fill("model2")
    assert len(models(opened)) == 10  # 2 and 20 to 28
    opened.locator("#table input[type=checkbox]").first.check()
    assert models(opened) == ["zoo/model22", "zoo/model25", "zoo/model28"]
    assert said == []


def test_rows_are_sorted_by_a_column_and_stay_so_in_the_other_language(
    page: tuple[Any, list[str]],
) -> None:
    opened, said = page
    opened.evaluate(
        "() => { const app = window.atcSweep; app.table.sorted = 'seconds'; app.table.sign = 1; app.table.render(); }"
    )
    first = [name for name in models(opened) if not name.startswith("zoo/model3")]
    assert "zoo/model27" in first[:30]
    before = models(opened)
    opened.locator("#language").click()
    assert models(opened) == before
    opened.locator("#theme").click()
    assert said == []


@pytest.mark.parametrize("dark", [False, True])
def test_page_is_accessible(page: tuple[Any, list[str]], *, dark: bool) -> None:
    if not AXE:
        pytest.skip("ATC_PY_AXE does not name axe.min.js")
    opened, _ = page
    if dark:
        opened.locator("#theme").click()
    opened.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = opened.evaluate("async () => (await axe.run()).violations")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
