"""The graph of a model's file: every node as the file has it, and what is known of each value."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.tensor.shapes import Dims


class FileValue(msgspec.Struct, frozen=True):
    """A value of the file.

    Attributes:
        element: its element type; "" where it is not known.
        dims: its dims, None for an open one; None where not even the rank is known.
        is_const: True if the file holds its data.
    """

    element: str
    dims: Dims | None
    is_const: bool = False


class FileNode(msgspec.Struct, frozen=True):
    """A node of the file's graph.

    Attributes:
        index: its position in the file.
        name: its name, possibly empty.
        domain: "" for ONNX's own operators.
        inputs: names of the values that it reads, its subgraphs included.
        outputs: names of the values that it makes.
        attributes: its attributes as text, by name.
    """

    index: int
    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, str]


class FileGraph(msgspec.Struct, frozen=True):
    """A file's graph and facts.

    Attributes:
        producer: name and version of the tool that wrote it.
        opsets: imported version of each domain.
        inputs: names of the values that are fed.
        outputs: names of the values that the model returns.
        nodes: producers first.
        values: what is known of each value, by name.
        parameters: elements of all constants of the file.
    """

    path: Path
    name: str
    producer: str
    opsets: Mapping[str, int]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[FileNode, ...]
    values: Mapping[str, FileValue]
    parameters: int
    weight_bytes: int
