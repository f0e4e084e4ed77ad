"""Terminals: severities in color, and progress of work of more than two seconds."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.check.findings import Standing
from atc_py.cli import progress as module
from atc_py.cli.console import _STYLES, colored, wants_color
from atc_py.cli.progress import _STAGES, Progress, shown_progress
from atc_py.diag import Severity
from atc_py.report.check.words import LEVELS
from atc_py.text.language import speaking
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"NO_COLOR", "FORCE_COLOR", "TERM"}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


def test_each_level_has_a_color() -> None:
    levels = [LEVELS[each] for each in Standing if each is not Standing.SUPPORTED]
    assert {each.en for each in levels} <= {each.en for each in _STYLES}
    assert {each.zh for each in levels} <= {each.zh for each in _STYLES}
    assert {each.value for each in Severity} <= set(_STYLES)


@pytest.mark.parametrize(
    ("settings", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_environment_decides_on_color(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], terminal: bool, wanted: bool
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert wants_color(Terminal() if terminal else io.StringIO()) == wanted


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "error[ATC1001 bad-option-value]"), ("zh", "错误[ATC4012 attr-out]")],
)
def test_head_of_a_finding_alone_is_colored(language: str, text: str) -> None:
    with speaking(language):
        assert colored(f"{text}: said\n  help: x", Terminal()) == (
            f"\x1b[1;31m{text}\x1b[0m: said\n  help: x"
        )
        assert colored(f"see {text}", Terminal()) == f"see {text}"


def test_forced_color_is_in_errors_and_findings_and_not_in_json(
    atc: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model()
    model.opset_import[0].version = 17
    onnx.save(model, "newer.onnx")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert atc("convert", "gone.onnx").err.startswith("\x1b[1;31merror[ATC2001 ")
    assert "\x1b[36mrewrite[ATC3007 " in atc("check", "newer.onnx", "-v").out
    assert "\x1b" not in atc("check", "newer.onnx", "--json").out
    assert "\x1b" not in atc("convert", "gone.onnx", "--json").out


def test_no_color_where_there_is_no_terminal(atc: Atc) -> None:
    assert atc("convert", "gone.onnx").err.startswith("error[ATC2001 ")


def test_stages_are_those_of_a_conversion(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "small.onnx")
    done = atc_py.convert(tmp_path / "small.onnx", tmp_path / "small.om")
    assert [each.name for each in done.stages] == list(_STAGES)


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("first", "then", "line"),
    [
        ("emit", "check", "stage 3 of 9: check"),
        ("emit", "export", "export"),
        (
            "0 of 40 kernels",
            "10 of 40 kernels",
            "[#####...............] 25 %, 1:30 left: 10 of 40 kernels",
        ),
        (
            "compare: 0 of 8 layers",
            "compare: 8 of 8 layers",
            "[####################] 100 %, 0:00 left: compare: 8 of 8 layers",
        ),
        (
            "gear 1 of 2: read",
            "gear 2 of 2: emit",
            "[##########..........] 50 %, 0:30 left: gear 2 of 2: emit",
        ),
        (
            "suggest: trial 1 of at most 60, 4 of 4 kept",
            "suggest: trial 31 of at most 60, 3 of 4 kept",
            "[##########..........] 50 %, at most 0:30 left: suggest: trial 31 of at most 60, 3 of 4 kept",
        ),
        ("compare", "0 of 0 kernels", "0 of 0 kernels"),
        ("compare", "0 of 9 kernels", "[....................] 0 %: 0 of 9 kernels"),
    ],
)
def test_line_has_share_and_time_left_where_known(first: str, then: str, line: str) -> None:
    clock = Clock()
    shown = Progress(clock)
    clock.now = 100.0  # what came before does not count
    shown(first)
    clock.now = 130.0
    shown(then)
    assert shown.line() == line


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with shown_progress() as shown:
        shown("emit")
    assert stream.getvalue() == ""


def test_long_work_shows_its_line_and_erases_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    with shown_progress() as shown:
        shown("emit")
        deadline = time.monotonic() + 10
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stream.getvalue().startswith("\r\x1b[Kstage 6 of 9: emit")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_error_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with pytest.raises(ValueError, match="broken"), shown_progress():
        raise ValueError("broken")
    assert stream.getvalue() in {"", "\r\x1b[Kstarting\r\x1b[K"}


def test_comparison_announces_its_layers(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "small.onnx")
    stages: list[str] = []
    atc_py.compare_model(tmp_path / "small.onnx", samples=2, on_stage=stages.append)
    counted = [each for each in stages if each.endswith(" layers")]
    assert len(counted) > 1
    found = [re.fullmatch(r"compare: (\d+) of (\d+) layers", each) for each in counted]
    assert [int(each[1]) for each in found if each] == list(range(1, len(counted) + 1))
    assert counted[-1] == f"compare: {len(counted)} of {len(counted)} layers"


def test_terminal_gets_colored_errors(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "atc_py", "convert", "gone.onnx"],
        stdout=follower,
        stderr=follower,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "TERM": "xterm"},
    )
    text = os.read(leader, 10000).decode()
    os.close(follower)
    os.close(leader)
    assert done.returncode == 3
    shown = text.rpartition("\r\x1b[K")[2]  # a slow start shows progress first, and takes it off
    assert shown.startswith("\x1b[1;31merror[ATC2001 file-not-found]\x1b[0m: ")
