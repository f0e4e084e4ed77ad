"""A model on the simulated device whose tensors are stored as on the real one.

Kernels compute as they always do; what differs is where tensors are between launches. Each is
packed into its storage format in its true dtype at the place that the memory plan gives it, and
unpacked from those bytes by every launch that reads it.
"""

from collections.abc import Mapping
from threading import Lock
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel, NodeProfile
from atc_py.device.sim.execution.launch import (
    Cost,
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
from atc_py.device.sim.execution.program import Step
from atc_py.device.sim.kernel import Call, Workspace
from atc_py.device.sim.memory.device_memory import DeviceMemory, Layouts
from atc_py.device.sim.memory.memory_budget import MemoryBudget
from atc_py.device.sim.numerics.rounding import from_carrier
from atc_py.diag import DEVICE_MEMORY, Sink
from atc_py.package.schema import OmModel
from atc_py.package.stored_types import TRANS_DATA, check_storage
from atc_py.system.memory_limit import RAISE_IT, format_size
from atc_py.target import JOINED_IN_PLACE
from atc_py.text import Text


class ExactModel:
    """A loaded model with its memory in bytes, and its last run's profile.

    Results are those of `SimModel`, bit by bit. Runs take turns.
    """

    def __init__(self, model: LoadedModel) -> None:
        self.description: OmModel = model.description
        self._program = build_program(model, moves=True)
        sink = Sink()
        check_storage(self.description, self.description.name, sink)
        sink.raise_errors()
        self._room = MemoryBudget(self._program)
        self._room.require_plan()
        layouts = Layouts(self._program.tensors, self.description)
        nbytes = layouts.total(self.description.memory)
        if nbytes > self._room.limit:
            text = Text("the tensors in their storage formats take {size}, the limit is {size_2}")
            raise DEVICE_MEMORY.error(
                text.with_values(size=format_size(nbytes), size_2=format_size(self._room.limit)),
                help=Text("{raise_it}; or run without --storage exact", raise_it=RAISE_IT),
            )
        self._memory = DeviceMemory(self._program, self.description, layouts)
        self._workspace = Workspace(self._room.limit)
        self._workers = Workers()
        self._costs: list[Cost] = []
        self._lock = Lock()

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        feeds = read_feeds(self._program, inputs)
        with self._lock, self._workers.running():
            self._memory.begin()
            for tensor, carrier in feeds.items():
                self._memory.write(tensor, carrier)
            self._costs = [self._timed(step) for step in self._program.steps]
            return {
                name: self._output(name, tensor) for name, tensor in self._program.outputs.items()
            }

    @property
    def profile(self) -> tuple[NodeProfile, ...]:
        return profile_of(self._program.steps, self._costs)

    def close(self) -> None:
        self._workers.close()

    def _output(self, name: str, tensor: int) -> NDArray[Any]:
        if not self._memory.is_alive(tensor):
            raise missing_output(name)
        return from_carrier(self._memory.read(tensor), self._program.tensors[tensor].dtype)

    def _timed(self, step: Step) -> Cost:
        start = perf_counter()
        try:
            sizes = self._launch(step)
        except Exception as error:
            raise failure_of(step, error) from error
        for tensor in step.frees:
            self._memory.release(tensor)
        return perf_counter() - start, sizes

    def _launch(self, step: Step) -> list[int]:
        memory = self._memory
        if step.node.op == JOINED_IN_PLACE:
            memory.show(step.outputs[0], self._program.tensors[step.outputs[0]].shape)
            return [memory.elements(step.outputs[0])]
        if not step.kernel.alias:
            memory.expect(step.outputs, step.inputs)
        alive = [tensor >= 0 and memory.is_alive(tensor) for tensor in step.inputs]
        if step.node.op == TRANS_DATA and all(alive):
            memory.move(step.inputs[0], step.outputs[0])
            return [memory.elements(step.outputs[0])]
        inputs = tuple(
            memory.read(tensor) if there else None
            for tensor, there in zip(step.inputs, alive, strict=True)
        )
        if is_dead(step, inputs):
            return [0 for _ in step.outputs]
        node = typed_by_inputs(step, inputs) if step.is_late else step.node
        call = Call(node, inputs, (), self._workspace, self._workers)
        opened = step.kernel.gate(call) if step.kernel.gate else (True,) * len(step.outputs)
        results = results_in_run(step, call, self._room, ())
        for tensor, array, is_open in zip(step.outputs, results, opened, strict=True):
            if is_open and step.kernel.alias:
                memory.show(tensor, array.shape)
            elif is_open:
                memory.write(tensor, array)
        return [memory.elements(tensor) for tensor in step.outputs]
