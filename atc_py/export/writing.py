"""An exported model as bytes: head, nodes, and constants that are read one at a time."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, helper

from atc_py import __version__
from atc_py.export.functions import DOMAIN, OPSET
from atc_py.frontend.reading.wire import opening
from atc_py.frontend.rewriting.proto_parts import TensorPart, new_tensor
from atc_py.system.atomic_files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.export.model import Emulated
    from atc_py.frontend.rewriting.proto_parts import ByteSink

__all__ = ["IR_VERSION", "LEAST_EXTERNAL", "model_bytes", "write_model"]

IR_VERSION = 10
"""The first that has overloads of functions, and metadata of nodes."""

_INLINE_LIMIT = 1_800_000_000
"""Size of a model above which constants go into a file beside it; protobuf's limit is 2 GiB."""

LEAST_EXTERNAL = 1024
"""Constants of fewer bytes stay in the model."""

_ALIGNMENT = 4096
"""Alignment of constants in the file beside the model, so that they can be mapped."""

_GRAPH, _INITIALIZER = 7, 5
"""Numbers of the fields: of a model, and of a graph."""


@dataclass(slots=True)
class _Message:
    """The file to be: the model without its graph, the graph without constants, the constants."""

    head: bytes
    body: bytes
    weights: list[TensorPart]
    moved: list[tuple[TensorPart, int]] = field(default_factory=list)

    def move_weights(self, location: str) -> None:
        """Move the data of constants to the file called `location`."""
        offset = 0
        for position, part in enumerate(self.weights):
            if part.data is None or part.data.size < LEAST_EXTERNAL:
                continue
            self.weights[position] = part.located(location, offset)
            size = part.data.size + -part.data.size % _ALIGNMENT
            self.moved.append((part, size))
            offset += size

    def write_weights(self, out: ByteSink) -> None:
        """Write the data of constants that goes beside the model."""
        for part, size in self.moved:
            if part.data is not None:
                part.data.write(out)
                out.write(bytes(size - part.data.size))

    @property
    def size(self) -> int:
        """Bytes of the model."""
        body = self._body_size()
        return len(self.head) + len(opening(_GRAPH, body)) + body

    def write(self, out: ByteSink) -> None:
        """Write the model."""
        out.write(self.head)
        out.write(opening(_GRAPH, self._body_size()))
        out.write(self.body)
        for part in self.weights:
            out.write(opening(_INITIALIZER, part.size))
            part.write(out)

    def _body_size(self) -> int:
        """Return bytes of the graph."""
        sizes = (part.size for part in self.weights)
        return len(self.body) + sum(len(opening(_INITIALIZER, size)) + size for size in sizes)


def model_bytes(emulated: Emulated, name: str, *, location: str | None = None) -> bytes:
    """Return a model as bytes.

    Args:
        emulated: its parts.
        name: name of its graph.
        location: where the constants of some size are said to be instead of in the model; the
            caller provides them, by name.
    """
    message = _message(emulated, name, {})
    if location is not None:
        message.move_weights(location)
    out = BytesIO()
    message.write(out)
    return out.getvalue()


def write_model(
    emulated: Emulated,
    name: str,
    output: Path,
    metadata: Mapping[str, str],
    *,
    external: bool = False,
) -> tuple[int, Path | None]:
    """Write a model to a file, which appears whole or not at all.

    Args:
        emulated: its parts.
        name: name of its graph.
        output: the file.
        metadata: of the model, by key.
        external: put constants into a file beside the model, which a model of 1.8 GB always does.

    Returns:
        Bytes of all that was written, and the file beside the model, None where there is none.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    message = _message(emulated, name, metadata)
    data = None
    if external or message.size > _INLINE_LIMIT:
        data = output.with_name(f"{output.name}.data")
        message.move_weights(data.name)
    with ExitStack() as stack:
        model = stack.enter_context(atomic_write(output))
        if data is not None:
            message.write_weights(stack.enter_context(atomic_write(data)))
        message.write(model)
        model.flush()
    return message.size + sum(size for _, size in message.moved), data


def _message(emulated: Emulated, name: str, metadata: Mapping[str, str]) -> _Message:
    """Return a model as parts to be written."""
    model = ModelProto(ir_version=IR_VERSION, producer_name="atc-py", producer_version=__version__)
    model.opset_import.append(helper.make_opsetid("", OPSET))
    if emulated.functions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    model.functions.extend(emulated.functions)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    graph = GraphProto(name=name or "graph")
    graph.node.extend(emulated.nodes)
    graph.input.extend(emulated.inputs)
    graph.output.extend(emulated.outputs)
    graph.value_info.extend(emulated.values)
    weights = [new_tensor(each.name, each) for each in emulated.initializers]
    return _Message(model.SerializeToString(), graph.SerializeToString(), weights)
