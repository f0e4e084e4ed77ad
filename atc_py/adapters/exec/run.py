"""`run_program`: a program with its sessions on the simulated NPU, and the record of it."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atc_py import __version__
from atc_py.adapters.exec.gather import gather_models, gather_processes, read_processes
from atc_py.adapters.exec.interpreter import (
    defeating_flags,
    library_folders,
    library_needs,
    python_tag,
)
from atc_py.adapters.exec.launch import Notice, launch
from atc_py.adapters.exec.settings import ExecSettings, write_settings
from atc_py.diag import (
    NO_ONNXRUNTIME_IN_PROGRAM,
    NO_SESSION_SEEN,
    PROGRAM_LACKS_LIBRARIES,
    Diagnostic,
)
from atc_py.results.program_run import VERSION, ProgramModel, ProgramRun
from atc_py.system.temp_folders import remove_left_folders, work_folder
from atc_py.text import COLON, Text


def run_program(
    command: Sequence[str],
    session: Mapping[str, Any],
    on_notice: Callable[[Notice], None],
    **choice: Any,
) -> ProgramRun:
    """Run a program with its onnxruntime sessions on the simulated NPU.

    Args:
        command: the program and its arguments.
        session: keywords of each simulated session.
        on_notice: called with what processes want said at once.
        **choice: strict, shadow, returned and max_memory of `ExecSettings`.

    Raises:
        AtcError: PROGRAM_NOT_STARTED; CANNOT_WRITE where there is no room for the records.
    """
    settings = ExecSettings(
        launcher=os.getpid(),
        session=dict(session),
        python=python_tag(),
        libraries=library_folders(),
        needs=library_needs(),
        **choice,
    )
    with _run_folder() as run:
        write_settings(run, settings)
        start = time.monotonic()
        status = launch(command, run, on_notice)
        seconds = time.monotonic() - start
        records = read_processes(run)
        models = gather_models(records)
        found = [each.as_json() for each in _findings(command, run, models)]
    return ProgramRun(
        version=VERSION,
        tool=f"atc-py {__version__}",
        command=list(command),
        status=status,
        seconds=seconds,
        options={**session, **{name: value for name, value in choice.items() if value}},
        models=models,
        processes=gather_processes(records),
        diagnostics=found,
    )


@contextmanager
def _run_folder() -> Iterator[Path]:
    """Make the folder of a run, and remove it, also while a process that is left writes to it."""
    with work_folder() as folder:
        run = folder / "run"
        run.mkdir()
        try:
            yield run
        finally:
            run.rename(folder / "ended")
            remove_left_folders()  # of processes that were ended in a compilation


def _findings(
    command: Sequence[str], run: Path, models: Sequence[ProgramModel]
) -> Iterator[Diagnostic]:
    unloaded = _lines(run / "unloaded")
    for line in unloaded:
        who, kind, template, *values = line.split("\t")
        why = Text(template).with_values(**dict(zip(("folder",), values, strict=False)))
        text = Text("{who} cannot load atc-py: {why}")
        yield PROGRAM_LACKS_LIBRARIES.diagnostic(text.with_values(who=who, why=kind + COLON + why))
    old = (run / "old-python").exists()
    if old:
        version = "".join(_lines(run / "old-python"))
        yield PROGRAM_LACKS_LIBRARIES.diagnostic(
            Text(
                "the program runs in Python {version}; atc-py needs Python 3.10 or later",
                version=version,
            )
        )
    if not models and not unloaded and not old:
        yield from _no_session(command, run)


def _no_session(command: Sequence[str], run: Path) -> Iterator[Diagnostic]:
    """Yield why no session was seen, as far as it shows."""
    flags = defeating_flags(command)
    if (run / "missing").exists() and not (run / "imported").exists():
        yield NO_ONNXRUNTIME_IN_PROGRAM.diagnostic(
            Text("the program imports onnxruntime, which its environment does not have"),
            help=Text("install it there: `pip install 'atc-py[ort]'`, or onnxruntime alone"),
        )
    elif flags:
        yield NO_SESSION_SEEN.diagnostic(
            Text(
                "no onnxruntime session was seen: {command} runs with {flags}, which keeps the "
                "hook from loading",
                command=command[0],
                flags=", ".join(flags),
            ),
            help=Text("leave {flags} out", flags=", ".join(flags)),
        )
    elif not (run / "hooked").exists():
        yield NO_SESSION_SEEN.diagnostic(
            Text(
                "no onnxruntime session was seen: {command} started no Python that atc-py "
                "could hook",
                command=command[0],
            )
        )
    else:
        what = (
            Text("created no session")
            if (run / "imported").exists()
            else Text("did not import onnxruntime")
        )
        yield NO_SESSION_SEEN.diagnostic(
            Text("no onnxruntime session was seen: the program {what}", what=what)
        )


def _lines(file: Path) -> list[str]:
    """The lines of a file of the run, each once; none where it is not there."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return list(dict.fromkeys(text.splitlines()))
