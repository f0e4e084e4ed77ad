"""Completion in bash, zsh and fish: the scripts are printed, and bash's completes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result

Atc = Callable[..., Result]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a PATH with the command under test as `atc-py`."""
    program = tmp_path / "bin" / "atc-py"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m atc_py "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def completed(path: str, *words: str, shell: str = "zsh") -> str:
    """Return what the command answers to a shell's script for the last of `words`."""
    settings = {
        "_ATC_PY_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1],
    }
    done = subprocess.run(
        [sys.executable, "-m", "atc_py"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": path, "PYTHONPATH": str(ROOT), **settings},
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "text"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef atc-py"), ("fish", "--command atc-py")],
)
def test_script_is_printed(atc: Atc, shell: str, text: str) -> None:
    done = atc("completion", shell)
    assert (done.status, done.err) == (0, "")
    assert text in done.out
    assert f"_ATC_PY_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_other_shells_are_refused(atc: Atc, words: tuple[str, ...]) -> None:
    done = atc("completion", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[ATC1001 bad-option-value]")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_commands_options_and_values_are_completed(path: str, shell: str) -> None:
    assert "convert" in completed(path, "atc-py", "conv", shell=shell)
    assert "--input-shape" in completed(path, "atc-py", "convert", "--input-s", shell=shell)
    assert "force_fp16" in completed(path, "atc-py", "check", "--precision-mode", "f", shell=shell)
    assert "show" in completed(path, "atc-py", "ops", "sh", shell=shell)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("convert", "--soc", "ascend310p"), "Ascend310P3"),
        (("sweep", "--soc", "sim,Ascend910B"), "sim,Ascend910B4"),
        (("check", "--list", "cann"), "cann-9.0"),
        (("sweep", "--precision-mode", "must"), "must_keep_origin_dtype"),
        (("fix", "--only", "win"), "window-1d"),
        (("explain", "ATC200"), "ATC2001"),
        (("explain", "e1005"), "E10054"),
        (("convert", "--disable-pass", "fuse-req"), "fuse-requant"),
        (("config", "ch"), "check"),
        (("ops", "show", "Conv"), "ConvTranspose"),
    ],
)
def test_names_of_the_package_are_completed(path: str, words: tuple[str, ...], name: str) -> None:
    assert name in completed(path, "atc-py", *words)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_script_of_bash_completes(path: str) -> None:
    script = """
        complete() { :; }
        eval "$(atc-py completion bash)"
        COMP_WORDS=(atc-py convert --out-n) COMP_CWORD=2
        _atc_py_completion atc-py
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": path, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("--out-nodes\n", "")


def test_names_of_commands_are_completed_without_importing_them(path: str) -> None:
    settings = {"_ATC_PY_COMPLETE": "zsh_complete", "COMP_WORDS": "atc-py c", "COMP_CWORD": "1"}
    code = (
        "import sys\nfrom atc_py.cli.start import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', 'numpy' in sys.modules, 'atc_py.cli.convert' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": path, "PYTHONPATH": str(ROOT), **settings},
    )
    assert "LOADED False False" in done.stdout
    assert "convert" in done.stdout
