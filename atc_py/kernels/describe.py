"""An operator's description in the form that `msopgen gen -i` reads."""

import math
from typing import Any

from atc_py.ir import AttrValue
from atc_py.kernels.family import KernelFacts
from atc_py.kernels.keys import PortKey, plain_value
from atc_py.kernels.links import Link
from atc_py.system.json_text import format_json
from atc_py.target import Operand, find_operator

_ATTR_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "string": "string",
    "ints": "list_int",
    "floats": "list_float",
    "dtype": "int",
}


def describe(kernel: KernelFacts, *, in_blocks: bool = False) -> str:
    """The description of `kernel`: JSON text with a line break at its end.

    Lists of types and formats have one column, the kernel's own. Absent optional inputs are left
    out; an attribute's default is the value that the kernel is built for. What links read and their
    attributes follow those of the operator. Formats are the storage formats with `in_blocks`, and
    otherwise those of the origin.
    """
    key, row = kernel.key, kernel.row
    declared = {attribute.name: attribute for attribute in row.attributes}
    description = {
        "op": "".join(key.ops),
        "language": "cpp",
        "input_desc": [
            *_operands(row.inputs, key.inputs, in_blocks=in_blocks),
            *_linked_operands(kernel, in_blocks=in_blocks),
        ],
        "output_desc": _operands(row.outputs, key.outputs, in_blocks=in_blocks),
        "attr": [
            {
                "name": name,
                "param_type": "required" if declared[name].default is None else "optional",
                "type": _ATTR_TYPES[declared[name].type],
                "default_value": _finite(value),
            }
            for name, value in key.attributes
            if name in declared
        ]
        + [attribute for link in kernel.links for attribute in _linked_attributes(link)],
    }
    return format_json([description])


def _operands(
    operands: tuple[Operand, ...], ports: tuple[PortKey | None, ...], *, in_blocks: bool
) -> list[dict[str, Any]]:
    """An entry per present operand; a variadic one appears once with its first type."""
    return [
        {
            "name": operand.name,
            "param_type": _param_type(operand),
            "format": [
                port.storage.format.value if in_blocks and port.storage else port.format.value
            ],
            "type": [port.dtype.value],
        }
        for operand, port in zip(operands, ports, strict=False)
        if port is not None
    ]


def _linked_operands(kernel: KernelFacts, *, in_blocks: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": port.name,
            "param_type": "required",
            "format": [port.layout if in_blocks else port.format],
            "type": [port.dtype.value],
        }
        for port in kernel.operands[len(kernel.inputs) :]
    ]


def _linked_attributes(link: Link) -> list[dict[str, Any]]:
    row = find_operator(link.op)
    declared = {} if row is None else {each.name: each.type for each in row.attributes}
    return [
        {
            "name": f"then{link.number}_{name}",
            "param_type": "optional",
            "type": _ATTR_TYPES[declared[name]],
            "default_value": _finite(value),
        }
        for name, value in link.key.attributes
        if name in declared
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
