"""The README's blocks run as printed, in the order in which they stand, in one fresh folder."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from atc_py.spec.library import library
from atc_py.spec.lists import operator_lists

Shell = Callable[[str], subprocess.CompletedProcess[str]]

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
def shell(tmp_path: Path) -> Shell:
    """Return what runs a command line as a reader's shell does: both streams together, in one folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "work").mkdir()
    for name, module in (("python", ""), ("atc-py", "-m atc_py")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        program.chmod(0o755)
    settings = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=tmp_path / "work",
            env={**os.environ, **settings},
        )

    return run


def test_blocks_run_and_print_what_the_readme_shows(shell: Shell, tmp_path: Path) -> None:
    kinds = []
    for position, block in enumerate(BLOCK.finditer(README.read_text(encoding="utf-8"))):
        kinds.append(block["kind"])
        if block["kind"] == "console":
            for line, shown in commands(block["text"]):
                done = shell(line)
                if shown:
                    assert_shown(done.stdout, shown, line)
                else:
                    assert done.returncode == 0, (line, done.stdout)
        elif block["kind"] == "python":
            script = tmp_path / f"block{position}.py"
            script.write_text(block["text"], encoding="utf-8")
            done = shell(f"python {shlex.quote(str(script))}")
            assert done.returncode == 0, (block["text"], done.stdout)
        else:
            assert block["kind"] == "sh"
            assert_targets_are_made(block["text"])
    assert kinds.count("sh") == 1
    assert kinds.count("python") == 4
    assert kinds.count("console") >= 7
    scores = np.load(tmp_path / "work" / "results" / "scores.npy")
    assert scores.shape == (1, 4)
    rows = ROW.findall(README.read_text(encoding="utf-8"))
    assert len(rows) > 10
    for line, shown in rows:
        assert shown in shell(line).stdout, line


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


def test_limits_name_the_lists_as_they_are() -> None:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    first, newest = (len(library(each.name).all()) for each in operator_lists())
    assert f"the early one of {first} operators" in text
    assert f"that of CANN 9.0, {newest} operators" in text
