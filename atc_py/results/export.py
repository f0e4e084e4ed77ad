"""Record of writing a compiled graph as an ONNX model."""

from collections.abc import Mapping
from pathlib import Path

from atc_py.system.structs import Result


class Export(Result, frozen=True):
    """Record of an export.

    Attributes:
        model: the file that was read.
        output: the ONNX file that was written.
        data: the file with its constants beside it; None where the model holds them itself.
        soc: the SoC that the graph was compiled for.
        options: the compilation's options.
        opset: the version of ONNX's operators that the written model imports.
        operators: how many nodes of each target operator it computes.
        functions: how many functions it has; none of a flat model.
        nodes: how many nodes its graph has.
        bytes: size of the files written.
    """

    model: Path
    output: Path
    data: Path | None
    soc: str
    options: Mapping[str, str]
    opset: int
    operators: Mapping[str, int]
    functions: int
    nodes: int
    bytes: int
