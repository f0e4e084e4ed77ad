"""The page on architecture: every package has a row, every row its level, every path exists."""

import re
from pathlib import Path

from tests.test_layers import LEVELS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def rows() -> dict[str, int]:
    """Return the row of each package as the page states it."""
    found = re.findall(r"^\| (\d+) \| `atc_py/(\w+)(?:\.py)?` \|", PAGE, re.MULTILINE)
    return {name: int(row) for row, name in found}


def test_rows_are_the_layers() -> None:
    entries = {"__init__", "__main__"}
    assert rows() == {name: level for name, level in LEVELS.items() if name not in entries}


def test_paths_exist() -> None:
    paths = re.findall(r"`((?:atc_py|tests|op_specs|templates)/[\w./]*)`", PAGE)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", PAGE, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
