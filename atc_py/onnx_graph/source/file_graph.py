"""The graph of a model's file: every node as the file has it, and what is known of each value."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.onnx_graph.source.model import SourceNode, SourceTensor


class FileGraph(msgspec.Struct, frozen=True):
    """A file's graph and facts.

    Attributes:
        producer: name and version of the tool that wrote it.
        opsets: imported version of each domain.
        inputs: names of the values that are fed.
        outputs: names of the values that the model returns.
        nodes: producers first; they read what their subgraphs read, and have attributes as text.
        values: what is known of each value, by name.
        constants: names of the values whose data the file holds.
        parameters: elements of all constants of the file.
    """

    path: Path
    name: str
    producer: str
    opsets: Mapping[str, int]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[SourceNode, ...]
    values: Mapping[str, SourceTensor]
    constants: frozenset[str]
    parameters: int
    weight_bytes: int
