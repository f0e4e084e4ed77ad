"""A model's message in parts, which is written part by part; weights are read one at a time.

Above protobuf's size limit, or if requested, weights go into one file beside the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from onnx import GraphProto, ModelProto

from atc_py.onnx_graph.reading.wire import opening
from atc_py.onnx_graph.rewriting.proto_parts import ByteSink, Part, TensorPart
from atc_py.system.atomic_files import atomic_write

INLINE_LIMIT = 1_800_000_000
"""Size of a model above which weights go into a file beside it; protobuf's limit is 2 GiB."""

LEAST_EXTERNAL = 1024
"""Weights of fewer bytes stay in the model."""

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
"""Numbers of the fields: of a model, and of a graph."""


def data_path(model: Path) -> Path:
    """The path of the file beside `model` that takes its weights."""
    return model.with_name(f"{model.name}.data")


@dataclass(slots=True)
class ModelMessage:
    """A model's message.

    Attributes:
        head: the model without its graph, serialized.
        body: the graph without `nodes` and `weights`, serialized.
        nodes: nodes that `body` does not have.
        weights: initializers.
        alignment: alignment of weights in the file beside the model, in bytes.
        moved: weights whose data goes beside the model, with the bytes that takes.
    """

    head: bytes
    body: bytes
    nodes: Sequence[Part]
    weights: list[TensorPart]
    alignment: int
    moved: list[tuple[TensorPart, int]] = field(default_factory=list)

    @staticmethod
    def of(
        model: ModelProto,
        graph: GraphProto,
        nodes: Sequence[Part],
        weights: list[TensorPart],
        alignment: int,
    ) -> ModelMessage:
        """The message of a model without its graph, a graph, and what the graph lacks."""
        head, body = model.SerializeToString(), graph.SerializeToString()
        return ModelMessage(head, body, nodes, weights, alignment)

    @property
    def size(self) -> int:
        """Bytes of the model."""
        body = self._body_size()
        return len(self.head) + len(opening(_GRAPH, body)) + body

    @property
    def is_large(self) -> bool:
        """True if the model is too large for weights in it."""
        return self.size > INLINE_LIMIT

    def move_weights(self, location: str) -> None:
        """Move the data of weights to the file called `location`."""
        offset = 0
        for position, part in enumerate(self.weights):
            if part.data is None or part.data.size < LEAST_EXTERNAL:
                continue
            self.weights[position] = part.located(location, offset)
            size = part.data.size + -part.data.size % self.alignment
            self.moved.append((part, size))
            offset += size

    def write(self, out: ByteSink) -> None:
        """Write the model."""
        out.write(self.head)
        out.write(opening(_GRAPH, self._body_size()))
        out.write(self.body)
        for number, part in self._parts():
            out.write(opening(number, part.size))
            part.write(out)

    def save(self, output: Path, data: Path | None) -> int:
        """Write the model to `output`, and its weights to `data` unless that is None.

        Each file appears whole or not at all.

        Returns:
            Bytes written.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        if data is not None:
            self.move_weights(data.name)
        with ExitStack() as stack:
            # Neither gets its name before both are written, and the model gets its own last: it
            # must not say where weights are that are not there yet.
            model = stack.enter_context(atomic_write(output))
            if data is not None:
                self._write_weights(stack.enter_context(atomic_write(data)))
            self.write(model)
            model.flush()
        return self.size + sum(size for _, size in self.moved)

    def _write_weights(self, out: ByteSink) -> None:
        for part, size in self.moved:
            if part.data is not None:
                part.data.write(out)
                out.write(bytes(size - part.data.size))

    def _parts(self) -> Iterator[tuple[int, Part]]:
        yield from ((_NODE, part) for part in self.nodes)
        yield from ((_INITIALIZER, part) for part in self.weights)

    def _body_size(self) -> int:
        """Bytes of the graph."""
        sizes = ((number, part.size) for number, part in self._parts())
        return len(self.body) + sum(len(opening(number, size)) + size for number, size in sizes)
