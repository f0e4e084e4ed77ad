"""A host program that holds kernels: its jobs and their outcomes."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.package.node_view import TensorFacts
from atc_py.text import Text

_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Job:
    """One launch of a kernel on the host."""

    kernel: str
    row: int  # the row of its tiling table
    cores: int  # cores that are launched
    workspace: int  # bytes of workspace
    inputs: tuple[NDArray[Any], ...]  # those that are there
    outputs: tuple[TensorFacts, ...]  # types of the results


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Outcome of a job."""

    # what the kernel wrote; empty where it stopped at a fault
    results: tuple[NDArray[Any], ...] = ()
    faults: tuple[str, ...] = ()  # accesses that the hardware does not allow, with file and line


def run_jobs(program: Path, jobs: Sequence[Job], folder: Path) -> list[JobOutcome]:
    """Run jobs one after the other in one process; `folder`, which exists, is for operands.

    A job that stops the process is one with a fault; the jobs after it run in another process.
    """
    outcomes: list[JobOutcome] = []
    while len(outcomes) < len(jobs):
        outcomes += _run(program, jobs[len(outcomes) :], folder)
    return outcomes


def _run(program: Path, jobs: Sequence[Job], folder: Path) -> list[JobOutcome]:
    """The outcomes of jobs up to the first that stops the process; at least one."""
    lines: list[str] = []
    for number, job in enumerate(jobs):
        lines.append(f"job {job.kernel} {job.row} {job.cores} {job.workspace}")
        for at, array in enumerate(job.inputs):
            path = folder / f"{program.name}-{number}-in{at}"
            path.write_bytes(array.tobytes())
            lines.append(f"in {path}")
        for at, facts in enumerate(job.outputs):
            lines.append(f"out {facts.nbytes} {folder / f'{program.name}-{number}-out{at}'}")
    listed = folder / f"{program.name}.jobs"
    listed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        done = subprocess.run(  # noqa: S603  (built by the compiler before)
            [program, listed], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode(errors="replace")
        return _read_outcomes(
            program, jobs, folder, said, Text("it ran for more than {seconds} s", seconds=_SECONDS)
        )
    ended = Text("it ended the program with status {returncode}", returncode=done.returncode)
    fault = next((line for line in done.stderr.splitlines() if "rror" in line), ended)
    return _read_outcomes(program, jobs, folder, done.stdout, fault.strip())


def _read_outcomes(
    program: Path, jobs: Sequence[Job], folder: Path, said: str, stopped: str
) -> list[JobOutcome]:
    faults: dict[int, list[str]] = {}
    finished: set[int] = set()
    for line in said.splitlines():
        word, _, rest = line.partition(" ")
        number, _, text = rest.partition(" ")
        if word == "done":
            finished.add(int(number))
        elif word == "fault":
            faults.setdefault(int(number), []).append(text)
    outcomes = []
    for at, job in enumerate(jobs):
        if at in finished:
            outcomes.append(JobOutcome(_results(program, at, job, folder)))
        elif at in faults:
            outcomes.append(JobOutcome(faults=tuple(faults[at])))
        else:
            # It stopped the program; those after it have no outcome yet.
            outcomes.append(JobOutcome(faults=(stopped,)))
            break
    return outcomes


def _results(program: Path, number: int, job: Job, folder: Path) -> tuple[NDArray[Any], ...]:
    return tuple(
        np.fromfile(folder / f"{program.name}-{number}-out{at}", facts.dtype.numpy)
        for at, facts in enumerate(job.outputs)
    )
