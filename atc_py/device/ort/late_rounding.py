"""Fewer roundings with the same results: one that a monotone function follows is left to the next.

Let r round to a 16-bit float, and f be monotone and take numbers on its grid to the grid. Then
f(r(x)) = r(f(x)): r is monotone and leaves the grid as it is. Where a rounded value is read by such an
f alone, and f's result is rounded again, the first rounding changes nothing. Without it a runtime
computes a product or a convolution and f in one go, and converts half as often.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from onnx import NodeProto

from atc_py.device.ort.branches import reads_of
from atc_py.device.ort.elements import element_type
from atc_py.tensor.dtypes import DType

_NARROW = frozenset({element_type(DType.FLOAT16), element_type(DType.BFLOAT16)})
_WIDE = element_type(DType.FLOAT32)

_SHAPES = frozenset({"Reshape", "Squeeze"})

_MONOTONE = frozenset({"Relu", "MaxPool"})
"""Operators of one operand that are monotone and take a grid to itself; Clip does with such bounds."""


def without_early_roundings(
    nodes: Sequence[NodeProto],
    outputs: Collection[str],
    others: Collection[str],
    on_grid: Collection[str],
) -> list[NodeProto]:
    """`nodes` of a flat graph without roundings that change no result.

    Args:
        nodes: producers first.
        outputs: names of values that are looked at: they keep their rounding.
        others: names of values that are not float32: a rounding of one is more than a rounding.
        on_grid: names of 16-bit floats, and of float32 that are on the grid of the values there.
    """
    readers: dict[str, list[NodeProto]] = defaultdict(list)
    makers: dict[str, NodeProto] = {}
    for node in nodes:
        for value in reads_of(node):
            readers[value].append(node)
        makers.update(dict.fromkeys(node.output, node))
    gone: set[str] = set()
    for node in nodes:
        source = _source(node, makers, readers, outputs)
        if (
            source is not None
            and source.input[0] not in others
            and _keeps_grid(node, makers, on_grid)
            and _rounds_again(node, source, readers, outputs)
        ):
            gone.update((node.input[0], source.output[0]))
            node.input[0] = source.input[0]
    return [node for node in nodes if gone.isdisjoint(node.output)]


def _source(
    node: NodeProto,
    makers: Mapping[str, NodeProto],
    readers: Mapping[str, Sequence[NodeProto]],
    outputs: Collection[str],
) -> NodeProto | None:
    """The rounding whose result, as float32, `node` alone reads; None without one."""
    wide = makers.get(node.input[0]) if node.input else None
    if wide is None or _target(wide) != _WIDE or len(readers[wide.output[0]]) != 1:
        return None
    rounding = makers.get(wide.input[0])
    if rounding is None or _target(rounding) not in _NARROW:
        return None
    value = rounding.output[0]
    return rounding if len(readers[value]) == 1 and value not in outputs else None


def _keeps_grid(node: NodeProto, makers: Mapping[str, NodeProto], on_grid: Collection[str]) -> bool:
    """True if a node is monotone and takes numbers on a 16-bit grid to the grid."""
    if node.op_type in _MONOTONE:
        return True
    return node.op_type == "Clip" and all(
        _is_on_grid(value, makers, on_grid) for value in node.input[1:] if value
    )


def _is_on_grid(value: str, makers: Mapping[str, NodeProto], on_grid: Collection[str]) -> bool:
    """True if a value is a 16-bit float as float32, maybe in another shape."""
    if value in on_grid:
        return True
    made = makers.get(value)
    while made is not None and made.op_type in _SHAPES:
        made = makers.get(made.input[0])
    return made is not None and _target(made) == _WIDE and made.input[0] in on_grid


def _rounds_again(
    node: NodeProto,
    rounding: NodeProto,
    readers: Mapping[str, Sequence[NodeProto]],
    outputs: Collection[str],
) -> bool:
    """True if all that reads a node's one result rounds it as `rounding` does."""
    value = node.output[0]
    after = readers[value]
    return (
        len(node.output) == 1
        and value not in outputs
        and bool(after)
        and all(_target(each) == _target(rounding) for each in after)
    )


def _target(node: NodeProto) -> int | None:
    """The element type that a Cast makes; None of other nodes."""
    return int(node.attribute[0].i) if node.op_type == "Cast" else None
