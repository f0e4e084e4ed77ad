"""Attributes of CANN's operators, and operands that are constants, as the target's rows have them."""

from collections.abc import Mapping
from typing import Any

from atc_py.ir import AttrValue, ConstData
from atc_py.package.ge.messages import GeAttributes
from atc_py.target.row import Attribute, TargetOp
from atc_py.tensor.dtypes import DType

_DTYPES = {dtype.ge: dtype for dtype in DType}


def stated_attributes(
    row: TargetOp, attributes: GeAttributes, constants: Mapping[str, ConstData]
) -> dict[str, AttrValue]:
    """The attributes of a row as the file states them, in an attribute or in a constant operand."""
    stated: dict[str, AttrValue] = {}
    for declared in row.attributes:
        value: Any = attributes.get(declared.name)
        if value is None and declared.name in constants:
            array = constants[declared.name].numpy()
            value = (
                array.item() if array.size == 1 and array.ndim == 0 else array.reshape(-1).tolist()
            )
        converted = _converted(declared, value)
        if converted is not None:
            stated[declared.name] = converted
    return stated


def _converted(declared: Attribute, value: Any) -> AttrValue | None:
    """A value in the type that the row declares; None where it has no such form."""
    if isinstance(value, list | tuple):
        return _listed(declared, [item for item in value if isinstance(item, int | float)])
    kind = declared.type
    if kind == "dtype":
        return _DTYPES.get(value) if isinstance(value, int) else None
    if kind == "string":
        return value if isinstance(value, str) else None
    return _number(declared, value) if isinstance(value, int | float) else None


def _number(declared: Attribute, value: float) -> AttrValue | None:
    if declared.type in {"ints", "floats"}:
        return _listed(declared, [value])
    if declared.type == "bool":
        return bool(value)
    return int(value) if declared.type == "int" else float(value)


def _listed(declared: Attribute, numbers: list[int | float]) -> AttrValue | None:
    if declared.type == "ints":
        return tuple(map(int, numbers))
    if declared.type == "floats":
        return tuple(map(float, numbers))
    if len(numbers) == 1 and declared.type in {"int", "float", "bool"}:
        return _converted(declared, numbers[0])
    return None
