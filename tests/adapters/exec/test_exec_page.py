"""The example of docs/exec.md prints what the page shows, but for times and folders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.adapters.exec.conftest import ROOT, command, environment

PAGE = (ROOT / "docs" / "exec.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    """Return the first block of a kind in the example, which follows the page's opening."""
    example = PAGE.partition("\n## An example\n")[2]
    found = re.search(rf"^```{kind}\n(.*?)^```", example, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def bare(text: str) -> list[str]:
    """Return lines without times, and without blanks that depend on their width."""
    timeless = re.sub(r"[\d.]+ m?s\b", "TIME", text)
    return sorted(" ".join(line.split()) for line in timeless.splitlines())


def test_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "evaluate.py").write_text(block("python"), encoding="utf-8")
    line, _, shown = block("console").partition("\n")
    words = line.removeprefix("$ atc-py exec ").replace("-- python ", f"-- {sys.executable} ")
    done = subprocess.run(
        command(*words.split()),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert bare(done.stdout.replace(f"{tmp_path}/", "")) == bare(shown)
    assert (tmp_path / "exec.html").stat().st_size > (tmp_path / "exec.json").stat().st_size > 1000
