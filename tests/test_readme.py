"""The README's blocks run as printed, in the order in which they stand, in one fresh folder."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from atc_py.spec.library import library
from atc_py.spec.lists import operator_lists
from tests.example_shell import printed, ran, working_in

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
ROW = re.compile(r"^\| `(atc-py [^`]+)` \| [^|]+ \| `([^`]+)` \|$", re.MULTILINE)
BLOCK = re.compile(r"^```(?P<kind>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the line of each command of a console block, and the output that the page shows."""
    assert text.startswith("$ ")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The one folder of all commands, which take a line of any length."""
    with working_in(tmp_path, "en"):
        monkeypatch.delenv("COLUMNS")
        yield tmp_path


def test_blocks_run_and_print_what_the_readme_shows(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = tmp_path_factory.mktemp("scripts") / "block.py"
    kinds = []
    for block in BLOCK.finditer(README.read_text(encoding="utf-8")):
        kinds.append(block["kind"])
        if block["kind"] == "console":
            for line, shown in commands(block["text"]):
                status, text = ran(line)
                if shown:
                    assert_shown(text, shown, line)
                else:
                    assert status == 0, (line, text)
        elif block["kind"] == "python":
            script.write_text(block["text"], encoding="utf-8")
            status, text = ran(f"python {shlex.quote(str(script))}")
            assert status == 0, (block["text"], text)
        else:
            assert block["kind"] == "sh"
            assert_targets_are_made(block["text"])
    assert kinds.count("sh") == 1
    assert kinds.count("python") == 4
    assert kinds.count("console") >= 7
    scores = np.load(folder / "results" / "scores.npy")
    assert scores.shape == (1, 4)
    rows = ROW.findall(README.read_text(encoding="utf-8"))
    assert len(rows) > 10
    for line, shown in rows:
        assert shown in printed(line), line


def assert_shown(printed: str, shown: str, line: str) -> None:
    """Compare output with what the page shows; a line `...` there is any number of lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    pattern = "(?:.*\n)*?".join(parts)
    assert re.fullmatch(pattern, printed), f"{line}\n{printed}"


def test_readme_is_short_and_its_first_screen_has_a_picture() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250
    pictures = [line for line in lines if line.startswith("![")]
    for line in pictures:
        picture = re.fullmatch(r"!\[.+\]\((.+)\)", line)
        assert picture
        assert (ROOT / picture[1]).is_file()
    assert lines.index(pictures[0]) < 12


def assert_targets_are_made(text: str) -> None:
    """Run a block of `make` in the checkout; make tells what it would do and does nothing.

    One target runs these tests, another takes minutes.
    """
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": "n"},
    )
    assert done.returncode == 0, done.stdout
    for part in ("docs/demo.py", "-m pytest"):
        assert part in done.stdout


def test_share_of_estimates_is_that_of_the_page_on_boards() -> None:
    page = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    row = re.search(
        r"^\| Ascend310P3 \| \d+ \| (\d+) \| \S+ \| \S+ \| (\d+)% \|", page, re.MULTILINE
    )
    assert row
    share = f"{row[2]} % of {row[1]} figures of Ascend310P3 within 1.3x"
    assert share in README.read_text(encoding="utf-8")


def test_limits_name_the_lists_as_they_are() -> None:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    first, newest = (len(library(each.name).all()) for each in operator_lists())
    assert f"the early one of {first} operators" in text
    assert f"that of CANN 9.0, {newest} operators" in text
