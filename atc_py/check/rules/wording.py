"""Short texts for observed values: numbers, elements at fault, shapes."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from atc_py.check.rules.reading import dims_of
from atc_py.onnx_graph.source import SourceTensor
from atc_py.text import Text

_ELEMENTS = 8
"""Elements of a list that are shown."""

_LETTERS = 60
"""Letters of a text that are shown."""

_WORD = re.compile(r"<?[A-Za-z_][A-Za-z0-9_.]{0,59}>?")
"""Texts that need no quotes: SAME_UPPER, <graph>."""

_BITS = 64
"""An integer of more bits is never a dim or a value of a tensor; its digits are not shown."""

_ROUNDING = 6e-8
"""Largest relative rounding error of float32: half a unit in its last place, 2**-24."""


def shown(value: Any) -> str:
    """A value as text that reads the same in every language; long ones are cut."""
    if isinstance(value, list | tuple):
        items = [shown(item) for item in value[:_ELEMENTS]]
        more = ["..."] if len(value) > _ELEMENTS else []
        return f"[{', '.join(items + more)}]"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"<tensor {_dims_text(shape) or 'scalar'}>"
    return _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return quoted(value)
    return _clipped(str(value))


def quoted(text: str) -> str:
    """A text of the model in quotes; characters that do not print become escapes."""
    return f'"{_clipped(text)}"'


def at_fault(items: Sequence[Any], index: int) -> str:
    """A list whose element at `index` is at fault; of a long one only that element."""
    if len(items) <= _ELEMENTS:
        return shown(tuple(items))
    return f"[{index}] = {shown(items[index])}"


def array_at_fault(data: npt.NDArray[Any], index: int = 0) -> str:
    """The data of a constant, of which the flat element `index` is at fault."""
    items = data.ravel()
    if not data.ndim:
        return shown(items.tolist()[0])
    if data.size <= _ELEMENTS:
        return shown(items.tolist())
    places: list[int] = []
    rest = index
    for length in reversed(data.shape):
        rest, place = divmod(rest, length)
        places.insert(0, place)
    return f"{shown(places)} = {shown(items[index : index + 1].tolist()[0])}"


def noted(value: object, note: str) -> Text:
    """A value with a note after it in brackets."""
    return Text("{value} ({note})", value=value, note=note)


def with_rank(text: str, name: str, rank: int) -> Text:
    """A value that does not suit the rank of the operand `name`."""
    return noted(text, Text("{name} has rank {rank}", name=name, rank=rank))


def shape_text(tensor: SourceTensor) -> str:
    """`1x3x?x?`; empty for a scalar and where the rank is not known."""
    return _dims_text(dims_of(tensor) or ())


def described(name: str, tensor: SourceTensor) -> Text:
    """The shape of operand `name` in words, as far as it is known."""
    dims = dims_of(tensor)
    if dims is None:
        return Text("the rank of {name} is not known", name=name)
    if not dims:
        return Text("{name} is a scalar", name=name)
    return Text("{name} is {dims}", name=name, dims=_dims_text(dims))


def _dims_text(dims: Sequence[int | None]) -> str:
    """Dims with an x between them; of very many only the first."""
    texts = ["?" if dim is None else _integer(dim) for dim in dims[:_ELEMENTS]]
    return "x".join(texts + (["..."] if len(dims) > _ELEMENTS else []))


def _integer(value: int) -> str:
    """An integer in full unless it is absurdly large."""
    bits = value.bit_length()
    if bits <= _BITS:
        return str(value)
    return f"< -2^{bits - 1}" if value < 0 else f">= 2^{bits - 1}"


def _float(value: float) -> str:
    """The shortest decimal that float32 rounds to the value: 0.2 for 0.200000003."""
    texts = (f"{value:.{digits}g}" for digits in (7, 8))
    text = next((t for t in texts if math.isclose(float(t), value, rel_tol=_ROUNDING)), repr(value))
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def _clipped(text: str) -> str:
    cut = text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."
    return cut if cut.isprintable() else ascii(cut)[1:-1]
