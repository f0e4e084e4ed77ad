"""Kernels built for the host, run on random data, and compared with the simulator."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.program import Program, Step
from atc_py.emit.writing import write_kernels
from atc_py.kernels.agreement import agreement
from atc_py.kernels.expected import expected_of
from atc_py.kernels.index import KernelEntry, check_fit
from atc_py.kernels.listing import KernelList, index_place, kernel_texts, read_kernels
from atc_py.kernels.program import Job, JobOutcome, run_jobs
from atc_py.kernels.samples import SampledLaunch, case_of
from atc_py.kernels.storing import packed_inputs, stored_outputs, unpacked_result
from atc_py.kernels.written import as_written
from atc_py.package.reader import OfflineModel
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.kernels.toolchain import Compiler


_BATCH = 12
"""Kernels built together: enough to share the headers' cost, few enough for several cores."""


class Verdict(Enum):
    """Verdict on one kernel for one set of shapes."""

    EQUAL = "equal"
    CLOSE = "close"
    SKELETON = "skeleton"
    SKIPPED = "skipped"
    DIFFERS = "differs"
    FAULT = "fault"
    NOT_BUILT = "not built"

    @property
    def is_wrong(self) -> bool:
        """True if it makes the command fail."""
        return self in {Verdict.DIFFERS, Verdict.FAULT, Verdict.NOT_BUILT}


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """One kernel on one set of shapes.

    Attributes:
        kernel: its entry in the list of kernels.
        row: number of the row of its tiling table.
        verdict: the outcome.
        ulps: the largest difference in units in the last place of float16.
        text: why it is not right, or not run.
    """

    kernel: KernelEntry
    row: int
    verdict: Verdict
    ulps: float = 0.0
    text: str = ""


def verify_kernels(
    model: OfflineModel,
    compiler: Compiler,
    seed: int = 0,
    on_done: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[KernelVerdict]:
    """Build the model's kernels, run the complete ones, and compare; in the list's order.

    Args:
        model: an offline model.
        compiler: builds them.
        seed: of the random data.
        on_done: called with the number of kernels done and the number of all.

    Raises:
        AtcError: the model makes no sense to the simulator, or its list of kernels is not there
            or does not fit the model.
    """
    listed = read_kernels(model)
    program = build_program(as_written(model), merged=False)
    nodes = {step.node.name: (len(step.inputs), len(step.outputs)) for step in program.steps}
    check_fit(listed.kernels, nodes, index_place(model))
    with work_folder() as folder:
        write_kernels(kernel_texts(model), folder)
        batches = [
            listed.kernels[start : start + _BATCH]
            for start in range(0, len(listed.kernels), _BATCH)
        ]
        work = _Work(listed, program, compiler, folder, seed)
        done: list[KernelVerdict] = []
        with ThreadPoolExecutor(cpu_count()) as pool:
            counted = 0
            for batch, checked in zip(
                batches, pool.map(work.batch, range(len(batches)), batches), strict=True
            ):
                done += checked
                counted += len(batch)
                on_done(counted, len(listed.kernels))
    return done


@dataclass(frozen=True, slots=True)
class _Work:
    """Inputs that every batch needs."""

    listed: KernelList
    program: Program
    compiler: Compiler
    folder: Path
    seed: int

    def batch(self, number: int, kernels: Sequence[KernelEntry]) -> list[KernelVerdict]:
        """Build and run some kernels; where they do not build together, one by one."""
        name = f"batch{number}"
        refused = self.compiler.build(self.folder, kernels, self.listed.buffers, name)
        if refused is None:
            return self._run(kernels, self.folder / name)
        if len(kernels) == 1:
            text = refused.replace(f"{self.folder}/", "")
            return [KernelVerdict(kernels[0], 0, Verdict.NOT_BUILT, text=text)]
        return [
            checked
            for at, kernel in enumerate(kernels)
            for checked in self.batch(1000 * (number + 1) + at, [kernel])
        ]

    def _run(self, kernels: Sequence[KernelEntry], program: Path) -> list[KernelVerdict]:
        """Run the kernels of one program that can run."""
        steps = {step.node.name: step for step in self.program.steps}
        rows = [(kernel, at, row) for kernel in kernels for at, row in enumerate(kernel["rows"])]
        first = [
            [steps[name] for name in row["nodes"][: 1 + len(kernel["links"])]]
            for kernel, _, row in rows
        ]
        fixed = self.program.constants
        left = [_left_out(row[0], nodes[0], fixed) for row, nodes in zip(rows, first, strict=True)]
        cases = [
            None if out else case_of(kernel, nodes, self.program.constants, self.seed)
            for out, nodes, (kernel, _, _) in zip(left, first, rows, strict=True)
        ]
        jobs = [
            Job(
                kernel["name"], at, row["cores"], row["workspace_bytes"],
                packed_inputs(kernel, case.inputs), stored_outputs(kernel, case.outputs),
            )
            for case, (kernel, at, row) in zip(cases, rows, strict=True)
            if case is not None
        ]  # fmt: skip
        outcomes = iter(run_jobs(program, jobs, self.folder))
        checked = []
        for out, case, (kernel, at, _) in zip(left, cases, rows, strict=True):
            if case is None:
                verdict = Verdict.SKELETON if out == "skeleton" else Verdict.SKIPPED
                checked.append(KernelVerdict(kernel, at, verdict, text=out))
            else:
                checked.append(_compare_results(kernel, at, next(outcomes), case))
        return checked


def _left_out(kernel: KernelEntry, step: Step, fixed: Container[int]) -> str:
    """Return why a kernel is not run on a set of shapes; empty if it is run.

    Results whose dims follow from data are known where all data are constants, numbers of `fixed`.
    """
    if not kernel["complete"]:
        return "skeleton"
    sized_by_data = step.kernel.results is not None and not all(
        each in fixed for each in step.inputs
    )
    return "only the run knows all its shapes" if step.is_late or sized_by_data else ""


def _compare_results(
    kernel: KernelEntry, row: int, outcome: JobOutcome, case: SampledLaunch
) -> KernelVerdict:
    """Return the comparison of a kernel's results with the simulator's."""
    if outcome.faults:
        return KernelVerdict(kernel, row, Verdict.FAULT, text=outcome.faults[0])
    exact = all(part.numbers == "exact" for part in case.parts)
    expected, noise = expected_of(case)
    ulps, differing = 0.0, 0
    for port, stored, facts, wanted, off in zip(
        kernel["outputs"], outcome.results, case.outputs, expected, noise, strict=True
    ):
        found, stray = unpacked_result(kernel, port, stored, facts)
        if stray:
            text = Text(
                "{stray} elements of the padding of {port} are not zero",
                stray=stray,
                port=port["name"],
            )
            return KernelVerdict(kernel, row, Verdict.DIFFERS, text=text)
        found_agreement = agreement(found, wanted, off)
        differing += found_agreement.differing
        ulps = max(ulps, found_agreement.ulps)
        if not found_agreement.holds(exact=exact):
            at = found_agreement.first or 0
            text = Text(
                "{port}[{at}] is {reshape}, the simulator has {reshape_2}; {differing} "
                "of {size} differ",
                port=port["name"],
                at=at,
                reshape=found.reshape(-1)[at],
                reshape_2=wanted.reshape(-1)[at],
                differing=found_agreement.differing,
                size=wanted.size,
            )
            return KernelVerdict(kernel, row, Verdict.DIFFERS, ulps, text)
    return KernelVerdict(kernel, row, Verdict.CLOSE if differing else Verdict.EQUAL, ulps)
