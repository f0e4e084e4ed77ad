"""Rule einsum-as-product: sums of products of two operands as one product of matrices, batch axes before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_OPERANDS = 2


@fix_rule(
    "einsum-as-product",
    ("Einsum",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Einsum of one or two operands, each letter once an operand",
            "每个操作数内字母不重复的一元或二元 Einsum",
        ),
        after=Words(
            "ReduceSum, Transpose, Reshape, MatMul, Reshape, Transpose",
            "ReduceSum、Transpose、Reshape、MatMul、Reshape、Transpose",
        ),
        condition=Words(
            "dims are known; no ellipsis; no letter twice in an operand",
            "形状已知；无省略号；同一操作数内字母不重复",
        ),
    ),
    example=RuleCase(
        "Einsum", (Fed((2, 3, 4)), Fed((2, 4, 5))), {"equation": "bij,bjk->bki"}, opset=12
    ),
    near_miss=RuleCase("Einsum", (Fed((3, 3)),), {"equation": "ii->i"}, opset=12),
)
def einsum_as_product(site: Site) -> Sequence[str]:
    """Write the product over the letters that the result has not."""
    terms, result = _letters(site.text("equation", ""))
    require(
        len(terms) == len(site.node.inputs) <= _OPERANDS,
        "there are one or two operands",
        "一个或两个操作数",
    )
    require(
        all(len(set(each)) == len(each) for each in (*terms, result)),
        "no letter twice",
        "字母不重复",
    )
    sizes: dict[str, int] = {}
    for position, term in enumerate(terms):
        dims = site.shape(position)
        require(len(dims) == len(term), "an axis for each letter", "每个字母对应一轴")
        for letter, dim in zip(term, dims, strict=True):
            require(
                sizes.setdefault(letter, dim) == dim,
                "dims of a letter are equal",
                "同一字母的大小相同",
            )
    kept = [
        _summed(site, at, term, {*result, *terms[1 - at]} if len(terms) > 1 else set(result))
        for at, term in enumerate(terms)
    ]
    if len(kept) == 1:
        x, letters = kept[0]
        return [site.transpose(x, [letters.index(each) for each in result])]
    (a, left), (b, right) = kept
    batch = [each for each in left if each in right and each in result]
    inner = [each for each in left if each in right and each not in result]
    rows = [each for each in left if each not in right]
    columns = [each for each in right if each not in left]
    product = site.op(
        "MatMul",
        [
            _matrices(site, a, left, [batch, rows, inner], sizes),
            _matrices(site, b, right, [batch, inner, columns], sizes),
        ],
    )
    order = [*batch, *rows, *columns]
    y = site.reshape(product, [sizes[each] for each in order])
    return [site.transpose(y, [order.index(each) for each in result])]


def _letters(equation: str) -> tuple[list[str], str]:
    """Return the letters of the operands and of the result."""
    text = equation.replace(" ", "")
    require("." not in text, "no ellipsis", "无省略号")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(each for each in set(left) - {","} if left.count(each) == 1))
    return terms, right


def _summed(site: Site, position: int, term: str, needed: set[str]) -> tuple[str, str]:
    """Return an operand without the letters that nothing else has."""
    gone = [at for at, letter in enumerate(term) if letter not in needed]
    if not gone:
        return site.name(position), term
    x = site.reduce("ReduceSum", site.name(position), gone, keepdims=False)
    return x, "".join(each for each in term if each in needed)


def _matrices(
    site: Site, x: str, letters: str, groups: list[list[str]], sizes: dict[str, int]
) -> str:
    """Return an operand with one axis for each group of letters, the first group left apart."""
    order = [each for group in groups for each in group]
    x = site.transpose(x, [letters.index(each) for each in order])
    dims = [sizes[each] for each in groups[0]]
    dims += [int(np.prod([sizes[each] for each in group], dtype=np.int64)) for group in groups[1:]]
    return site.reshape(x, dims)
