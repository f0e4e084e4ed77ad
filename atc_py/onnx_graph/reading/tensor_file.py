"""Reading `.pb` files that hold one tensor, as ONNX's test data does.

Alone, because a run that is fed such files needs no reader of models.
"""

from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from atc_py.diag import BAD_DATA_FILE, AtcError, Place
from atc_py.onnx_graph.reading.mapped import open_model_file
from atc_py.onnx_graph.reading.tensors import decode_inline
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text


def read_tensor(path: Path) -> npt.NDArray[Any]:
    """The array in the TensorProto file at `path`.

    FILE_NOT_FOUND, FILE_UNREADABLE, MEMORY_LIMIT, or BAD_DATA_FILE for a file that holds something
    else, a dtype that is not supported or data that does not fit its shape.
    """
    place = Place(file=str(path))
    file = open_model_file(path)
    require_memory(file.size, Text("its tensor"), place)
    try:
        tensor = onnx.TensorProto.FromString(bytes(file.data))
    except DecodeError as error:
        raise BAD_DATA_FILE.error(Text("the file holds no ONNX tensor"), place=place) from error
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise BAD_DATA_FILE.error(Text("the tensor's data is in another file"), place=place)
    try:
        return decode_inline(tensor, place)
    except AtcError as error:
        reason = error.diagnostics[0].message
        raise BAD_DATA_FILE.error(
            Text("the file holds no usable tensor: {reason}", reason=reason), place=place
        ) from error
