"""Typed reading of a source node's attributes, with a coded error for a wrong type."""

from atc_py.lowering.builder import Builder
from atc_py.onnx_graph.source import SourceAttr
from atc_py.text import Text


def get_int(b: Builder, name: str, default: int) -> int:
    """The integer attribute `name`, or `default` when it is not set."""
    value = b.node.attributes.get(name)
    if value is None:
        return default
    if not isinstance(value, int):
        raise _wrong(b, name, Text("an integer"), value)
    return value


def get_float(b: Builder, name: str, default: float) -> float:
    """The float attribute `name`, or `default` when it is not set."""
    value = b.node.attributes.get(name)
    if value is None:
        return default
    if not isinstance(value, int | float):
        raise _wrong(b, name, Text("a number"), value)
    return float(value)


def get_string(b: Builder, name: str, default: str) -> str:
    """The string attribute `name`, or `default` when it is not set."""
    value = b.node.attributes.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _wrong(b, name, Text("a string"), value)
    return value


def get_optional_ints(b: Builder, name: str) -> tuple[int, ...] | None:
    """The attribute `name`, a list of integers, or None when it is not set."""
    value = b.node.attributes.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple):
        raise _wrong(b, name, Text("a list of integers"), value)
    numbers = tuple(item for item in value if isinstance(item, int))
    if len(numbers) != len(value):
        raise _wrong(b, name, Text("a list of integers"), value)
    return numbers


def get_ints(b: Builder, name: str, default: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The attribute `name`, a list of `count` integers, or `default` when it is not set."""
    value = get_optional_ints(b, name)
    if value is None:
        return default
    if len(value) != count:
        text = Text("takes {count} numbers in {name}, found {n}: {found}")
        values = {"count": count, "n": len(value), "found": list(value)}
        raise b.bad(text.with_values(name=name, **values), f"attribute {name}")
    return value


def _wrong(b: Builder, name: str, wanted: Text, found: SourceAttr) -> Exception:
    kind = type(found).__name__
    text = Text("takes {wanted} as {name}, found {found}")
    return b.bad(text.with_values(wanted=wanted, name=name, found=kind), f"attribute {name}")
