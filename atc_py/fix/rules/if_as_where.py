"""Rule if-as-where: an If with refused nodes in it, whose branches both run and whose results are chosen.

ONNX, If: one of two graphs runs. Where both can run whatever the condition is, running both and
choosing afterwards yields the same bits, at the cost of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, RuleCase
from atc_py.fix.parts.bodies import body_of
from atc_py.fix.parts.steps import check_room
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.frontend.rewriting.total_nodes import may_repeat_always, may_run_always
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.frontend.folding.graph import ValueType
    from atc_py.source import SourceTensor
    from atc_py.tensor.shapes import Shape

__all__: list[str] = []

_LISTED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32, DType.UINT8})
"""What the lists let Where choose from."""

_WHERE_SINCE = 9

_BRANCHES = ("then_branch", "else_branch")

_XOR = CaseGraph({}, ("r",), (("Xor", ("x0", "x0"), ("r",), {}),))
_NOT = CaseGraph({}, ("s",), (("Not", ("x0",), ("s",), {}),))
_ROW = CaseGraph({}, ("s",), (("Unsqueeze", ("x0",), ("s",), {"axes": [0]}),))


@fix_rule(
    "if-as-where",
    ("If",),
    Exactness.EQUAL,
    RuleText(
        before=Words("If whose condition is known at run time alone", "条件在运行时才确定的 If"),
        after=Words(
            "both branches, and a choice of each result: Where for floats, int8, uint8 and int32, "
            "And and Or for bool, Concat and Gather for other integers; both branches take time",
            "两个分支都执行，再选择各结果：浮点、int8、uint8、int32 用 Where，bool 用 And 与 Or，"
            "其余整数用 Concat 与 Gather；两个分支的耗时都要计入",
        ),
        condition=Words(
            "the If or a node in it is refused; both branches return tensors of one dtype and dims; "
            "no node in them draws random numbers, or can fail for some values "
            "(an integer divided by what may be 0, indices or dims computed at run time)",
            "If 或其中的节点被拒绝；两个分支的结果类型与形状相同；其中没有随机数，"
            "也没有因数值而失败的节点",
        ),
    ),
    example=RuleCase(
        "If", (Fed((), DType.BOOL),), {"then_branch": _XOR, "else_branch": _NOT}, opset=11
    ),
    near_miss=RuleCase(
        "If", (Fed((), DType.BOOL),), {"then_branch": _XOR, "else_branch": _ROW}, opset=11
    ),
)
def if_as_where(site: Site) -> Sequence[str]:
    """Write both branches, and the choice of each result."""
    bodies = [body_of(site, name) for name in _BRANCHES]
    known = site.node.branches
    require(set(known) >= set(_BRANCHES), "both branches can be read", "两个分支均可读取")
    inner = [each for name in _BRANCHES for each in known[name].nodes]
    constants = site.around.graph.consts if site.around is not None else {}
    repeated = site.work is not None and may_repeat_always(site.work.proto, constants)
    require(
        repeated and all(map(may_run_always, inner)),
        "every node of the branches is defined for all values",
        "分支内的节点对任何数值都有定义",
    )
    for body in bodies:
        check_room(site, body, 1)
    types = [
        [
            _type_of(tensor, stated)
            for tensor, stated in zip(known[name].outputs, body.types, strict=True)
        ]
        for name, body in zip(_BRANCHES, bodies, strict=True)
    ]
    used = [site.output(at) is not None for at in range(len(types[0]))]
    for one, another, is_used in zip(*types, used, strict=True):
        alike = one is not None and one == another
        en, zh = (
            "both branches return the same dtype and known dims",
            "两个分支结果的类型与形状已知且相同",
        )
        require(alike or not is_used, en, zh)
    then, other = (site.inline(body, []) for body in bodies)
    condition = _scalar(site)
    return [
        _choice(site, condition, (a, b), found) if is_used and found is not None else ""
        for a, b, found, is_used in zip(then, other, types[0], used, strict=True)
    ]


def _type_of(tensor: SourceTensor, stated: ValueType | None) -> tuple[DType, Shape] | None:
    """Return the type of a result, which the file may state where it is not inferred."""
    if tensor.dtype is not None and not tensor.is_open:
        return tensor.dtype, tensor.shape
    dtype = None if stated is None else dtype_of_element(stated.element)
    shape = None if stated is None else stated.shape
    return None if dtype is None or shape is None else (dtype, shape)


def _scalar(site: Site) -> str:
    """Return the condition without axes."""
    dims = site.shape(0)
    return site.squeeze(site.name(0), range(len(dims))) if dims else site.name(0)


def _choice(
    site: Site, condition: str, results: tuple[str, str], known: tuple[DType, Shape]
) -> str:
    """Write the choice of one result."""
    (then, other), (dtype, shape) = results, known
    if then == other:
        return then
    if dtype in _LISTED and site.opset >= _WHERE_SINCE:
        return site.op("Where", [condition, then, other])
    if dtype is DType.BOOL:
        first = site.op("And", [condition, then])
        second = site.op("And", [site.op("Not", [condition]), other])
        return site.op("Or", [first, second])
    rows = [site.reshape(each, [1, *shape]) for each in (other, then)]
    place = site.cast(condition, DType.INT32)
    return site.op("Gather", [site.op("Concat", rows, axis=0), place], axis=0)
