"""One model through `check`, `convert` and `run` in this process, and what became of it."""

import contextlib
import io
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from atc_py.cli.main import cli
from atc_py.diag import AtcError, ExitCode

FORMATS = ("json", "text", "html", "sarif", "junit", "csv")
MODES = ("force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype", "allow_mix_precision")

_CODE = re.compile(r"ATC\d{4}")
_OFFLINE = "ATC5"
"""What codes of offline models begin with; one that was just written gives none of them."""

_ALLOWED = {ExitCode.DONE, ExitCode.MODEL, ExitCode.USAGE, ExitCode.FILE, ExitCode.DEVICE}


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes:
        command: its name.
        status: its exit status; 70 where anything but a coded refusal came out of it.
        codes: the codes that it gave, each once.
        failure: the traceback, or what else must not be; "" for a result or a coded refusal.
    """

    command: str
    status: int
    codes: tuple[str, ...]
    failure: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a model: its commands in order, up to the first that refused it."""

    steps: tuple[Step, ...]

    @property
    def failure(self) -> str:
        """The fault that must not be, or ""."""
        return next((f"{each.command}: {each.failure}" for each in self.steps if each.failure), "")


def try_model(path: Path, number: int = 0) -> Outcome:
    """Check the file at `path`, convert it and run what comes of it.

    Args:
        path: an ONNX file, or what is meant to look like one; files are written beside it.
        number: chooses the format of the report and the precision mode.
    """
    form, mode = FORMATS[number % len(FORMATS)], MODES[number % len(MODES)]
    om = path.with_suffix(".om")
    om.unlink(missing_ok=True)
    options = ["--precision-mode", mode]
    checked = run_command("check", str(path), "--format", form, *options)
    converted = run_command("convert", str(path), "-o", str(om), *options)
    if converted.status or converted.failure:
        return Outcome((checked, converted))
    ran = run_command("run", str(om), "--random", "1")
    if any(code.startswith(_OFFLINE) for code in ran.codes):
        ran = replace(ran, failure=f"the model just written is refused: {', '.join(ran.codes)}")
    return Outcome((checked, converted, ran))


def run_command(*args: str) -> Step:
    """Return one command; its output is read for codes and thrown away."""
    command = args[0]
    try:
        with _captured() as output:
            status = cli.main(list(args), prog_name="atc-py", standalone_mode=False)
    except AtcError as error:
        codes = tuple(dict.fromkeys(each.code.id for each in error.diagnostics))
        fair = codes and error.exit_code in _ALLOWED
        return Step(command, int(error.exit_code), codes, "" if fair else traceback.format_exc())
    except click.ClickException as error:
        return Step(command, int(ExitCode.USAGE), (), error.format_message())
    except (Exception, SystemExit):  # noqa: BLE001  (what is looked for)
        return Step(command, int(ExitCode.BUG), (), traceback.format_exc())
    text = output.getvalue().decode("utf-8", "replace")
    codes = tuple(dict.fromkeys(_CODE.findall(text)))
    status = status if isinstance(status, int) else 0
    failure = "" if status in _ALLOWED else f"exit status {status}"
    if status and not codes:
        failure = f"exit status {status} without a code:\n{text[:2000]}"
    return Step(command, status, codes if status else (), failure)


@contextlib.contextmanager
def _captured() -> Iterator[io.BytesIO]:
    """Capture both streams, as bytes."""
    output = io.BytesIO()
    stream = io.TextIOWrapper(output, encoding="utf-8", write_through=True)
    kept = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = stream
    try:
        yield output
    finally:
        sys.stdout, sys.stderr = kept
        stream.detach()
