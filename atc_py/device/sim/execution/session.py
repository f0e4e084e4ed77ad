"""A model on the simulated device: runs its steps one after the other and times them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property, partial
from operator import is_not
from threading import Lock
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel, NodeProfile
from atc_py.device.sim.execution.launch import (
    Cost,
    bound,
    compute,
    failure_of,
    is_dead,
    missing_output,
    profile_of,
    read_feeds,
    results_in_run,
    typed_by_inputs,
)
from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.execution.program import Program, Step, settled
from atc_py.device.sim.kernel import Call, Launch, Pool, Workspace
from atc_py.device.sim.memory.memory_budget import MemoryBudget, passing_slots, slot_sizes
from atc_py.device.sim.numerics.rounding import carrier_dtype, from_carrier, is_rounded, to_carrier
from atc_py.diag import AtcError
from atc_py.package.read_ahead import release_pages
from atc_py.package.schema import OmModel
from atc_py.system.structs import replace

Values: TypeAlias = "dict[int, NDArray[Any] | None]"
"""Carriers by the position of their tensors; None for what is dead in this run."""

_CONVERTED_AT_ONCE = 256 * 1024
"""Elements of a constant below which its conversion is not worth sharing."""


class SimModel:
    """A loaded model with its memory, its constants as carriers, and its last run's profile.

    Memory for results and scratch is taken in the first run and kept for the next ones; runs of
    one model therefore take turns. Nodes of one scope are one launch unless `merged` is false: then
    `observe` sees the result of every node. Results are the same.

    Attributes:
        room: what its runs may take of the memory limit.
    """

    def __init__(self, model: LoadedModel, *, merged: bool = True) -> None:
        self.description: OmModel = model.description
        self._program = build_program(model, merged=merged)
        self._costs: list[Cost] = []
        self._running: list[Cost] = []
        self._calls: dict[int, tuple[Call, Launch | None]] = {}
        self._carriers: dict[int, NDArray[Any]] = {}
        self._slots: dict[int, NDArray[np.uint8]] = {}
        self._passing = passing_slots(self._program)
        self._passed = [_Passed(size) for size in slot_sizes(self._program, self._passing)]
        kept = _converted(self._program, self._passing)
        self._pool = Pool([*self._program.memory.slots, *kept])
        self._results: dict[int, NDArray[Any]] = {}
        self.room = MemoryBudget(self._program, self._passing)
        self._workspace = Workspace(self.room.scratch)
        self._lock = Lock()
        # Without gates nothing is ever dead, and runs of many small kernels feel the question.
        self._has_gates = any(step.kernel.gate is not None for step in self._program.steps)
        self._settled = settled(self._program, self._passing)
        self._ready: dict[int, tuple[Launch, list[int]]] = {}

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        observe: Callable[[int, NDArray[Any]], None] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """The outputs for `inputs`; see `DeviceBackend.run`.

        Args:
            inputs: arrays by name.
            observe: called with position and carrier of each result that is alive, as soon as it
                is there. The array is the observer's only during the call: its memory is used
                again. What the observer raises ends the run.
        """
        self.room.require_plan()
        feeds = read_feeds(self._program, inputs)
        with self._lock, self._workers.running():
            values: Values = dict(feeds)
            self._costs = self._launched(values, observe)
            return {
                name: self._output(name, tensor, values)
                for name, tensor in self._program.outputs.items()
            }

    @property
    def progress(self) -> tuple[int, int]:
        """Launches of the present run, or else of the last one, that have ended, and all of them."""
        return len(self._running), len(self._program.steps)

    @property
    def profile(self) -> tuple[NodeProfile, ...]:
        return profile_of(self._program.steps, self._costs)

    def _output(self, name: str, tensor: int, values: Values) -> NDArray[Any]:
        array = self._value(tensor, values)
        if array is None:
            raise missing_output(name)
        return from_carrier(array, self._program.tensors[tensor].dtype)

    @cached_property
    def _workers(self) -> Workers:
        return Workers()

    def close(self) -> None:
        if "_workers" in self.__dict__:
            self._workers.close()

    def _launched(
        self, values: Values, observe: Callable[[int, NDArray[Any]], None] | None
    ) -> list[Cost]:
        """Launch all steps and return what each of them cost.

        Steps that do the same in every run are launched right here: in networks of small kernels
        whatever is asked in between is felt.
        """
        self._running = costs = []
        ready = self._ready if observe is None else {}
        start = perf_counter()
        for step in self._program.steps:
            known = ready.get(step.index)
            if known is None:
                costs.append(self._observed(step, values, observe))
                start = perf_counter()
                continue
            try:
                known[0]()
            except AtcError:
                raise
            except Exception as error:
                raise failure_of(step, error) from error
            end = perf_counter()
            costs.append((end - start, known[1]))
            start = end
        return costs

    def _observed(
        self,
        step: Step,
        values: Values,
        observe: Callable[[int, NDArray[Any]], None] | None,
    ) -> Cost:
        start = perf_counter()
        try:
            self._launch(step, values)
        except AtcError:
            raise
        except Exception as error:
            raise failure_of(step, error) from error
        seconds = perf_counter() - start
        made = [values[tensor] for tensor in step.outputs]
        if observe is not None:
            for tensor, array in zip(step.outputs, made, strict=True):
                if array is not None:
                    observe(tensor, array)
        for tensor in step.frees:
            values.pop(tensor, None)
        sizes = [0 if array is None else array.size for array in made]
        known = self._calls.get(step.index)
        if step.index in self._settled and known is not None and known[1] is not None:
            self._ready[step.index] = known[1], sizes
        return seconds, sizes

    def _launch(self, step: Step, values: Values) -> None:
        """Run a step's kernel on what reaches it; a step that is dead in this run does nothing."""
        inputs = tuple(self._value(t, values) if t >= 0 else None for t in step.inputs)
        if self._has_gates and is_dead(step, inputs):
            values.update(dict.fromkeys(step.outputs))
            return
        call, launch = self._bound(step, inputs)
        for tensor in self._passing and step.inputs:
            if tensor in self._passing:
                self._pass(tensor)
        outputs = call.outputs
        if launch is not None:
            launch()
        else:
            outputs = results_in_run(step, call, self.room, values.values())
        values.update(zip(step.outputs, outputs, strict=True))
        if step.kernel.gate is not None:
            opened = zip(step.outputs, step.kernel.gate(call), strict=True)
            values.update((tensor, None) for tensor, is_open in opened if not is_open)

    def _bound(
        self, step: Step, inputs: tuple[NDArray[Any] | None, ...]
    ) -> tuple[Call, Launch | None]:
        """The call of a step's kernel and its launch; None for a late step.

        Both are the last run's where the arrays are the same. They nearly always are, because
        results stay where they were. What launches over and over is made in the second run:
        scratch memory is as large by then as it gets.
        """
        if step.is_late:
            node = typed_by_inputs(step, inputs)
            return Call(node, inputs, (), self._workspace, self._workers), None
        known = self._calls.get(step.index)
        if known is not None and not any(map(is_not, known[0].inputs, inputs)):
            if known[1] is None:
                known = self._calls[step.index] = known[0], bound(step.kernel, known[0])
            return known
        constants = self._program.constants
        fixed = frozenset(
            at
            for at, tensor in enumerate(step.inputs)
            if tensor in constants and tensor not in self._passing
        )
        call = Call(step.node, inputs, (), self._workspace, self._workers, fixed=fixed)
        if step.kernel.alias:
            outputs = tuple(call.x.reshape(facts.shape) for facts in step.node.outputs)
        else:
            outputs = tuple(map(self._result, step.outputs))
        call = replace(call, outputs=outputs)
        self._calls[step.index] = call, None
        if step.index in self._settled:
            self._carriers.update(zip(step.outputs, call.outputs, strict=True))
        return call, partial(compute, step.kernel, call)

    def _value(self, tensor: int, values: Values) -> NDArray[Any] | None:
        """A tensor's carrier: fed, computed before, or a constant converted at first use.

        None is a tensor that is dead in this run: it is in a branch that is not taken.
        """
        if tensor in values:
            return values[tensor]
        if tensor not in self._carriers:
            self._carriers[tensor] = self._carried(tensor)
        return self._carriers[tensor]

    def _carried(self, tensor: int) -> NDArray[Any]:
        """A constant as its carrier, converted on all workers; the place of a passing one."""
        data, dtype = self._program.constants[tensor], self._program.tensors[tensor].dtype
        wide = carrier_dtype(dtype)
        if tensor in self._passing:
            memory = self._passed[self._passing[tensor]].memory
            return memory[: data.size * wide.itemsize].view(wide).reshape(data.shape)
        if not is_rounded(dtype) or not data.flags.c_contiguous:
            return to_carrier(data, dtype)
        carrier = self._pool.take(data.size * wide.itemsize).view(wide).reshape(data.shape)
        self._convert(data, carrier)
        return carrier

    def _pass(self, tensor: int) -> None:
        place = self._passed[self._passing[tensor]]
        if place.tensor != tensor:
            self._convert(self._program.constants[tensor], self._carriers[tensor])
            place.tensor = tensor

    def _convert(self, data: NDArray[Any], carrier: NDArray[Any]) -> None:
        """Fill the carrier of a constant on all workers; the file's pages are given back."""
        flat, source = carrier.reshape(-1), data.reshape(-1)

        def part(start: int, stop: int) -> None:
            np.copyto(flat[start:stop], source[start:stop], casting="unsafe")

        self._workers.split(flat.size, part, least=_CONVERTED_AT_ONCE)
        release_pages(data)

    def _result(self, tensor: int) -> NDArray[Any]:
        if tensor not in self._results:
            facts = self._program.tensors[tensor]
            dtype = carrier_dtype(facts.dtype)
            slot = self._program.memory.slot_of[tensor]
            if slot not in self._slots:
                self._slots[slot] = self._pool.take(self._program.memory.slots[slot])
            memory = self._slots[slot]
            nbytes = facts.elements * dtype.itemsize
            self._results[tensor] = memory[:nbytes].view(dtype).reshape(facts.shape)
        return self._results[tensor]


class _Passed:
    """Memory that constants pass through.

    Attributes:
        tensor: the constant that is there; -1 for none.
    """

    def __init__(self, size: int) -> None:
        self.tensor = -1
        self._size = size

    @cached_property
    def memory(self) -> NDArray[np.uint8]:
        return np.empty(self._size, np.uint8)


def _converted(program: Program, passing: Container[int]) -> Iterator[int]:
    """Yield bytes of the carriers of constants that are converted and kept."""
    for tensor, data in program.constants.items():
        dtype = program.tensors[tensor].dtype
        if is_rounded(dtype) and tensor not in passing:
            yield data.size * carrier_dtype(dtype).itemsize
