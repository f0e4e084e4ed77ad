"""The HTML page of a profile: what is in it, and a browser that opens it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import onnx
import pytest

from atc_py.pipeline.profile import profile_model
from atc_py.report.profile.html_page import profile_html
from tests.cost.small_networks import chain

if TYPE_CHECKING:
    from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--v=0",
)  # fmt: skip
NASTY = "a<script>alert(1)</script>\u202e"


class Tags(HTMLParser):
    """Opened elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember one."""
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str, kind: str) -> int:
        """Return the number of elements that have a class."""
        return sum(name == tag and attrs.get("class") == kind for name, attrs in self.found)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a model with a nasty name, on two SoCs."""
    model = chain()
    model.graph.node[0].name = NASTY
    path = tmp_path_factory.mktemp("page") / "net.onnx"
    onnx.save(model, path)
    return profile_html(profile_model(path, ["sim", "Ascend910B4"]))


def test_page_has_graph_timeline_roofline_and_memory_of_each_soc(page: str) -> None:
    labels = re.findall(r'aria-label="([^"]*)"', page)
    assert labels == 2 * [
        "kernels along the network", "kernels and pipes over time", "roofline", "memory over time"
    ]  # fmt: skip
    assert "SoCs side by side" in page
    assert page.count("Estimates, not measurements") == 1


def test_page_loads_nothing_and_runs_only_its_own_script(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    names = [name for name, _ in tags.found]
    assert names.count("script") == 1
    assert not {"link", "img", "iframe", "object"} & set(names)
    assert not any(set(attrs) & {"src", "href", "onclick"} for _, attrs in tags.found)
    assert "default-src 'none'" in html.unescape(page)
    assert "\u202e" not in page
    assert "<script>alert" not in page


def test_page_has_light_and_dark_and_no_style_attributes(page: str) -> None:
    assert "prefers-color-scheme: dark" in page
    assert " style=" not in page


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1280, 400])
def test_browser_opens_the_page_without_an_error(page: str, width: int, tmp_path: Path) -> None:
    opened, out = in_browser(page, width, tmp_path)
    assert "CONSOLE" not in opened
    assert out.count("<svg") == page.count("<svg")
    broken, _ = in_browser(
        page.replace('"use strict";', '"use strict"; nothing();'), width, tmp_path
    )
    assert "CONSOLE" in broken


def in_browser(page: str, width: int, folder: Path) -> tuple[str, str]:
    """Return (what the browser logs, the page as it stands after its script) of a page."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER or "", *FLAGS, f"--user-data-dir={folder / 'user'}",
            f"--window-size={width},2000", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stderr, done.stdout
