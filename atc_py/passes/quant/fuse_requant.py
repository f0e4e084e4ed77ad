"""Dequantizing and quantizing again become one step."""

import math

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import constant_like, constant_words
from atc_py.passes.quant.requant_groups import Finder, RequantGroup, fold_scale, scaled_factors
from atc_py.target import VIEWS
from atc_py.target.soc import Requant
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import HardwareWords, decode_graph, encode_hardware

Words = npt.NDArray[np.uint64]


_MOVES = VIEWS | {"StridedSliceD", "TransposeD"}
"""Operators that may be between: one tensor's elements, reordered, reshaped, or some of them."""

_OFFSETS = range(-256, 256)


class FuseRequantPass(Pass):
    """AscendQuant(Relu?(AscendDequant(x, words(d))); s, o) = AscendRequant(x, words(d * s, o)).

    d * s is a float32 product, with sqrt_mode of AscendQuant d * (s * s), which the word cuts off
    to 19 bits. Then y = saturate(round(x * (d * s)) + o): what the chain rounds to float16 on the
    way is not rounded, and o is added after rounding, so results may be one step apart.

    On the generic device each AscendQuant is fused by itself: data movement between the two moves
    the int8 result instead, and the AscendDequant stays if others read it. On SoCs whose rules are
    CANN's, the groups of `requant_groups` alone are: a fork whose scales and offsets agree becomes
    one node, a Concat joins int8. LeakyRelu stays, and the scale goes into the factors before it.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        rules = context.soc.quant_rules
        if rules.requant is Requant.FUSED:
            groups = Finder(rules.flat_slope, joins=True).groups(graph)
            return sum(_fuse_group(graph, group) for group in groups)
        if rules.requant is not Requant.SINGLE:
            return 0
        dead: list[Node] = []
        chains = (_chain_to(node) for node in graph.nodes if node.op == "AscendQuant")
        fused = 0
        for chain in [chain for chain in chains if chain is not None]:
            words = _requant_words(chain)
            if words is not None:
                dead += _fuse(graph, chain, words)
                fused += 1
        graph.remove_nodes(dead)
        return fused


class _Chain(msgspec.Struct, frozen=True):
    """A quantization and where its data come from."""

    dequant: Node  # the dequantization at the start
    between: tuple[Node, ...]  # Relu and data movement, in order
    quant: Node  # the quantization at the end

    @property
    def relu(self) -> bool:
        flag = self.dequant.attributes.get("relu_flag", False) is True
        return flag or any(node.op == "Relu" for node in self.between)

    @property
    def moves(self) -> tuple[Node, ...]:
        return tuple(node for node in self.between if node.op != "Relu")


def _chain_to(quant: Node) -> _Chain | None:
    """The chain that ends in `quant`, or None where none begins with a dequantization."""
    between: list[Node] = []
    node: Node | None = quant
    while node is not None:
        node = node.producer()
        if node is not None and node.op == "AscendDequant":
            return _Chain(node, tuple(reversed(between)), quant)
        if node is None or (node.op != "Relu" and node.op not in _MOVES):
            return None
        between.append(node)
    return None


def _requant_words(chain: _Chain) -> Words | None:
    """Hardware words that do what the chain does, or None where there are none."""
    attributes = chain.quant.attributes
    scale, offset = attributes["scale"], attributes["offset"]
    if not isinstance(scale, float) or not isinstance(offset, float):
        return None
    if attributes.get("round_mode", "Round") != "Round":
        return None
    if chain.quant.output.type.dtype is not DType.INT8 or offset not in _OFFSETS:
        return None
    squares = attributes.get("sqrt_mode", False) is True
    factor = _squared(scale) if squares else scale
    return _words(chain.dequant, factor, int(offset), relu=chain.relu)


def _squared(scale: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(scale) * np.float32(scale))


def _words(dequant: Node, scale: float, offset: int, *, relu: bool) -> Words | None:
    old = constant_words(dequant.input(1))
    if old is None:
        return None
    parts = decode_graph(old)
    factors = scaled_factors(parts.scale, scale)
    if factors is None or parts.shift.any():
        return None
    return encode_hardware(
        HardwareWords(
            scale=factors,
            shift=np.ones(old.shape, np.int64),
            offset=np.full(old.shape, offset, np.int64),
            relu=np.full(old.shape, relu),
            signed=np.ones(old.shape, np.bool_),
        )
    )


def _fuse_group(graph: Graph, group: RequantGroup) -> bool:
    """Replace a group by requantizations, or fold its scale; return False where neither works."""
    if not group.relu:
        return fold_scale(graph, group)
    offset = math.trunc(float(group.quants[0].attributes["offset"]))  # type: ignore[arg-type]
    clears = {
        node: node in group.cleared or node.attributes.get("relu_flag", False) is True
        for node in group.dequants
    }
    words = [_words(node, group.scale, offset, relu=clears[node]) for node in group.dequants]
    if any(each is None for each in words):
        return False
    made = [
        _requantized(graph, node, group, each, relu=clears[node])
        for node, each in zip(group.dequants, words, strict=True)
        if each is not None
    ]
    value, name = made[0], group.quants[0].output.name
    concat = group.concat
    if concat is not None:
        type_ = concat.output.type.with_dtype(DType.INT8)
        origins = dict.fromkeys((*concat.origins, *group.quants[0].origins))
        typed = [(f"{concat.output.name}.{DType.INT8.value}", type_)]
        value = graph.add_node("ConcatD", made, typed, concat.attributes, origins).output
    for quant in group.quants:
        quant.output.replace_by(value)
    joined = () if concat is None else (concat,)
    graph.remove_nodes((*group.quants, *group.activations, *joined, *group.dequants))
    value.name = name
    return True


def _requantized(
    graph: Graph, dequant: Node, group: RequantGroup, words: Words, *, relu: bool
) -> Value:
    """The int8 result of a requantization in place of a dequantization.

    Its last origin is the quantization, since it is not a value of the model in another form.
    """
    first = group.quants[0]
    own = [node.origins for node in group.activations if dequant in group.cleared]
    origins = [*dequant.origins, *(each for found in own for each in found), *first.origins]
    name = (first if group.concat is None else dequant).output.name
    type_ = dequant.output.type.with_dtype(DType.INT8)
    return graph.add_node(
        "AscendRequant",
        [dequant.input(0), constant_like(graph, dequant.input(1), "requant", words)],
        [(f"{name}.requant", type_)],
        {"relu_flag": relu},
        dict.fromkeys(origins),
    ).output


def _fuse(graph: Graph, chain: _Chain, words: Words) -> list[Node]:
    """Put a requantization and the data movement in the chain's place; the nodes that go."""
    dequant, quant = chain.dequant, chain.quant
    x, name = dequant.input(0), quant.output.name
    scale = constant_like(graph, dequant.input(1), "requant", words)
    relus = [node for node in chain.between if node.op == "Relu"]
    origins = [origin for node in (dequant, *relus, quant) for origin in node.origins]
    type_ = dequant.output.type.with_dtype(DType.INT8)
    value = graph.add_node(
        "AscendRequant",
        [x, scale],
        [(f"{name}.requant", type_)],
        {"relu_flag": chain.relu},
        dict.fromkeys(origins),
    ).output
    for move in chain.moves:
        value = _moved(graph, move, value)
    quant.output.replace_by(value)
    dead = _without_readers(chain)
    value.name = name
    return dead


def _moved(graph: Graph, move: Node, value: Value) -> Value:
    name = f"{move.output.name}.{DType.INT8.value}"
    type_ = move.output.type.with_dtype(DType.INT8)
    inputs = [value, *move.inputs[1:]]
    return graph.add_node(move.op, inputs, [(name, type_)], move.attributes, move.origins).output


def _without_readers(chain: _Chain) -> list[Node]:
    dead = []
    for node in (chain.quant, *reversed(chain.between), chain.dequant):
        if node.output.is_used:
            break
        node.drop_inputs()
        dead.append(node)
    return dead
