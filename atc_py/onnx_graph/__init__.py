"""The way in: ONNX files become a `SourceModel`; the only package that imports onnx.

Importing this package is cheap; onnx is imported with the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from atc_py.onnx_graph.reading.onnx_file import OnnxFile

__all__ = ["read_model", "read_tensor"]


def read_model(path: Path) -> OnnxFile:
    """Read the model in the ONNX file at `path`; see `atc_py.onnx_graph.reading.read.read_model`."""
    from atc_py.onnx_graph.reading import read

    return read.read_model(path)


def read_tensor(path: Path) -> npt.NDArray[Any]:
    """The array in a `.pb` file; see `atc_py.onnx_graph.reading.tensor_file.read_tensor`."""
    from atc_py.onnx_graph.reading import tensor_file

    return tensor_file.read_tensor(path)
