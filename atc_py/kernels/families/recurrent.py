"""Recurrent layers: LSTM and GRU in one direction, whole sequences on a core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.cube import optional_input
from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import DEPTH, Tiling, narrow, vector_cores, wide

_FLOAT = 4
_WHOLE = 16
"""Units that are whole blocks in every dtype."""

_SPREAD = 0.5
"""The rows of the weights bring gates about this much, so that they are half open."""

_EXPECTED: Mapping[str, Any] = {
    "cell_depth": 1, "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "time_major": True,
    "activation": "tanh",
}  # fmt: skip
"""Attributes that layers share, as the simulator takes them."""


class RecurrentTiling(Tiling):
    """Sequences, whose units are taken chunk by chunk."""

    core_num: int = narrow("cores that have work; core c takes sequences c, c + core_num ...")
    steps: int = wide("steps of the longest sequence")
    batch: int = wide("sequences")
    width: int = wide("elements of a step")
    hidden: int = wide("units")
    pitch: int = narrow("units that are worked on at once, and elements from gate to gate")


class _Layer(Family):
    """A layer in one direction: each core runs sequences of its own."""

    count: int  # gates
    gates: tuple[str, ...]  # tensors of gates that a step has
    parts: int  # states of a sequence in the workspace, the first two of which are h in turn
    lengths: int  # position of the lengths among the inputs
    order: str  # of the gates in the weights, as the attribute says it

    def plan(self, launch: Launch) -> Plan:
        """Take as many units at once as the unified buffer has room for."""
        (steps, batch, *_), width = launch.inputs[0], launch.inputs[0][-1]
        hidden = launch.outputs[0][-1]
        each = sum(size for _, size in self._sizes(launch))
        room = launch.soc.ub_kib * 1024 // each // _WHOLE
        pitch = max(1, min(room, -(-hidden // _WHOLE))) * _WHOLE
        tiling = RecurrentTiling(
            core_num=max(1, min(vector_cores(launch.soc), batch)),
            steps=steps,
            batch=batch,
            width=width,
            hidden=hidden,
            pitch=pitch,
        )
        buffers = tuple(Buffer(name, "ub", size * pitch) for name, size in self._sizes(launch))
        workspace = batch * self.parts * hidden * _FLOAT
        return Plan(tiling, tiling.core_num, buffers, launch.moved, workspace)

    def _sizes(self, launch: Launch) -> list[tuple[str, int]]:
        size = launch.kernel.inputs[0].dtype.itemsize
        queues = [
            ("inQueue", self.count * size), ("stateQueue", self.count * _FLOAT),
            ("outQueue", size), ("keepQueue", _FLOAT),
        ]  # fmt: skip
        whole = [(name, self.count * _FLOAT) for name in ("source", "weight", "part", *self.gates)]
        single = [(name, _FLOAT) for name in ("state", "result")]
        return [*((name, DEPTH * each) for name, each in queues), *whole, *single]

    def covers(self, kernel: KernelFacts) -> bool:
        """True for the attributes that the simulator takes, without further results."""
        attributes = kernel.attributes
        known = all(attributes[name] == value for name, value in _EXPECTED.items())
        return known and attributes["gate_order"] == self.order

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "workspace": True,
            "count": self.count,
            "gates": self.gates,
            "parts": self.parts,
            "reverse": kernel.attributes["direction"] == "REDIRECTIONAL",
            "lengths": optional_input(kernel, self.lengths),
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False

    def sums(self, kernel: KernelFacts) -> bool:
        return True

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw lengths up to that of the longest sequence; weights that leave gates half open."""
        x, shape = sample.shapes[0], sample.shapes[sample.position]
        if sample.position == self.lengths and x is not None:
            return generator.integers(0, x[0] + 1, shape)
        if shape is not None and len(shape) == len(("rows", "gates")):
            spread = _SPREAD / max(1, shape[0]) ** 0.5
            drawn: NDArray[Any] = generator.normal(0.0, spread, shape)
            return drawn
        return None


class _Lstm(_Layer):
    """Long short-term memory, without peepholes."""

    name = "lstm"
    template = "lstm"
    operators = frozenset({"DynamicRNN"})
    count, gates, parts, lengths = 4, ("gates",), 3, 3
    order = "ijfo"

    def covers(self, kernel: KernelFacts) -> bool:
        """True for what the simulator takes: no peepholes and no mask."""
        attributes = kernel.attributes
        plain = attributes["cell_type"] == "LSTM" and not attributes["use_peephole"]
        positions = {port.position for port in kernel.inputs}
        return plain and max(positions) <= 5 and len(kernel.outputs) <= 3 and super().covers(kernel)  # noqa: PLR2004

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        states = ("now_", "now_", "2")
        return {
            **super().context(kernel),
            "initial": [(0, optional_input(kernel, 4)), (2, optional_input(kernel, 5))],
            "after": [(port, states[port.position]) for port in kernel.outputs[1:]],
        }


class _Gru(_Layer):
    """Gated recurrent units."""

    name = "gru"
    template = "gru"
    operators = frozenset({"DynamicGRUV2"})
    count, gates, parts, lengths = 3, ("ofX", "ofH"), 4, 5
    order = "zrh"

    def covers(self, kernel: KernelFacts) -> bool:
        return len(kernel.outputs) <= 2 and super().covers(kernel)  # noqa: PLR2004  (y, output_h)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            **super().context(kernel),
            "initial": [(0, optional_input(kernel, 6))],
            "after": [(port, "now_") for port in kernel.outputs[1:]],
            "bias": optional_input(kernel, 3),
            "state_bias": optional_input(kernel, 4),
            "reset_after": kernel.attributes["reset_after"],
        }


FAMILIES = (_Lstm(), _Gru())
