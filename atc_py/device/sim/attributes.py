"""Attributes as JSON holds them, checked by the operator's row and given their Python types."""

from collections.abc import Mapping

from atc_py.device.sim.node import NodeError
from atc_py.package.schema import OmAttribute
from atc_py.target.row import Attribute, AttributeValue, TargetOp
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text


def read_attributes(row: TargetOp, found: Mapping[str, OmAttribute]) -> dict[str, AttributeValue]:
    """The attributes that `row` declares, from `found` or by default.

    Raises:
        NodeError: one is not declared, is missing, or has the wrong type.
    """
    unknown = [name for name in found if row.attribute(name) is None]
    if unknown:
        raise NodeError(
            Text("{name} has no attribute {unknown}", name=row.name, unknown=", ".join(unknown))
        )
    return {declared.name: _read(declared, found) for declared in row.attributes}


def _read(declared: Attribute, found: Mapping[str, OmAttribute]) -> AttributeValue:
    if declared.name in found:
        return _typed(declared, found[declared.name])
    if declared.default is None:
        raise NodeError(Text("attribute {name} is missing", name=declared.name))
    return declared.default


def _typed(declared: Attribute, value: OmAttribute) -> AttributeValue:
    """`value` in the type that the row declares."""
    if isinstance(value, list):
        return _typed_list(declared, value)
    kind = declared.type
    if kind == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind == "dtype" and isinstance(value, str):
        return _dtype(declared.name, value)
    if (kind, type(value)) in {("int", int), ("bool", bool), ("string", str)}:
        return value
    raise _wrong_type(declared, value)


def _typed_list(declared: Attribute, values: list[int | float]) -> AttributeValue:
    if declared.type == "ints" and all(type(value) is int for value in values):
        return tuple(int(value) for value in values)
    if declared.type == "floats":
        return tuple(float(value) for value in values)
    raise _wrong_type(declared, values)


def _dtype(name: str, text: str) -> DType:
    """The dtype called `text`."""
    try:
        return DType.parse(text)
    except UnknownDTypeError as error:
        raise NodeError(Text("attribute {name}: {error}", name=name, error=error)) from None


def _wrong_type(declared: Attribute, value: OmAttribute) -> NodeError:
    text = Text("attribute {name} must be {type}, found {found}")
    return NodeError(text.with_values(name=declared.name, type=declared.type, found=repr(value)))
