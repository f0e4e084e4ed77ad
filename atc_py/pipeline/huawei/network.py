"""The network that a real model came from, where its ONNX file is at hand: nodes by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from atc_py.onnx_graph.reading.read import read_model


class NetworkNode(msgspec.Struct, frozen=True):
    """A node of the network.

    Attributes:
        index: its position in the file.
        op_type: ONNX's operator.
        attributes: of ONNX, by name; lists as tuples.
    """

    index: int
    name: str
    op_type: str
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    @property
    def has_pads(self) -> bool:
        """True if its pads are numbers, not a rule."""
        return bool(self.attributes.get("auto_pad", "NOTSET") == "NOTSET")

    def numbers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of integers."""
        value = self.attributes.get(name)
        return value if isinstance(value, tuple) and len(value) == len(default) else default

    def number(self, name: str, default: float) -> float:
        value = self.attributes.get(name)
        return float(value) if isinstance(value, int | float) else default


def read_network(path: Path) -> dict[str, NetworkNode]:
    """The nodes of an ONNX file that have names, by name.

    Raises:
        AtcError: the file cannot be read.
    """
    nodes = read_model(path, lenient=True).nodes
    return {
        node.name: NetworkNode(
            node.index, node.name, node.op_type, node.output_names, dict(_attributes(node.proto))
        )
        for node in nodes
        if node.name
    }


def _attributes(proto: Any) -> Iterator[tuple[str, Any]]:
    for attribute in proto.attribute:
        if attribute.ints:
            yield attribute.name, tuple(attribute.ints)
        elif attribute.s:
            yield attribute.name, attribute.s.decode("utf-8", "replace")
        elif attribute.HasField("f"):
            yield attribute.name, attribute.f
        elif attribute.HasField("i"):
            yield attribute.name, attribute.i
