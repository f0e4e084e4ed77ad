"""A browser, and pages of networks to open in it; without Playwright or Chromium they are skipped."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages import PAGES

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what makes the page of a network, once each."""
    folder = tmp_path_factory.mktemp("pages")

    def made(name: str) -> Path:
        page = folder / f"{name}.html"
        if not page.exists():
            page.write_text(PAGES[name](folder), encoding="utf-8")
        return page

    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return Debian's Chromium, without a window."""
    driver = pytest.importorskip("playwright.sync_api", exc_type=ImportError)
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@dataclass(frozen=True)
class Opened:
    """A page in the browser, and what its console said."""

    page: Any
    console: list[str]

    def app(self, expression: str) -> Any:
        """Return the value of an expression about the page's application, `app`."""
        return self.page.evaluate(f"() => {{ const app = window.atcReport; return {expression}; }}")


@pytest.fixture
def show(browser: Any, pages: Callable[[str], Path]) -> Iterator[Callable[..., Opened]]:
    """Return what opens the page of a network at a width, and waits for its graph."""
    contexts = []

    def opened(
        name: str,
        width: int = 1280,
        fragment: str = "",
        theme: str = "light",
        *,
        touch: bool = False,
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, has_touch=touch
        )
        contexts.append(context)
        page = context.new_page()
        console: list[str] = []
        page.on("console", lambda said: console.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: console.append(f"error: {error}"))
        page.on("request", lambda sent: console.append(f"request: {sent.url}"))
        page.goto(pages(name).as_uri() + fragment)
        page.wait_for_function("() => atcReport.ready")
        return Opened(page, console)

    yield opened
    for context in contexts:
        context.close()
