"""Kernels built for the host, run on random data, and compared with the simulator."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.compare.kernels.agreement import agreement
from atc_py.compare.kernels.expected import expected_of
from atc_py.compare.kernels.listing import (
    KernelEntry,
    KernelList,
    PortEntry,
    check_fit,
    index_place,
    kernel_texts,
    read_kernels,
)
from atc_py.compare.kernels.program import Job, JobOutcome, run_jobs
from atc_py.compare.kernels.samples import SampledLaunch, case_of
from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.program import Program, Step
from atc_py.diag import OM_CONTENT
from atc_py.kernels.kernels import write_kernels
from atc_py.package.node_view import TensorFacts
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel, OmNode
from atc_py.system.temp_folders import work_folder
from atc_py.target import find_operator
from atc_py.target.rows.parts import IMPL_MODE
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.shapes import closed_shape
from atc_py.tensor.storage import Storage, stored_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.compare.kernels.toolchain import Compiler


def packed_inputs(kernel: KernelEntry, arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Inputs as the kernel addresses them: in blocks or row by row."""
    stored = []
    for port, array in zip(kernel["inputs"], arrays, strict=True):
        origin, storage = _place(
            kernel, port, TensorFacts(DType.from_numpy(array.dtype), array.shape)
        )
        stored.append(array if storage is None else pack(array, origin, storage))
    return tuple(stored)


def stored_outputs(kernel: KernelEntry, outputs: Sequence[TensorFacts]) -> tuple[TensorFacts, ...]:
    """The arrays that a kernel writes, as it addresses them.

    Raises:
        AtcError: OM_CONTENT as for inputs.
    """
    types = []
    for port, facts in zip(kernel["outputs"], outputs, strict=True):
        origin, storage = _place(kernel, port, facts)
        shape = closed_shape(stored_shape(facts.shape, origin, storage, facts.dtype))
        types.append(TensorFacts(facts.dtype, shape))
    return tuple(types)


def unpacked_result(
    kernel: KernelEntry, port: PortEntry, stored: NDArray[Any], facts: TensorFacts
) -> tuple[NDArray[Any], int]:
    """A result of the type in `facts`, out of its storage, and how much of the padding is stray.

    Stray elements are not zero, though readers assume zeros.
    """
    origin, storage = _place(kernel, port, facts)
    if storage is None:
        return stored, 0
    array = unpack(stored, facts.shape, origin, storage)
    inside = pack(np.ones(facts.shape, stored.dtype), origin, storage).reshape(-1) != 0
    return array, int(np.count_nonzero(stored.reshape(-1)[~inside] != 0))


def _place(
    kernel: KernelEntry, port: PortEntry, facts: TensorFacts
) -> tuple[Format, Storage | None]:
    entry = port.get("storage")
    if entry is None or kernel.get("addresses") != "storage":
        return Format.ND, None
    try:
        origin = Format(port.get("format", ""))
        storage = Storage(Format(entry["format"]), entry["groups"], entry.get("c0", 0))
        stored_shape(facts.shape, origin, storage, facts.dtype)
    except ValueError as error:  # ImpossibleStorageError is one
        raise OM_CONTENT.error(
            Text(
                "{kernel} addresses {port} in a storage format that it cannot have: {error}",
                kernel=kernel["name"],
                port=port["name"],
                error=error,
            ),
            help=Text("convert the ONNX model again"),
        ) from error
    return origin, storage


@dataclass(frozen=True, slots=True)
class ModelAsWritten:
    """A model with the data of another one."""

    description: OmModel
    source: OfflineModel  # holds the constants

    def array(self, member: str) -> NDArray[Any]:
        return self.source.array(member)


def as_written(model: OfflineModel) -> ModelAsWritten:
    """`model` with the implementations that its kernels have.

    SoCs have kernels that round their steps, which the simulator follows. The stubs keep float32
    between steps, and are compared with the simulator's computing likewise.
    """
    nodes = [_as_written(node) for node in model.description.nodes]
    return ModelAsWritten(msgspec.structs.replace(model.description, nodes=nodes), model)


def _as_written(node: OmNode) -> OmNode:
    """A node without the steps that it rounds."""
    row = find_operator(node.op)
    rounds = row is not None and row.attribute(IMPL_MODE.name) is IMPL_MODE
    if not rounds or IMPL_MODE.name not in node.attributes:
        return node
    left = {name: value for name, value in node.attributes.items() if name != IMPL_MODE.name}
    return msgspec.structs.replace(node, attributes=left)


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
        return self in {Verdict.DIFFERS, Verdict.FAULT, Verdict.NOT_BUILT}


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """One kernel on one set of shapes."""

    kernel: KernelEntry  # its entry in the list of kernels
    row: int  # number of the row of its tiling table
    verdict: Verdict
    ulps: float = 0.0  # the largest difference in units in the last place of float16
    text: str = ""  # why it is not right, or not run


def verify_kernels(
    model: OfflineModel,
    compiler: Compiler,
    seed: int = 0,
    on_done: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[KernelVerdict]:
    """Build the model's kernels, run the complete ones, and compare; in the list's order.

    `on_done` gets the number of kernels done and that of all.
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
    """The reason why a kernel is not run on a set of shapes; empty if it is run.

    Results whose dims follow from data are known where all data are constants, numbers of `fixed`.
    """
    if not kernel["complete"]:
        return "skeleton"
    sized_by_data = step.kernel.results is not None and not all(
        tensor in fixed for tensor in step.inputs
    )
    return "some of its shapes are known only at run time" if step.is_late or sized_by_data else ""


def _compare_results(
    kernel: KernelEntry, row: int, outcome: JobOutcome, case: SampledLaunch
) -> KernelVerdict:
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
