"""The plan of a family for one set of shapes: tiling numbers, buffers, bytes moved."""

from collections.abc import Mapping
from typing import Any

import msgspec

from atc_py.ir import AttrValue, Node, TensorType
from atc_py.kernels.fields import Tiling
from atc_py.kernels.keys import KernelKey
from atc_py.kernels.links import Link
from atc_py.kernels.ports import KernelPort
from atc_py.target import Soc, TargetOp
from atc_py.tensor.shapes import Shape, element_count


class KernelFacts(msgspec.Struct, frozen=True):
    """A kernel as families see it, whatever shapes it works on."""

    key: KernelKey  # everything that the kernel depends on
    row: TargetOp
    inputs: tuple[KernelPort, ...]  # the inputs that are there
    outputs: tuple[KernelPort, ...]
    # functions of each element after the operator, which the kernel applies as well
    links: tuple[Link, ...] = ()
    has_blocked_links: bool = False  # whether one of them reads an operand in a blocked format

    @property
    def op(self) -> str:
        """The target operator."""
        return self.key.op

    @property
    def operands(self) -> tuple[KernelPort, ...]:
        """All operands that the kernel reads: the operator's inputs, then those of its links."""
        read = (each.port for link in self.links for each in link.operands if each is not None)
        return (*self.inputs, *read)

    @property
    def is_blocked(self) -> bool:
        """True if an operand or a result is stored in a blocked format."""
        ports = (*self.inputs, *self.outputs)
        return self.has_blocked_links or any(port.storage is not None for port in ports)

    @property
    def takes_blocks(self) -> bool:
        """True if it may address blocks where there are any."""
        return self.is_blocked and not self.key.by_rows

    @property
    def attributes(self) -> Mapping[str, AttrValue]:
        """Attributes by name, the row's defaults filled in."""
        return dict(self.key.attributes)


class Launch(msgspec.Struct, frozen=True):
    """A launch of a kernel on one set of shapes, for which a family plans."""

    kernel: KernelFacts
    node: Node  # one of the nodes with these shapes
    soc: Soc
    followers: tuple[Node, ...] = ()  # the nodes of the kernel's links

    @property
    def inputs(self) -> tuple[Shape, ...]:
        """Shapes of the inputs that are there; a dim that only the run knows counts as 1."""
        return tuple(counted(value.type) for value in self.node.present_inputs)

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the operator's results."""
        return tuple(counted(value.type) for value in self.node.outputs)

    @property
    def stored_inputs(self) -> tuple[Shape, ...]:
        """Shapes of the arrays that hold the inputs that are there."""
        pairs = zip(self.kernel.inputs, self.inputs, strict=True)
        return tuple(port.stored(shape) for port, shape in pairs)

    @property
    def stored_outputs(self) -> tuple[Shape, ...]:
        """Shapes of the arrays that hold the operator's results."""
        pairs = zip(self.kernel.outputs, self.outputs, strict=True)
        return tuple(port.stored(shape) for port, shape in pairs)

    @property
    def linked(self) -> tuple[Shape, ...]:
        """Shapes of the other operands of the links, in the order of the kernel's operands."""
        return tuple(
            counted(value.type)
            for link, node in zip(self.kernel.links, self.followers, strict=True)
            for value, operand in zip(node.inputs, link.operands, strict=True)
            if value is not None and operand is not None
        )

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes of all inputs and of all results in their storage, each once."""
        sides = (
            zip((*self.inputs, *self.linked), self.kernel.operands, strict=True),
            zip(self.outputs, self.kernel.outputs, strict=True),
        )
        read, written = (
            sum(element_count(port.stored(shape)) * port.dtype.itemsize for shape, port in side)
            for side in sides
        )
        return read, written


def counted(type_: TensorType) -> Shape:
    """The dims to plan with; an open one counts as 1 until the run knows it."""
    dims = type_.dims
    return tuple(1 if dim is None else dim for dim in dims) if None in dims else dims  # type: ignore[return-value]


class Buffer(msgspec.Struct, frozen=True):
    """A queue or a piece of scratch memory of one core."""

    name: str  # the member of the kernel's class
    storage: str  # ub, l1, l0a, l0b or l0c
    nbytes: int  # of all its buffers together


class Plan(msgspec.Struct, frozen=True):
    """Plan of a kernel for one set of shapes."""

    tiling: Tiling  # it becomes a row of the kernel's `kRows`
    cores: int  # cores that have work
    buffers: tuple[Buffer, ...] = ()  # the use of a core's memory
    moved: tuple[int, int] = (0, 0)  # bytes read and written in the device's memory
    workspace: int = 0  # bytes of the device's memory that the kernel needs beside its operands

    def used(self, storage: str) -> int:
        """Bytes of a core's `storage` that are used."""
        return sum(buffer.nbytes for buffer in self.buffers if buffer.storage == storage)

    def as_json(self) -> dict[str, Any]:
        """The plan for the list of kernels."""
        return {
            "cores": self.cores,
            "tiling": dict(vars(self.tiling)),
            "buffers": [
                {"name": each.name, "storage": each.storage, "bytes": each.nbytes}
                for each in self.buffers
            ],
            "read_bytes": self.moved[0],
            "written_bytes": self.moved[1],
            "workspace_bytes": self.workspace,
        }
