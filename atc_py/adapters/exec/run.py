"""`run_program`: a program with its sessions on the simulated NPU, and the record of it."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atc_py import __version__
from atc_py.adapters.exec.gather import gather_models, gather_processes, read_processes
from atc_py.adapters.exec.launch import Notice, launch
from atc_py.adapters.exec.settings import ExecSettings, write_settings
from atc_py.diag import (
    NO_ONNXRUNTIME_IN_PROGRAM,
    NO_SESSION_SEEN,
    PROGRAM_LACKS_LIBRARIES,
    UNKNOWN_DEVICE,
    Diagnostic,
)
from atc_py.options.compile_options import DEFAULT_LIST, CompileOptions
from atc_py.options.option import parse_options
from atc_py.results.program_run import VERSION, ProgramModel, ProgramRun
from atc_py.system.memory_limit import parse_size
from atc_py.system.temp_folders import remove_left_folders, work_folder
from atc_py.text import COLON, Text

_PYTHON = re.compile(r"(python|pypy)[\d.]*w?(\.exe)?", re.IGNORECASE)
_DEFEATING = "IES"
"""Options that ignore PYTHONPATH, or leave out the module that imports sitecustomize."""

_WITH_VALUE = "WX"
_LAST = "cm"
"""Options after which come the program and its own arguments."""

_LIBRARIES = (
    "numpy", "google", "google.protobuf", "typing_extensions", "ml_dtypes", "onnx", "msgspec",
    "yaml", "threadpoolctl", "markupsafe", "jinja2",
)  # fmt: skip
"""Modules of other packages that atc_py imports in a process of the program."""

_IMPORTED = {"numpy", "ml_dtypes", "onnx", "msgspec", "pyyaml", "threadpoolctl", "jinja2"}
"""Their distributions that atc-py itself requires."""

_BUILT_IN = "sim"
_LEAST = re.compile(r"([\w-]+)\s*>=\s*([\d.]+)")


def require_sense(keywords: Mapping[str, Any], *, device: str, max_memory: str | None) -> None:
    """Refuse options that every session would refuse.

    Raises:
        AtcError: UNKNOWN_SOC, NO_BFLOAT16, BAD_OPTION, OPTIONS_EXCLUDE, UNKNOWN_PASS, BAD_SPEC,
            BAD_CONTROL_FILE, UNKNOWN_DEVICE, and errors of files.
    """
    from atc_py.target import find_soc

    options = parse_options("exec", CompileOptions, keywords)
    mode, precision = options.precision_mode, options.precision
    soc = find_soc(options.soc)
    _require_device(device)
    if max_memory is not None:
        parse_size(max_memory)
    # What is left out is sensible, and what it is compared with takes long to import.
    if mode.is_bfloat16:
        from atc_py.passes.precision.controls import check_soc

        check_soc(mode, soc)
    if options.op_specs is not None or precision.operator_list != DEFAULT_LIST:
        from atc_py.spec import specifications

        specifications(options.op_specs, precision.operator_list)
    if options.disable_pass:
        from atc_py.passes.pipeline import find_passes

        find_passes(keywords["disable_pass"])
    if options.fix is not None:
        from atc_py.fix.rule import check_rules

        check_rules(options.fix.only | options.fix.skip)
    if precision.given():
        from atc_py.passes.precision.control_files import find_controls
        from atc_py.passes.precision.controls import ModelNames

        find_controls(precision, mode, ModelNames({}, frozenset(), (), ()))


def _require_device(name: str) -> None:
    if name == _BUILT_IN:
        return
    from atc_py.device.registry import device_names

    known = device_names()
    if name not in known:
        raise UNKNOWN_DEVICE.error(
            Text("no device is called {name}", name=repr(name)),
            help=Text("installed are {known}", known=", ".join(known)),
        )


def run_program(
    command: Sequence[str],
    session: Mapping[str, Any],
    on_notice: Callable[[Notice], None],
    **choice: Any,
) -> ProgramRun:
    """Run a program with its onnxruntime sessions on the simulated NPU.

    `session` are the keywords of each session, `choice` is strict, shadow, returned and max_memory
    of `ExecSettings`; `on_notice` is called with what processes want said at once.

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


def defeating_flags(command: Sequence[str]) -> tuple[str, ...]:
    """The options of a Python command line that keep the hook out, such as `-I`."""
    if not command or not _PYTHON.fullmatch(Path(command[0]).name):
        return ()
    found: list[str] = []
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-") or word in {"-", "--"}:
            break
        if word.startswith("--"):
            continue
        for at, letter in enumerate(word[1:], start=1):
            if letter in _DEFEATING and f"-{letter}" not in found:
                found.append(f"-{letter}")
            if letter in _LAST:
                return tuple(found)
            if letter in _WITH_VALUE:
                if at == len(word) - 1:
                    next(words, None)
                break
    return tuple(found)


def python_tag() -> str:
    """This kind of Python, as the names of compiled modules state it."""
    return sys.implementation.cache_tag or ""


def library_folders() -> dict[str, str]:
    """The folders in which this Python finds the libraries, without importing them.

    The name of that which has the metadata of atc-py itself is empty.
    """
    found = {}
    for name in _LIBRARIES:
        spec = find_spec(name)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
        if places:
            found[name] = str(Path(places[0]).parent)
        elif spec is not None and spec.origin is not None:
            found[name] = str(Path(spec.origin).parent)
    with suppress(metadata.PackageNotFoundError):
        found[""] = str(metadata.distribution("atc-py").locate_file(""))
    return found


def library_needs() -> dict[str, str]:
    """The least version of each library that atc-py requires; nothing where it is not installed."""
    try:
        required = metadata.requires("atc-py") or []
    except metadata.PackageNotFoundError:
        return {}
    found = [_LEAST.match(each) for each in required if ";" not in each]
    return {each[1]: each[2] for each in found if each and each[1].lower() in _IMPORTED}
