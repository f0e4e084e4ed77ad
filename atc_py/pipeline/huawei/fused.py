"""Launches of several operators, opened into them: by the slots of the fix pipe, or by the kernel's name.

Sources: the kernels' names and operands of real files of CANN 20.2 and 8.0 [proven there]; the
slots after a product are those of CANN's operator FixPipe, and what they hold tells the order
[proven for slopes and sums, inferred for the rest].
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

import msgspec

from atc_py.ir import Value
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.target import find_operator, operators
from atc_py.text import Text

RESULT = "result"
"""Stands for the result of the step before."""

_FIX_PIPE = "fix_pipe"
_FUSED = "te_fused_op_"
_SLOTS = 13
"""Operands of a product with a fix pipe: four of the product, nine of the pipe."""

_SUM, _FIRST_SLOPE, _SECOND_SLOPE = 4, 6, 9
_UNKNOWN_SLOTS = (5, 7, 8, 10, 11, 12)
"""Factors and bounds of conversions, which no file seen has."""

_ACTIVATIONS = frozenset({"Relu", "Relu6", "PRelu", "LeakyRelu"})
_SUMS = frozenset({"Add", "Sub", "Eltwise"})
_ORDERED = frozenset({"RealDiv", "Div", "Sub", "Pow", "FloorMod"})
"""Operators whose operands differ in what they do, though any of two could be the result before."""

_FOLDED = frozenset({"BatchNorm", "BNInference", "BNInferenceD", "BNInfer", "Scale", "BiasAdd"})
"""Operators of the network that a product took in before it was compiled."""

INPUTS: Mapping[str, tuple[str, ...]] = {
    "BNInferenceD": ("x", "mean", "variance", "scale", "b"),
    "FullyConnection": ("x", "w", "b", "offset_w"),
    "GEMM": ("a", "b", "c", "alpha", "beta"),
    "Pooling": ("x", "matrix", "bias"),
}
"""Inputs of CANN's operators that the target table lacks."""

_REQUIRED = {"BNInferenceD": 3, "FullyConnection": 2, "Pooling": 1, "GEMM": 5}
_NAMES = {"conv2d_transpose_d": "Conv2DTransposeD", "mat_mul": "MatMulV2", "matmul": "MatMulV2"}
"""Operators by the words of kernels' names, where these do not follow from the operator's."""


class OpenedOperator(msgspec.Struct, frozen=True):
    """An operator of a launch."""

    type: str
    operands: dict[str, Value | str]  # values by input; RESULT for what the step before computed
    node: str = ""  # of the network that it computes; empty where that is not known
    # nodes after that one that it took in, such as a BatchNormalization
    folded: tuple[str, ...] = ()
    assumed: bool = False  # its operands are assigned in order, and nothing in the file says so


class FusedLaunch(msgspec.Struct, frozen=True):
    """A launch, as the file describes it."""

    type: str  # the op's operator
    kernel: str
    operands: tuple[Value | None, ...]  # by position; None for one that is not there
    nodes: tuple[str, ...]  # of the network, in order
    types: tuple[str, ...]  # their operators, in order; the head's is often left out
    last: str  # the node whose result it gives; empty where the file does not say

    @property
    def node_types(self) -> dict[str, str]:
        """Operators of nodes, the head's left out, where the file has as many as it takes."""
        types = self.types
        if len(types) == len(self.nodes):
            return dict(zip(self.nodes, types, strict=True))
        if len(types) != len(self.nodes) - 1:
            return {}
        head = next((at for at, name in enumerate(types) if name not in _FOLDED), len(types))
        nodes = [*self.nodes[:head], *self.nodes[head + 1 :]]
        return dict(zip(nodes, types, strict=True))


def is_fused(kernel: str) -> bool:
    """True if a kernel's name is that of several operators."""
    return kernel.startswith(_FUSED)


def open_launch(launch: FusedLaunch) -> list[OpenedOperator]:
    """The operators of a launch in order; the first has the operands of the op itself."""
    words = launch.kernel.removeprefix(_FUSED)
    if _FIX_PIPE in words and len(launch.operands) == _SLOTS:
        return list(_fix_pipe(launch))
    return _chain(launch, _operators_named(words))


def input_names(type_: str) -> tuple[str, ...]:
    """Inputs of one of CANN's operators by position; none where it is not known."""
    row = find_operator(type_)
    if type_ in INPUTS or row is None:
        return INPUTS.get(type_, ())
    return tuple(operand.name for operand in row.inputs)


def _fix_pipe(launch: FusedLaunch) -> Iterator[OpenedOperator]:
    """The product, a function before the sum, the sum, a function after it."""
    if any(launch.operands[slot] is not None for slot in _UNKNOWN_SLOTS):
        raise NotModeledError(Text("its fix pipe has factors or bounds"))
    types = [name for name in launch.types if name not in _FOLDED]
    added = launch.operands[_SUM]
    sums = [name for name in types if name in _SUMS]
    functions = [name for name in types if name in _ACTIVATIONS]
    if len(sums) + len(functions) != len(types) or len(sums) != (added is not None):
        found = ", ".join(types)
        raise NotModeledError(Text("its fix pipe does {operators}", operators=found or "?"))
    before, after = _sides(launch, functions)
    named = _nodes_of(launch)
    names = input_names(launch.type)
    head = dict(zip(names, launch.operands[:_SUM], strict=False))
    yield OpenedOperator(
        launch.type,
        {name: value for name, value in head.items() if value is not None},
        named.pop("", ""),
        tuple(node for node, name in named.items() if name in _FOLDED),
    )
    if before is not None:
        yield _function(launch, before, _FIRST_SLOPE, named, last=added is None)
    if added is not None:
        node = next((node for node, name in named.items() if name == sums[0]), "")
        yield OpenedOperator(
            "Add" if sums[0] == "Eltwise" else sums[0], {"x1": RESULT, "x2": added}, node
        )
    if after is not None:
        yield _function(launch, after, _SECOND_SLOPE, named, last=True)


