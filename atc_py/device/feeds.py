"""Data that goes into a run: every array is checked by the input that it is for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_RUN_INPUT, MISSING_RUN_INPUT, Diagnostic, Place, Sink
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape, format_shape
from atc_py.text import SEMICOLON, Text

Wanted = tuple[DType, Dims]


def check_feeds(types: Mapping[str, Wanted], inputs: Mapping[str, NDArray[Any]]) -> None:
    """Check that there is an array of the right dtype and shape for each input, and no other.

    Args:
        types: dtype and dims of each input, by name; None for a dim that the run decides.
        inputs: the arrays, by name.

    Raises:
        AtcError: MISSING_RUN_INPUT and BAD_RUN_INPUT, all findings at once.
    """
    if inputs.keys() == types.keys() and all(
        _fits(inputs[name], wanted) for name, wanted in types.items()
    ):
        return
    sink = Sink()
    missing = [f"{name!r} ({_text(types[name])})" for name in types if name not in inputs]
    if missing:
        sink.add(
            MISSING_RUN_INPUT.diagnostic(
                Text("no data was given for input {missing}", missing=", ".join(missing))
            )
        )
    for name, array in inputs.items():
        sink.extend(_findings(name, array, types))
    sink.raise_errors()


def _text(wanted: Wanted) -> str:
    dtype, shape = wanted
    return f"{dtype.value} {format_shape(shape)}"


def _fits(array: Any, wanted: Wanted) -> bool:
    dtype, shape = wanted
    if not isinstance(array, (np.ndarray, np.generic)) or not _has_dims(array, shape):
        return False
    return array.dtype == dtype.numpy or array.dtype.name == dtype.value


def _has_dims(array: Any, dims: Dims) -> bool:
    """True if an array has the dims of an input, whatever it has where these are open."""
    shape: Shape = array.shape
    if shape == dims:
        return True
    return (
        None in dims
        and len(shape) == len(dims)
        and all(dim in {None, own} for own, dim in zip(shape, dims, strict=True))
    )


def _findings(name: str, array: Any, types: Mapping[str, Wanted]) -> list[Diagnostic]:
    if name not in types:
        known = ", ".join(types) or Text("none")
        message = Text("the model has no input {name}", name=repr(name))
        return [
            BAD_RUN_INPUT.diagnostic(message, help=Text("its inputs are: {known}", known=known))
        ]
    wanted, place = types[name], Place(field=Text("input {at}", at=name))
    if not isinstance(array, (np.ndarray, np.generic)):
        message = Text(
            "input {name} must be a numpy array, found {name_2}",
            name=repr(name),
            name_2=type(array).__name__,
        )
        return [BAD_RUN_INPUT.diagnostic(message, place=place)]
    if _fits(array, wanted):
        return []
    shape = "x".join(map(str, array.shape)) or "scalar"
    message = Text(
        "input {name} must be {wanted}, found {dtype} {shape}",
        name=repr(name),
        wanted=_text(wanted),
        dtype=array.dtype.name,
        shape=shape,
    )
    return [BAD_RUN_INPUT.diagnostic(message, place=place, help=_help(array, wanted))]


def _help(array: NDArray[Any] | np.generic, wanted: Wanted) -> Text:
    dtype, shape = wanted
    hints = []
    if array.dtype.name != dtype.value:
        hints.append(Text("convert the data with array.astype({dtype})", dtype=repr(dtype.value)))
    if not _has_dims(array, shape):
        shown = format_shape(shape) if None in shape else list(shape)
        hints.append(
            Text("the shape must be {shown}, fixed when the model was converted", shown=shown)
        )
    return SEMICOLON.join(hints)
