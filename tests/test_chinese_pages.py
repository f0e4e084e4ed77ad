"""Chinese pages of docs/zh: their commands, programs and outputs are those of the English pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "zh").glob("*.md"))
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_blocks_are_those_of_the_english_page(page: Path) -> None:
    folder = ROOT if page.name == "README.md" else ROOT / "docs"
    english = (folder / page.name).read_text(encoding="utf-8")
    chinese = page.read_text(encoding="utf-8")
    assert BLOCK.findall(chinese) == BLOCK.findall(english)
    missing = [link for link in LINK.findall(chinese) if not (page.parent / link).exists()]
    assert missing == []
