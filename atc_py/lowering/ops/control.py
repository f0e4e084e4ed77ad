"""Lowering of control flow: If."""

from collections.abc import Sequence
from functools import partial

from atc_py.ir import TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.lowering.scope import Scope
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_BRANCHES = ("else_branch", "then_branch")
"""In the order of Switch's outputs: condition false, condition true."""


@lowering("If")
def lower_if(b: Builder) -> Sequence[Value]:
    """Lower If to both branches' nodes, a Switch for each capture, a Merge for each result.

    A node whose input is dead does not run, so the branch that is not taken costs nothing. What a
    branch computes from constants alone, or outputs as a constant, passes a Switch at its end.
    """
    if b.source(0).required_dtype is not DType.BOOL:
        text = Text("needs a bool as cond, found {found}")
        raise b.bad(text.with_values(found=b.source(0).required_dtype.value), "input cond")
    switches = _Switches(b)
    results: list[list[Value]] = []
    for side, name in enumerate(_BRANCHES):
        branch = b.node.branches.get(name)
        typed = branch and [each for each in branch.outputs if each.is_typed]
        if branch is None or len(typed or ()) < len(b.node.outputs):
            raise b.bad(Text("needs both branches with all of its outputs"), f"attribute {name}")
        # Alive only where the branch is taken.
        scope = Scope(b.scope, partial(switches.side, side=side))
        b.lower_nodes(branch.nodes, scope)
        inner = b.with_scope(scope)
        results.append([scope.close(inner.value(source)) for source in branch.outputs])
    return [
        _merge(b, pair, position) if b.wants_output(position) else pair[0]
        for position, pair in enumerate(zip(*results, strict=False))
    ]


class _Switches:
    """The Switch nodes of one If, one for each value that enters a branch."""

    def __init__(self, b: Builder) -> None:
        self._b = b
        # In a branch that is not taken, both branches of an If in it must be dead.
        self._condition = b.scope.close(b.input(0))
        self._made: dict[Value, tuple[Value, ...]] = {}

    def side(self, value: Value, side: int) -> Value:
        """`value`, alive where the condition is `side`."""
        if value not in self._made:
            outputs = [(f"{value.name}.{word}", value.type) for word in ("else", "then")]
            self._made[value] = self._b.ops("Switch", [value, self._condition], outputs)
        return self._made[value][side]


def _merge(b: Builder, pair: tuple[Value, ...], position: int) -> Value:
    wanted = b.output_type(position)
    dtypes = {value.type.dtype for value in pair}
    if dtypes != {wanted.dtype} or any(value.type.rank != wanted.rank for value in pair):
        text = Text("has branches that output {one} and {other} as one output")
        types = {"one": pair[1].type, "other": pair[0].type}
        raise b.bad(text.with_values(**types), Text("output {at}", at=position))
    sides = zip(*(value.type.dims for value in pair), strict=True)
    dims = tuple(side[0] if len(set(side)) == 1 else None for side in sides)
    name = b.output_name(position)
    return b.op("Merge", pair, TensorType(wanted.dtype, dims), label=name)
