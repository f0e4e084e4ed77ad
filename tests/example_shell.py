"""A shell for the examples of `explain` and of pages: atc-py and Python run in this process, which is fast.

Everything else, such as `head -c 100 a > b`, goes to the system's shell.
"""

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

from atc_py.cli.main import main
from atc_py.compare.kernels.toolchain import Compiler
from atc_py.text.language import speak

ROOT = Path(__file__).resolve().parent.parent

_BUILD, _FOLDER = Compiler.build, "{folder}"

_SETTING = re.compile(r"[A-Z_]+=\S*")


_built: dict[tuple[str, ...], tuple[str | None, bytes]] = {}


def _build_once(self: Compiler, folder: Path, *how: Any) -> str | None:
    """Build a program of kernels, or copy the one that was built of the same files."""
    sources = sorted(path for path in folder.rglob("*") if path.suffix in {".cpp", ".h"})
    key = (repr(self), repr(how), *(path.read_text(encoding="utf-8") for path in sources))
    program = folder / how[-1]
    if key not in _built:
        message = _BUILD(self, folder, *how)
        said = None if message is None else message.replace(str(folder), _FOLDER)
        _built[key] = said, b"" if message else program.read_bytes()
    said, data = _built[key]
    if said is not None:
        return said.replace(_FOLDER, str(folder))
    program.write_bytes(data)
    program.chmod(0o755)
    return None


@contextmanager
def working_in(folder: Path, language: str) -> Iterator[None]:
    """Let commands run in a folder and speak a language in the block."""
    before = Path.cwd()
    values = {
        "ATC_PY_LANG": language,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
    }
    with mock.patch.dict(os.environ, values), mock.patch.object(Compiler, "build", _build_once):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            speak("en")


def printed(line: str) -> str:
    """Run a command line and return what it prints on both streams."""
    return ran(line)[1]


def ran(line: str) -> tuple[int, str]:
    """Run a command line; its status, and what it prints on both streams."""
    command, _, rest = line.partition(" | ")
    words = shlex.split(command)
    settings = {}
    while _SETTING.fullmatch(words[0]):
        name, _, settings[name] = words.pop(0).partition("=")
    if words[0] not in {"atc-py", "python"}:
        done = subprocess.run(
            ["/bin/bash", "-c", line],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.returncode, done.stdout
    # A program under `exec` and atc-py itself print at once.
    apart = bool(rest) or words[:2] == ["atc-py", "exec"]
    with mock.patch.dict(os.environ, settings), _captured(apart=apart) as output:
        status = _run_here(words)
    if rest:
        filter_, option, count = shlex.split(rest)
        assert (filter_, option) == ("head", "-n"), line
        output[0] = "".join(output[0].splitlines(keepends=True)[: int(count)])
    return status, "".join(output)


def _run_here(words: list[str]) -> int:
    """Run `atc-py` or `python` in this process; its exit status."""
    program, *args = words
    try:
        if program == "atc-py":
            main(args)
        elif args[0] == "-c":
            exec(compile(args[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        elif args[0] == "-m":
            with mock.patch.object(sys, "argv", args[1:]), _warnings_shown():
                runpy.run_module(args[1], run_name="__main__", alter_sys=True)
        else:
            with mock.patch.object(sys, "argv", args), _warnings_shown():
                runpy.run_path(args[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:  # noqa: BLE001  (a program's own ends it, as it would end Python)
        last = "".join(traceback.format_exception_only(error))
        sys.stderr.write(f"Traceback (most recent call last):\n  ...\n{last}")
        return 1
    return 0


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Let warnings in the block be printed as Python prints those of a program."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        (file or sys.stderr).write(text)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@contextmanager
def _captured(*, apart: bool) -> Iterator[list[str]]:
    """Give what this process and its children print in the block, once it has ended.

    Args:
        apart: two texts, for standard output and standard error; otherwise both in one.
    """
    found: list[str] = []
    kept = [os.dup(each) for each in (1, 2)]
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(1 + apart)]
        streams = [io.TextIOWrapper(file, encoding="utf-8", write_through=True) for file in files]
        for each in (1, 2):
            os.dup2(files[min(each, len(files)) - 1].fileno(), each)
        try:
            with redirect_stdout(streams[0]), redirect_stderr(streams[-1]):
                yield found
        finally:
            for each, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, each)
                os.close(copy)
            for file, stream in zip(files, streams, strict=True):
                stream.detach()
                file.seek(0)
                found.append(file.read().decode())
