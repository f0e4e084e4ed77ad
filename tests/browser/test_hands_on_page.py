"""The page by wheel, fingers, keys and on paper."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Opened
from tests.browser.networks import HOSTILE

Show = Callable[..., Opened]

CANVAS = ".view[data-side=c] canvas.main"


def under(opened: Opened, x: float, y: float) -> list[float]:
    """Return the place of the graph that is seen at a place of the canvas."""
    found: list[float] = opened.app(
        f"(() => {{ const v = app.views.c; return [({x} - v.x) / v.scale, ({y} - v.y) / v.scale]; }})()"
    )
    return found


def test_wheel_zooms_at_the_pointer_and_does_not_scroll_the_page(show: Show) -> None:
    opened = show("resnet50")
    canvas = opened.page.locator(CANVAS)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    top, scale = opened.page.evaluate("scrollY"), opened.app("app.views.c.scale")
    opened.page.mouse.move(box["x"] + 200, box["y"] + 150)
    before = under(opened, 200, 150)
    opened.page.mouse.wheel(0, -300)
    opened.page.wait_for_function(f"() => atcReport.views.c.scale > {scale}")
    assert under(opened, 200, 150) == pytest.approx(before, abs=2)
    opened.page.mouse.wheel(0, 600)
    opened.page.wait_for_function(f"() => atcReport.views.c.scale < {scale}")
    assert opened.page.evaluate("scrollY") == top


def test_drag_pans_and_does_not_select(show: Show) -> None:
    opened = show("resnet50")
    canvas = opened.page.locator(CANVAS)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    at = opened.app("[app.views.c.x, app.views.c.y]")
    opened.page.mouse.move(box["x"] + 300, box["y"] + 200)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 340, box["y"] + 230, steps=4)
    opened.page.mouse.up()
    assert opened.app("[app.views.c.x, app.views.c.y]") == [at[0] + 40, at[1] + 30]
    assert opened.app("app.selected") is None


def test_two_fingers_zoom_and_one_pans(show: Show) -> None:
    opened = show("resnet50", touch=True)
    canvas = opened.page.locator(CANVAS)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    client = opened.page.context.new_cdp_session(opened.page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [
            {"x": box["x"] + x, "y": box["y"] + y, "id": at} for at, (x, y) in enumerate(places)
        ]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    scale = opened.app("app.views.c.scale")
    touch("touchStart", (200, 200), (260, 200))
    for wide in (10, 30, 60):
        touch("touchMove", (200 - wide, 200), (260 + wide, 200))
    touch("touchEnd")
    assert opened.app("app.views.c.scale") == pytest.approx(scale * 3, rel=0.1)
    x = opened.app("app.views.c.x")
    touch("touchStart", (200, 200))
    touch("touchMove", (250, 200))
    touch("touchEnd")
    assert opened.app("app.views.c.x") == pytest.approx(x + 50, abs=1)
    assert opened.app("app.selected") is None


def test_overview_map_moves_the_view(show: Show) -> None:
    opened = show("resnet50")
    opened.app("app.views.c.zoom(4)")
    small = opened.page.locator(".view[data-side=c] canvas.map")
    small.scroll_into_view_if_needed()
    area = small.bounding_box()
    opened.page.mouse.move(area["x"] + area["width"] - 6, area["y"] + area["height"] / 2)
    opened.page.mouse.down()
    opened.page.mouse.up()
    right = opened.app("(app.views.c.w / 2 - app.views.c.x) / app.views.c.scale")
    assert right > opened.app("app.views.c.layout.width") * 0.8


def focusable(opened: Opened) -> int:
    """Count what the Tab key reaches."""
    found: int = opened.page.evaluate(
        """() => [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")]
        .filter((each) => each.tabIndex >= 0 && !each.disabled && each.getClientRects().length
          && !(each.type === "radio" && !each.checked)).length"""
    )
    return found


@pytest.mark.parametrize("name", ["failing", "refused", "gears"])
def test_tab_reaches_everything_and_shows_where_it_is(show: Show, name: str) -> None:
    opened = show(name)
    opened.page.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    )
    wanted = focusable(opened)
    seen = set()
    for _ in range(wanted + 3):
        opened.page.keyboard.press("Tab")
        place = opened.page.evaluate(
            """() => { const at = document.activeElement; if (at === document.body) return null;
              const all = [...document.querySelectorAll("*")];
              return [all.indexOf(at), getComputedStyle(at).outlineStyle]; }"""
        )
        if place is None:
            continue
        seen.add(place[0])
        assert place[1] != "none", place
    assert len(seen) == wanted


def test_keys_alone_open_a_folded_box_find_a_node_and_show_it(show: Show) -> None:
    opened = show("quantized")
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Enter")  # past the heading
    assert opened.page.evaluate("location.hash") == "#verdict"
    opened.page.select_option("#which", "s")
    opened.page.select_option("#fold", "1")
    before = opened.app("app.views.s.view.boxes.length")
    opened.page.locator(".view[data-side=s] canvas.main").focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    assert opened.app("app.views.s.view.boxes.length") > before
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("layer7/conv")
    opened.page.keyboard.press("Enter")
    assert opened.app("app.selected.name") == "/stage1/layer7/conv"
    opened.page.keyboard.press("Escape")
    assert opened.app("app.selected") is None


def test_chart_is_gone_along_with_keys(show: Show) -> None:
    opened = show("failing")
    chart = opened.page.locator("#precision .chart svg").first
    chart.focus()
    opened.page.keyboard.press("ArrowRight")
    first = opened.page.locator("#tip").inner_text()
    assert first
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#tip").inner_text() != first
    opened.page.keyboard.press("Enter")
    assert opened.app("app.selected") is not None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_and_shows_everything_once(show: Show, theme: str) -> None:
    opened = show("failing", theme=theme)
    opened.page.emulate_media(media="print")
    style = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(style) == "rgb(255, 255, 255)"
    assert opened.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    for hidden in (".switches", "#graph-tools", "nav", ".keys", ".command button"):
        assert not opened.page.locator(hidden).first.is_visible()
    for shown in ("#verdict", CANVAS, "#precision table", "#time svg"):
        assert opened.page.locator(shown).first.is_visible()
    assert opened.app(
        "app.views.c.x >= 0 && app.views.c.layout.height * app.views.c.scale <= app.views.c.h"
    )
    boxes = "[...document.querySelectorAll('.scroll')]"
    assert opened.page.evaluate(
        f"{boxes}.every((each) => each.scrollHeight <= each.clientHeight + 1)"
    )


def test_pages_on_paper_are_few_and_have_text(show: Show, tmp_path: Path) -> None:
    opened = show("failing")
    path = tmp_path / "page.pdf"
    opened.page.pdf(path=path, format="A4")
    data = path.read_bytes()
    assert data.startswith(b"%PDF")
    count = len(re.findall(rb"/Type\s*/Page[^s]", data))
    assert 2 <= count <= 12


def test_gears_are_rows_and_pages_to_choose(show: Show) -> None:
    opened = show("gears")
    table = opened.page.locator("#verdict .side table")
    assert table.locator("tbody tr").count() == 2
    assert table.locator("tbody tr.chosen").count() == 1
    table.locator("button.link").nth(1).click()
    opened.page.wait_for_function("() => atcReport.ready && atcReport.at === 1")
    assert opened.app("app.model.data.gear") == "32,16"
    assert opened.page.evaluate("location.hash") == "#model=1"
    again = show("gears", fragment="#model=1")
    assert again.app("app.model.data.gear") == "32,16"
    assert again.page.locator("#models").input_value() == "1"


def test_figures_sample_by_sample_are_in_a_table_and_in_the_panel(show: Show) -> None:
    opened = show("samples")
    table = opened.page.get_by_role("table", name="Over 6 samples").last
    heads = "Output Figure Mean Worst Worst sample"  # quantiles of 20 samples or more
    assert " ".join(table.locator("thead th").all_inner_texts()) == heads
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    assert [row[1] for row in rows[:3]] == ["Cosine", "Relative error", "SNR dB"]
    assert {row[-1].rpartition(", ")[2] for row in rows[:3]} == {"sample 4"}
    assert rows[2][3] == "-inf"
    assert "top-1 83.33%" in opened.page.locator("#precision").inner_text()
    at = opened.app("app.model.layers.findIndex((layer) => layer.overflow > 0)")
    opened.app(f"app.select(app.model.nodes.get(app.model.layers[{at}].id))")
    panel = opened.page.locator("#panel")
    names = panel.locator("table tbody th").all_inner_texts()
    assert names == ["Mean", "Worst"]
    assert "sample 4" in panel.inner_text()
    opened.page.click("#language")
    assert "最差的样本" in panel.inner_text()
    assert "6 个样本的分布" in opened.page.locator("#precision").inner_text()


def test_page_of_one_sample_has_no_figures_sample_by_sample(show: Show) -> None:
    opened = show("failing")
    assert opened.page.get_by_role("table", name="Over").count() == 0
    opened.app("app.select(app.model.nodes.get(app.model.layers[0].id))")
    assert opened.page.locator("#panel table").count() == 0


def test_several_models_are_rows_with_their_verdicts(show: Show) -> None:
    opened = show("several")
    rows = opened.page.locator("#verdict .side tbody tr")
    assert rows.count() == 3
    assert "Does not compile" in rows.nth(1).inner_text()
    opened.page.select_option("#models", "1")
    opened.page.wait_for_function("() => atcReport.ready && atcReport.at === 1")
    assert opened.app("app.selected.op") == "my.own::Sinh"


def test_failing_outputs_stand_beside_the_verdict_and_first_of_all(show: Show) -> None:
    opened = show("failing")
    head = opened.page.locator("#verdict h2").inner_text()
    assert head.startswith("Compiles")
    assert re.search(r"2 of 2 outputs miss --fail-under cosine=0\.999", head)
    first = opened.page.locator("#verdict .actions li").first
    assert "2 of 2 outputs fail --fail-under=cosine=0.999" in first.inner_text()
    first.locator("button.link").click()
    assert opened.app("app.selected") is not None


def test_quantized_network_shows_its_int8_layers(show: Show) -> None:
    opened = show("quantized")
    assert "int8" in opened.app("app.model.compiled.values.map((value) => value.dtype)")
    opened.page.select_option("#color", "c_dtype")
    assert "int8" in opened.page.locator("#legend").inner_text()
    opened.page.select_option("#color", "c_kind")
    assert "quantization" in opened.page.locator("#legend").inner_text()


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_names_are_shown_in_every_part(show: Show, width: int) -> None:
    opened = show("hostile", width)
    shown: list[Any] = []
    for at, name in enumerate(HOSTILE):
        opened.app(f"app.select(app.model.nodes.get('s{at}'), {{center: true}})")
        shown.append(opened.page.locator("#panel-head").inner_text())
        opened.page.locator("#search").fill(name[:40])
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown[0] == HOSTILE[0]
    assert "\u202e" not in shown[1]
    assert len(shown[2]) <= 200
    text = opened.page.evaluate("document.body.innerText")
    assert not {"\u202e", "\u2066"} & set(text)
    assert opened.page.evaluate("[...document.querySelectorAll('img, iframe, object')].length") == 0
    assert opened.page.evaluate("window.alerted === undefined")
