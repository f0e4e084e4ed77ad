"""Functions that a model defines: measured, then inlined where they are called.

A function may call others, each several times, so a short file can stand for any number of nodes,
and for endless ones where a function calls itself. So the size after inlining is computed first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import onnx
from onnx import ModelProto, NodeProto

from atc_py.diag import BAD_MODEL, Place
from atc_py.ir import CycleError, producers_first
from atc_py.onnx_graph.reading.nodes import normal_domain, subgraphs
from atc_py.text import Text

MOST_NODES = 100_000
"""Largest number of nodes after inlining."""

MOST_BYTES = 2**28
"""Bytes of these nodes, large tensors not counted."""

MOST_DEPTH = 200
"""Deepest nesting of calls."""

_Key: TypeAlias = "tuple[str, str, str]"


class _Size(NamedTuple):
    """Size of a function call: nodes, their bytes, and calls within calls."""

    nodes: int
    bytes: int
    depth: int


def inline_functions(model: ModelProto, path: Path) -> ModelProto:
    """The model with the functions that it defines inlined where they are called.

    BAD_MODEL where a function calls itself, where calls would expand to more than the limits of
    this module, or where onnx cannot put a function in.
    """
    from onnx import inliner

    place = Place(file=str(path))
    _check_sizes(model, place)
    try:
        inlined: ModelProto = inliner.inline_local_functions(model)
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        text = " ".join(str(error).split())[:400]
        message = Text("the functions of the model cannot be inlined: {text}", text=text)
        raise BAD_MODEL.error(message, place=place) from error
    return inlined


def called_functions(model: ModelProto) -> tuple[str, ...]:
    """The functions of the model that its graph calls, as `domain::name`, in the order of calls."""
    defined = {(normal_domain(f.domain), f.name) for f in model.functions}
    calls = ((domain, name) for domain, name, _ in _calls(model.graph.node))
    called = dict.fromkeys(call for call in calls if call in defined)
    return tuple(f"{domain or 'ai.onnx'}::{name}" for domain, name in called)


def _check_sizes(model: ModelProto, place: Place) -> None:
    bodies = {(normal_domain(f.domain), f.name, f.overload): f.node for f in model.functions}
    calls = {key: Counter(_calls(body)) for key, body in bodies.items()}
    own = {
        key: _Size(len(body), sum(node.ByteSize() for node in body), 1)
        for key, body in bodies.items()
    }
    try:
        order = producers_first(
            bodies, lambda key: (called for called in calls[key] if called in calls)
        )
    except CycleError as error:
        name = error.item[1]
        raise BAD_MODEL.error(
            Text("the function {name} calls itself", name=repr(name)), place=place
        ) from error
    sizes: dict[_Key, _Size] = {}
    for key in order:
        sizes[key] = _with_calls(own[key], calls[key], sizes)
        if sizes[key].depth > MOST_DEPTH:
            message = Text(
                "functions call one another at most {most_depth} deep, {key} goes deeper",
                most_depth=MOST_DEPTH,
                key=repr(key[1]),
            )
            raise BAD_MODEL.error(message, place=place)
    whole = _with_calls(_Size(0, 0, 0), Counter(_calls(model.graph.node)), sizes)
    if whole.nodes > MOST_NODES or whole.bytes > MOST_BYTES:
        raise BAD_MODEL.error(
            Text(
                "the calls of its functions expand to {rounded_count} nodes of "
                "{rounded_count_2} bytes, the limits are {most_nodes} and {most_bytes}",
                rounded_count=_rounded_count(whole.nodes),
                rounded_count_2=_rounded_count(whole.bytes),
                most_nodes=MOST_NODES,
                most_bytes=MOST_BYTES,
            ),
            place=place,
            help=Text(
                "export the model without functions, or with functions that call fewer others"
            ),
        )


def _with_calls(own: _Size, calls: Counter[_Key], sizes: Mapping[_Key, _Size]) -> _Size:
    nodes, total, depth = own
    for key, count in calls.items():
        called = sizes.get(key)
        if called is not None:
            nodes += count * called.nodes
            total += count * called.bytes
            depth = max(depth, own.depth + called.depth)
    return _Size(nodes, total, depth)


def _calls(nodes: Iterable[NodeProto]) -> Iterator[_Key]:
    """All that nodes and those of their subgraphs call, functions and operators alike."""
    for node in nodes:
        yield normal_domain(node.domain), node.op_type, node.overload
        for graph in subgraphs(node):
            yield from _calls(graph.node)


def _rounded_count(number: int) -> str:
    """A number in digits, or its order of magnitude where it has many."""
    text = str(number)
    return text if len(text) <= 15 else f"1e{len(text) - 1}"  # noqa: PLR2004
