"""Messages between a run and the process of its device: a line of JSON, then arrays as bytes.

Nothing is pickled: a reader makes numbers, texts and arrays of what it is sent, and nothing else.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import AtcError, Diagnostic, Place
from atc_py.diag.codes import DEVICE_FAILED, find_code
from atc_py.tensor.dtypes import DType
from atc_py.text.packed import packed, unpacked


def send(
    stream: BinaryIO, fields: Mapping[str, object], arrays: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Send `fields`, which JSON can say, and `arrays`."""
    given = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    types = [(name, array.dtype.name, (arrays or {})[name].shape) for name, array in given.items()]
    stream.write(json.dumps({**packed(fields), "arrays": types}).encode() + b"\n")
    stream.writelines(array.reshape(-1).view(np.uint8).data for array in given.values())
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fields and arrays of the next message.

    Raises:
        EOFError: the other side ended, perhaps in the middle.
        ValueError: what came is no message.
    """
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    fields = json.loads(line, object_hook=unpacked)
    arrays = {}
    for name, dtype, shape in fields.pop("arrays"):
        kind = DType(dtype).numpy
        nbytes = math.prod(shape) * kind.itemsize
        data = stream.read(nbytes)
        if len(data) != nbytes:
            raise EOFError
        arrays[name] = np.frombuffer(bytearray(data), kind).reshape(shape)
    return fields, arrays


def as_fields(error: AtcError) -> list[dict[str, Any]]:
    """An error's diagnostics, as JSON can say them."""
    return [
        {
            "code": found.code.id,
            "message": found.message,
            "place": None if found.place is None else asdict(found.place),
            "help": found.help,
            "rule": found.rule,
        }
        for found in error.diagnostics
    ]


def as_error(diagnostics: list[dict[str, Any]]) -> AtcError:
    """The error of which `as_fields` made `diagnostics`."""
    return AtcError(*(
        Diagnostic(
            find_code(each["code"]) or DEVICE_FAILED,
            each["message"],
            None if each["place"] is None else Place(**each["place"]),
            each["help"],
            each["rule"],
        )
        for each in diagnostics
    ))  # fmt: skip