def _sides(launch: FusedLaunch, functions: list[str]) -> tuple[str | None, str | None]:
    """The functions before and after the sum: slopes tell, or else the node that comes last."""
    first, second = (launch.operands[slot] for slot in (_FIRST_SLOPE, _SECOND_SLOPE))
    slopes = [name for name in functions if name == "PRelu"]
    others = [name for name in functions if name != "PRelu"]
    if len(slopes) != (first is not None) + (second is not None) or len(functions) > 2:  # noqa: PLR2004
        raise NotModeledError(Text("its slopes do not match its functions"))
    before = slopes[0] if first is not None else None
    after = slopes[-1] if second is not None else None
    if len(others) == 2:  # noqa: PLR2004  (one on each side)
        return others[0], others[1]
    if others and before is None and after is None:
        adds = launch.operands[_SUM] is not None
        ends_in_sum = launch.node_types.get(launch.last, "") in _SUMS
        return (None, others[0]) if adds and not ends_in_sum else (others[0], None)
    if others:
        return (others[0], after) if before is None else (before, others[0])
    return before, after


def _function(
    launch: FusedLaunch, type_: str, slot: int, named: dict[str, str], *, last: bool
) -> OpenedOperator:
    """A function of the result; its node is the launch's last one, or one of that operator."""
    slope = launch.operands[slot]
    operands: dict[str, Value | str] = {"x": RESULT}
    if slope is not None:
        operands["weight"] = slope
    nodes = [node for node, name in named.items() if name == type_]
    others = [node for node in nodes if node != launch.last]
    node = launch.last if last and launch.last in nodes else next(iter(others or nodes), "")
    return OpenedOperator(type_, operands, node)


def _nodes_of(launch: FusedLaunch) -> dict[str, str]:
    """Operators of nodes by node; the head's node stands under an empty name."""
    types = launch.node_types
    head = next((node for node in launch.nodes if node not in types), "")
    return {**types, "": head}


def _chain(launch: FusedLaunch, types: Sequence[str]) -> list[OpenedOperator]:
    """Operators one after another: each takes the result before it, and what it needs beside that."""
    needs = [_required(name) for name in types]
    operands = [value for value in launch.operands if value is not None]
    spare = len(operands) - needs[0] - sum(need - 1 for need in needs[1:])
    room = [len(input_names(name)) - need for name, need in zip(types, needs, strict=True)]
    taker = next((at for at, free in enumerate(room) if 0 < spare <= free), 0)
    if spare < 0 or spare > room[taker]:
        text = Text("{kernel} has {count} operands, which do not fit its operators")
        raise NotModeledError(text.with_values(kernel=launch.kernel, count=len(operands)))
    needs[taker] += spare
    rest = iter(operands)
    nodes = _nodes_in_order(launch, types)
    steps = [OpenedOperator(types[0], _named(types[0], rest, needs[0]), nodes[0])]
    for name, need, node in zip(types[1:], needs[1:], nodes[1:], strict=True):
        own: dict[str, Value | str] = {input_names(name)[0]: RESULT}
        more = _named(name, rest, need - 1, start=1)
        steps.append(OpenedOperator(name, own | more, node, assumed=name in _ORDERED))
    return steps


def _named(
    type_: str, values: Iterator[Value], count: int, start: int = 0
) -> dict[str, Value | str]:
    names = input_names(type_)[start : start + count]
    return {name: next(values) for name in names}


def _nodes_in_order(launch: FusedLaunch, types: Sequence[str]) -> list[str]:
    """The node of each operator, where there are as many; else the last one's alone."""
    if len(launch.nodes) == len(types):
        return list(launch.nodes)
    return ["" for _ in types[1:]] + [launch.last]


def _required(type_: str) -> int:
    row = find_operator(type_)
    if type_ in _REQUIRED or row is None:
        return _REQUIRED.get(type_, 1)
    return sum(not operand.optional for operand in row.inputs)


def _operators_named(words: str) -> list[str]:
    """The operators in the words of a kernel's name, up to its digests."""
    known = {_snake(name): name for name in (*INPUTS, *(row.name for row in operators()))} | _NAMES
    words = words.removesuffix("__kernel0")
    parts = list(takewhile(lambda part: not _DIGEST.fullmatch(part), words.split("_")))
    types: list[str] = []
    while parts:
        lengths = (n for n in range(len(parts), 0, -1) if "_".join(parts[:n]) in known)
        taken = next(lengths, 0)
        if not taken:
            name = "_".join(parts)
            raise NotModeledError(Text("its kernel computes {name}", name=repr(name)))
        types.append(known["_".join(parts[:taken])])
        parts = parts[taken:]
    return types


_DIGEST = re.compile("[0-9a-f]{8,}")


def _snake(name: str) -> str:
    """An operator's name in the words of kernels: LeakyRelu is leaky_relu, PRelu is prelu."""
    made = ""
    for at, letter in enumerate(name):
        if letter.isupper() and at and name[at - 1].islower():
            made += "_"
        made += letter.lower()
    return made
