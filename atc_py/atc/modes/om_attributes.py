"""A value as ATC's `AttrDef`."""

from collections.abc import Sequence
from typing import Any

from atc_py.frontend.protos.ge_schema import LIST_TYPES
from atc_py.tensor.dtypes import DType

_LISTS = {"ints": ("i", "VT_LIST_INT"), "floats": ("f", "VT_LIST_FLOAT")}
_TEXTS = ("s", "VT_LIST_STRING")


def set_attribute(message: Any, value: object, kind: str) -> None:
    """Fill an attribute.

    Args:
        message: the `AttrDef`.
        value: a bool, number or text, or a list of numbers or of texts.
        kind: what the operator's row declares: dtype for the name of one, ints or floats.
    """
    if isinstance(value, list | tuple):
        _set_list(message.list, value, kind)
    elif isinstance(value, bool):
        message.b = value
    elif isinstance(value, int):
        message.i = value
    elif isinstance(value, float):
        message.f = value
    elif kind == "dtype":
        message.dt = DType(str(value)).ge
    else:
        message.s = str(value).encode("utf-8", "surrogateescape")


def _set_list(message: Any, values: Sequence[Any], kind: str) -> None:
    """Fill a list, whose kind its elements say where the operator's row does not."""
    field, name = _LISTS.get(kind, _TEXTS)
    if kind not in _LISTS and values and not isinstance(values[0], str):
        is_float = any(isinstance(each, float) for each in values)
        field, name = _LISTS["floats" if is_float else "ints"]
    texts = field == _TEXTS[0]
    filled = [str(each).encode("utf-8", "surrogateescape") for each in values] if texts else values
    getattr(message, field).extend(filled)
    message.val_type = LIST_TYPES.index(name)
