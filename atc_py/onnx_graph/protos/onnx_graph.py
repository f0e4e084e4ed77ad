"""The graph of an ONNX file as JSON values, by the rules of ATC's mode 1."""

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from atc_py.diag import Place
from atc_py.diag.codes import NOT_ONNX
from atc_py.onnx_graph.protos.message_json import Json, message_json
from atc_py.system.input_files import read_bytes
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

_MOST = 2**31 - 1
"""Bytes of a file that protobuf reads."""

_GROWTH = 12
"""Bytes of memory for each byte of the file: weights become escaped text, which is escaped again."""


def onnx_graph_json(path: Path) -> Json:
    """The graph of an ONNX file; weights in other files stay there.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, MEMORY_LIMIT, or NOT_ONNX.
    """
    data = read_bytes(path, _MOST)
    place = Place(file=str(path))
    require_memory(len(data) * _GROWTH, Text("the JSON text of the model"), place)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise NOT_ONNX.error("protobuf cannot make a model of it", place=place) from error
    if not model.HasField("graph"):
        raise NOT_ONNX.error("it holds no graph", place=place)
    return message_json(model.graph)
