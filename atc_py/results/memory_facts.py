"""A model's device memory: figures and the moment of peak use; sizes are bytes."""

from collections.abc import Iterable

import msgspec

from atc_py.ir import Proof
from atc_py.package.describe import proof_of, weights_nbytes
from atc_py.package.schema import OmMemory, OmModel, OmTensor
from atc_py.package.stored_types import storage_of, stored_nbytes
from atc_py.system.json_text import json_values
from atc_py.system.structs import Result
from atc_py.tensor.shapes import format_shape


class ArenaTensor(Result, frozen=True):
    """A tensor in the arena: name, type as text, offset and bytes with what aligns them."""

    name: str
    type: str
    offset: int
    nbytes: int = msgspec.field(name="bytes")


class MemoryFacts(Result, frozen=True):
    """Memory needs of a planned model; sizes are bytes.

    Attributes:
        weights: of all constants, with what aligns them.
        inputs: of the buffers that the caller feeds.
        outputs: of the buffers that the caller takes results from; those with known dims.
        arena: shared by the values in between.
        lower_bound: what is needed at the widest moment; no arena can be smaller.
        workspace: what kernels need beside their operands.
        alignment: what offsets are multiples of.
        padding: what follows each value in the arena, before its size is aligned.
        reuse: True if values share addresses.
        shared: values in the arena.
        on_chip: values that stay in the buffers of a core.
        at_run: values whose dims are known only at run time; no figure here counts them.
        node: name of the node of the widest moment; empty where the arena is.
        op: its operator.
        tensors: what is needed at that moment, largest first.
    """

    weights: int
    inputs: int
    outputs: int
    arena: int
    lower_bound: int
    workspace: int
    alignment: int
    reuse: bool
    shared: int
    on_chip: int
    at_run: int
    node: str
    op: str
    tensors: tuple[ArenaTensor, ...]
    padding: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.inputs + self.outputs + self.arena + self.workspace

    @property
    def ratio(self) -> float:
        """Ratio of the arena to its lower bound; 1 if both are empty."""
        return self.arena / self.lower_bound if self.lower_bound else 1.0

    def as_json(self) -> dict[str, object]:
        return {
            "weights": self.weights,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "arena": self.arena,
            "lower_bound": self.lower_bound,
            "ratio": round(self.ratio, 4),
            "workspace": self.workspace,
            "total": self.total,
            "alignment": self.alignment,
            "padding": self.padding,
            "reuse": self.reuse,
            "values_in_arena": self.shared,
            "values_on_chip": self.on_chip,
            "values_of_open_extents": self.at_run,
            "widest": {
                "node": self.node,
                "op": self.op,
                "tensors": json_values(self.tensors),
            },
        }


def memory_facts(model: OmModel, proof: Proof | None = None) -> MemoryFacts | None:
    """The figures of a model's memory plan, whose proof may be known; None where it has none."""
    memory = model.memory
    if memory is None:
        return None
    proof = proof or proof_of(model, memory)
    widest, nbytes = proof.widest, proof.nbytes
    at = widest.node
    node = model.nodes[at] if at >= 0 else None
    places = memory.places
    return MemoryFacts(
        weights=weights_nbytes(model),
        inputs=_nbytes(model.tensors[port.tensor] for port in model.inputs),
        outputs=_nbytes(model.tensors[port.tensor] for port in model.outputs),
        arena=memory.arena,
        lower_bound=memory.lower_bound,
        workspace=memory.workspace,
        alignment=memory.alignment,
        reuse=memory.reuse,
        shared=len(nbytes),
        on_chip=places.count("chip"),
        at_run=places.count("run"),
        node="" if node is None else node.name,
        op="" if node is None else node.op,
        tensors=tuple(
            _arena_tensor(model, memory, position, nbytes[position]) for position in widest.tensors
        ),
        padding=memory.padding,
    )


def _nbytes(tensors: Iterable[OmTensor]) -> int:
    """Bytes of the tensors as stored; those with open dims count as 0."""
    return sum(stored_nbytes(tensor) for tensor in tensors)


def _arena_tensor(model: OmModel, memory: OmMemory, position: int, nbytes: int) -> ArenaTensor:
    tensor, place = model.tensors[position], memory.places[position]
    storage = storage_of(tensor)
    type_ = f"{tensor.dtype} {format_shape(tensor.shape)}" + (f" in {storage}" if storage else "")
    return ArenaTensor(tensor.name, type_, int(place), nbytes)
