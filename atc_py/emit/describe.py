"""An operator's description in the form that `msopgen gen -i` reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from atc_py.emit.json_text import format_json
from atc_py.emit.keys import plain_value

if TYPE_CHECKING:
    from atc_py.dtypes import DType
    from atc_py.emit.keys import KernelKey
    from atc_py.formats import Format
    from atc_py.ir import AttrValue
    from atc_py.target import Operand, TargetOp

__all__ = ["describe"]

_ATTR_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "string": "string",
    "ints": "list_int",
    "floats": "list_float",
    "dtype": "int",
}


def describe(key: KernelKey, row: TargetOp) -> str:
    """The description of the kernel of `key`: JSON text with a line break at its end.

    Lists of types and formats have one column, the kernel's own. Absent optional inputs are left
    out; an attribute's default is the value that the kernel is built for.
    """
    declared = {attribute.name: attribute for attribute in row.attributes}
    description = {
        "op": key.op,
        "language": "cpp",
        "input_desc": _operands(row.inputs, key.inputs),
        "output_desc": _operands(row.outputs, key.outputs),
        "attr": [
            {
                "name": name,
                "param_type": "required" if declared[name].default is None else "optional",
                "type": _ATTR_TYPES[declared[name].type],
                "default_value": _finite(value),
            }
            for name, value in key.attributes
            if name in declared
        ],
    }
    return format_json([description])


def _operands(
    operands: tuple[Operand, ...], ports: tuple[tuple[DType, Format] | None, ...]
) -> list[dict[str, Any]]:
    """One entry per operand that is there; a variadic one stands once, with its first's type."""
    return [
        {
            "name": operand.name,
            "param_type": _param_type(operand),
            "format": [port[1].value],
            "type": [port[0].value],
        }
        for operand, port in zip(operands, ports, strict=False)
        if port is not None
    ]


def _param_type(operand: Operand) -> str:
    """CANN's word for how often an operand occurs."""
    if operand.variadic:
        return "dynamic"
    return "optional" if operand.optional else "required"


def _finite(value: AttrValue) -> Any:
    """`value` as JSON holds it; infinities and NaN, which it has not, as their names."""
    plain = plain_value(value)
    items = plain if isinstance(plain, list) else [plain]
    named = [str(x) if isinstance(x, float) and not math.isfinite(x) else x for x in items]
    return named if isinstance(plain, list) else named[0]
