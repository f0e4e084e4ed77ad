"""The graph of a model's file: every node as the file has it, and what is known of each value."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.onnx_graph.source.model import SourceNode, SourceTensor


class FileGraph(msgspec.Struct, frozen=True):
    """A file's graph and facts."""

    path: Path
    name: str
    producer: str  # name and version of the tool that wrote it
    opsets: Mapping[str, int]  # imported version of each domain
    inputs: tuple[str, ...]  # names of the values that are fed
    outputs: tuple[str, ...]  # names of the values that the model returns
    # producers first; they read what their subgraphs read, and have attributes as text
    nodes: tuple[SourceNode, ...]
    values: Mapping[str, SourceTensor]  # what is known of each value, by name
    constants: frozenset[str]  # names of the values whose data the file holds
    parameters: int  # elements of all constants of the file
    weight_bytes: int
