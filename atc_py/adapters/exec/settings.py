"""Settings of a run, which the launcher leaves in the folder of the run for every process."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_FILE = "settings.json"

PROCESSES = "process-"
"""Start of the names of files with the record of a process."""

COUNTS = ".counts"
"""Suffix of the files with the counts of their runs."""

NOTICES = "notice-"
"""Start of the names of files with what a process wants said at once."""


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """Settings of a run."""

    launcher: int
    session: dict[str, Any]  # keywords of each simulated session
    # limit on the memory of compilations and runs, as --max-memory spells it
    max_memory: str | None = None
    strict: bool = False  # end the program where a model cannot be compiled
    shadow: bool = False  # run onnxruntime too, and compare
    returned: str = ""  # in shadow, whose results the program gets: npu or onnxruntime; else empty
    python: str = ""  # the launcher's kind of Python, as names of compiled modules state it
    # folders in which the launcher finds what atc_py imports, by top-level module
    libraries: dict[str, str] = field(default_factory=dict)
    # the least version of each distribution that atc_py needs
    needs: dict[str, str] = field(default_factory=dict)


def write_settings(run: Path, settings: ExecSettings) -> None:
    (run / _FILE).write_text(json.dumps(asdict(settings)), encoding="utf-8")


def read_settings(run: Path) -> ExecSettings:
    """The settings of the run.

    Raises:
        OSError: the run is over, and its folder removed.
    """
    return ExecSettings(**json.loads((run / _FILE).read_text(encoding="utf-8")))
