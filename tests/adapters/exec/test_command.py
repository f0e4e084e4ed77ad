"""The command line of `exec`: what is refused before the program starts, and what is the program's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.exec.conftest import command, environment


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run `exec` with these words."""
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(),
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        ((), 2, "ATC1001"),
        (("--",), 2, "ATC1001"),
        (("--soc", "Ascend999", "--", "true"), 2, "ATC1003"),
        (
            ("--soc", "Ascend310P3", "--precision-mode", "allow_mix_precision_bf16", "true"),
            2,
            "ATC1021",
        ),
        (("--list", "none", "--", "true"), 2, "ATC1"),
        (("--device", "none", "--", "true"), 2, "ATC7001"),
        (("--keep", "0", "--", "true"), 2, "ATC1001"),
        (("--disable-pass", "none", "--", "true"), 2, "ATC1004"),
        (("--only", "none", "--", "true"), 2, "ATC1001"),
        (("--fix", "--only", "none", "--", "true"), 2, "ATC1001"),
        (("--max-memory", "much", "--", "true"), 2, "ATC1001"),
        (("--shadow-return", "onnxruntime", "--", "true"), 2, "ATC1001"),
        (("--keep-dtype", "gone.txt", "--", "true"), 3, "ATC2001"),
        (("--op-specs", "gone", "--", "true"), 3, "ATC2001"),
        (("--report", "report", "--", "true"), 2, "ATC1001"),
        (("--report", "report.txt", "--", "true"), 2, "ATC1001"),
        (("--report", "-", "--", "true"), 2, "ATC1001"),
        (("--report", "gone/report.json", "--", "true"), 3, "ATC2007"),
        (("--report", "r.json", "--report", "r.json", "--", "true"), 2, "ATC1001"),
        (("--precision-mode", "force_fp16", "--precision-mode-v2", "fp16", "true"), 2, "ATC1020"),
        (("--", "no-such-program"), 2, "ATC7060"),
        (("--", "."), 2, "ATC7060"),
    ],
)
def test_wrong_call_is_refused_before_the_program_starts(
    tmp_path: Path, words: tuple[str, ...], status: int, code: str
) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert f"error[{code}" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dashes", [(), ("--",)])
def test_arguments_after_the_program_are_its_own(tmp_path: Path, dashes: tuple[str, ...]) -> None:
    given = ["--json", "--soc", "none", "--", "-h", ""]
    lines = "import sys, json; print(json.dumps(sys.argv[1:]))"
    done = run(tmp_path, *dashes, sys.executable, "-c", lines, *given)
    assert json.loads(done.stdout) == given


def test_json_among_the_arguments_of_the_program_changes_no_message(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "no-such-program", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "error[ATC7060 program-not-started]: cannot start 'no-such-program': No such file"
        in done.stderr
    )


def test_reports_are_written_where_the_command_was_called(tmp_path: Path) -> None:
    lines = "import os; os.chdir('/')"
    done = run(
        tmp_path, "--report", "r.json", "--report", "R.HTML", "--", sys.executable, "-c", lines
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["models"] == []
    assert (tmp_path / "R.HTML").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
