"""The largest elements of rows are found on the AI Core, where its kernel takes them."""

from math import prod

import numpy as np

from atc_py.ir import AttrValue, DenseConst, Node, TensorType, Value
from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.target import SocFamily

_RAMP = 4096
_MANY, _FEW = 32768, 8
_MOST_K, _LONGEST = 4096, 1024 * 2048
"""What the check of CANN's kernel compares with: elements of x and k, and both on Ascend310."""


class RankOnCorePass(RewritePass):
    """TopK(x, k) = TopKD(x, ramp; k), between Transposes where another axis than the last is ranked.

    The kernel takes no float64, no rows of one element, and few elements of many on Atlas A2 alone;
    what it does not take stays TopK, which the AI CPU has.
    """

    def rewrite(self, match: Match) -> None:
        node = match.anchor
        x, values = node.present_inputs[0], node.outputs[0]
        match.require_known_dims(x)
        match.require(values.type.dims.count(None) == 0, "k must be constant", node)
        axis = int(node.attributes["dim"]) % x.type.rank  # type: ignore[arg-type]  # verified: an int
        k = values.type.shape[axis]
        match.require(node.attributes["sorted"], "elements must be sorted", node)
        family = match.context.soc.family
        taken = _is_taken(x.type, axis, k, family)
        match.require(
            taken,
            "the kernel does not support k = {k} of {x} along axis {axis}",
            node,
            k=k,
            x=x.type,
            axis=axis,
        )
        match.require(x.type.dtype.itemsize <= np.float32().itemsize, "x must be at most float32")
        match.require_kernel("TopKD", node)
        match.require(
            not match.context.precision_mode.is_bfloat16, "the index ramp must stay float16", node
        )
        match.require_one_precision()
        _write(match, node, axis, k)


def _is_taken(x: TensorType, axis: int, k: int, family: SocFamily) -> bool:
    if k == 0 or 0 in x.shape:
        return False
    if prod(x.shape) > _MANY and k < _FEW and family is not SocFamily.ASCEND910B:
        return False
    if family is SocFamily.ASCEND310:
        return k <= _MOST_K and x.shape[axis] <= _LONGEST
    return x.shape[axis] != 1


def _write(match: Match, node: Node, axis: int, k: int) -> None:
    graph, last = match.graph, node.present_inputs[0].type.rank - 1
    order = list(range(last + 1))
    order[axis], order[last] = last, axis
    attributes: dict[str, AttrValue] = {
        "k": k, "dim": -1, "sorted": True, "largest": node.attributes["largest"],
    }  # fmt: skip
    x = node.present_inputs[0] if axis == last else _turned(match, node.present_inputs[0], order)
    ramp = graph.constant(f"{node.outputs[0].name}.ramp", DenseConst(_ramp()))
    if axis == last:
        graph.restate(node, "TopKD", [x, ramp], attributes)
        return
    outputs = [
        (f"{each.name}.ranked", TensorType(each.type.dtype, _swapped(each.type, order)))
        for each in node.outputs
    ]
    ranked = graph.add_node("TopKD", [x, ramp], outputs, attributes, node.origins)
    for old, new in zip(node.outputs, ranked.outputs, strict=True):
        if old.is_used:
            old.replace_by(_turned(match, new, order))
    node.drop_inputs()
    match.dead.append(node)


def _turned(match: Match, value: Value, order: list[int]) -> Value:
    type_ = TensorType(value.type.dtype, _swapped(value.type, order))
    attributes: dict[str, AttrValue] = {"perm": tuple(order)}
    outputs = [(f"{value.name}.turned", type_)]
    return match.graph.add_node(
        "TransposeD", [value], outputs, attributes, match.anchor.origins
    ).output


def _swapped(type_: TensorType, order: list[int]) -> tuple[int, ...]:
    return tuple(type_.shape[at] for at in order)


def _ramp() -> np.ndarray[tuple[int], np.dtype[np.float16]]:
    """Places in float16, then what each lacks of its place."""
    places = np.arange(_RAMP)
    rounded = places.astype(np.float16)
    return np.concatenate([rounded, (places - rounded.astype(np.int64)).astype(np.float16)])
