"""Printer: a graph of the target IR as text; docs/ir.md has the grammar.

The text is stable: one line a constant and a node, attributes in alphabetical order, no pointers
and no counters, so that two dumps differ only where their graphs do.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from atc_py.ir.constants import CastConst, DeferredConst, DenseConst, OpaqueConst, SplatConst
from atc_py.ir.graph import Graph
from atc_py.ir.memory_plan import Home, MemoryPlan
from atc_py.ir.nodes import AttrValue, Node, Origin, Value
from atc_py.tensor.const_data import ConstData
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count

DENSE_LIMIT = 16
"""Constants of more elements are printed without their values, unless all of them are equal."""


def print_graph(graph: Graph) -> str:
    """The text form of `graph`, with a line break at its end.

    Graphs that break an invariant print too, as far as text can show them; only the text of a
    graph whose nodes come after what they use can be parsed.
    """
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    yield f"graph @{name_text(graph.name)} phase {graph.phase.label} {{"
    for value in graph.inputs:
        yield f"  input {_typed_value(value)}"
    for value in graph.constants():
        if value.const is not None:
            yield f"  const {_typed_value(value)} = {_data_text(value.const)}"
    for node in graph.nodes:
        yield f"  {_node_text(node)}{_spots_text(node, graph.memory)}"
    for value, name in zip(graph.outputs, graph.output_names, strict=False):
        yield f"  output {_name(value)} as {quoted(name)}"
    yield "}"


def _name(value: Value | None) -> str:
    """A use of a value; `_` stands for an absent input."""
    return "_" if value is None else f"%{name_text(value.name)}"


def _typed_value(value: Value) -> str:
    return f"{_name(value)} : {value.type}"


def _node_text(node: Node) -> str:
    outputs = ", ".join(_name(value) for value in node.outputs)
    inputs = ", ".join(_name(value) for value in node.inputs)
    types = ", ".join(str(value.type) for value in node.outputs)
    text = f"{outputs} = {word_text(node.op)}({inputs}){_attributes_text(node)} : {types}"
    if node.engine is not None:
        text += f"  engine={node.engine.value}"
    if node.scope:
        text += f"  scope={node.scope}"
    if not node.outputs or node.name != f"{node.op}:{node.outputs[0].name}":
        text += f"  name={quoted(node.name)}"
    if node.origins:
        text += f"  from [{', '.join(_origin_text(origin) for origin in node.origins)}]"
    return text


def _spots_text(node: Node, plan: MemoryPlan | None) -> str:
    """The outputs' places in the memory plan as a comment, no part of the text form."""
    if plan is None:
        return ""
    spots = (plan.spots.get(value) for value in node.outputs)
    words = (spot.value if isinstance(spot, Home) else str(spot) for spot in spots)
    return f"  # at {', '.join(words)}"


def _origin_text(origin: Origin) -> str:
    return f"{origin.index} {quoted(origin.name)} {word_text(origin.op_type)}"


def _attributes_text(node: Node) -> str:
    if not node.attributes:
        return ""
    pairs = sorted(node.attributes.items())
    return f" {{{', '.join(f'{word_text(name)}={_attribute_text(v)}' for name, v in pairs)}}}"


def _attribute_text(value: AttrValue) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(_attribute_text(item) for item in value)}]"
    if isinstance(value, DType):
        return value.value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value) if isinstance(value, float) else str(value)


def _data_text(data: ConstData) -> str:
    """The data of a constant: one repeated value, a few values, or where they come from."""
    splat = _as_scalar(data)
    if splat is not None:
        return f"splat {element_text(splat.numpy().flat[0], splat.dtype)}"
    if element_count(data.shape) > DENSE_LIMIT or not _is_readable(data):
        return f"opaque {quoted(_label(data))}"
    elements = ", ".join(element_text(element, data.dtype) for element in data.numpy().flat)
    data.release()
    return f"dense [{elements}]"


def _as_scalar(data: ConstData) -> ConstData | None:
    if isinstance(data, SplatConst):
        return SplatConst(data.value, data.dtype, ())
    if isinstance(data, CastConst):
        source = _as_scalar(data.source)
        return None if source is None else CastConst(source, data.dtype)
    return None


def _is_readable(data: ConstData) -> bool:
    """False where the values, or those they are computed from, were not printed."""
    if isinstance(data, CastConst):
        return _is_readable(data.source)
    if isinstance(data, DeferredConst):
        return all(_is_readable(source) for source in data.sources)
    return not isinstance(data, OpaqueConst)


def _label(data: ConstData) -> str:
    if isinstance(data, DeferredConst | OpaqueConst):
        return data.label
    if isinstance(data, CastConst):
        return f"cast of {_label(data.source)}"
    return "dense" if isinstance(data, DenseConst) else "file"


BARE_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.]*"
"""Pattern of a name after `%` or `@` that needs no quotes."""

WORD = r"[A-Za-z_][A-Za-z0-9_]*"
"""Keywords, and operators and attributes that need no quotes."""

STRING = r'"(?:[^"\\\n]|\\.)*"'
"""A JSON string; the text between the quotes is checked when it is decoded."""

_BARE_NAME = re.compile(BARE_NAME)
_WORD = re.compile(WORD)

_SHORT = 6
"""Exact decimals of at most this many characters are not worth shortening."""


def quoted(text: str) -> str:
    """`text` as a JSON string, on one line; letters of any script stay readable."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def name_text(name: str) -> str:
    """A name as it follows `%` or `@`."""
    return name if _BARE_NAME.fullmatch(name) else quoted(name)


def word_text(word: str) -> str:
    return word if _WORD.fullmatch(word) else quoted(word)


def float_text(value: float) -> str:
    """The shortest decimal that reads back as `value`; never like an integer."""
    return repr(float(value))


def element_text(value: np.generic, dtype: DType) -> str:
    """An element of a tensor of `dtype`: the shortest text that gives the same element."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    number = float(value)
    exact = float_text(number)
    if len(exact) <= _SHORT or not math.isfinite(number):
        return exact
    return _shortest_decimal(number, dtype) or exact


def _shortest_decimal(number: float, dtype: DType) -> str | None:
    """The decimal with the fewest digits that `dtype` rounds to `number`."""
    for digits in range(1, 17):
        short = float(f"{number:.{digits}g}")
        if float(array_of([short], dtype)[0]) == number:
            return float_text(short)
    return None


def array_of(values: Sequence[float | bool], dtype: DType) -> npt.NDArray[np.generic]:
    """`values` rounded to `dtype`; a float beyond its range becomes an infinity."""
    if not dtype.is_float:
        return np.array(values, dtype=dtype.numpy)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.array(values, dtype=np.float64).astype(dtype.numpy)


def integer_range(dtype: DType) -> tuple[int, int]:
    bits = dtype.bits
    if dtype.value.startswith("u"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
