"""Rule einsum-as-product: sums of products of operands as products of matrices, two operands at a time, batch axes before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.equations import terms_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor whose axes have letters, each letter once."""

    name: str
    letters: str


@fix_rule(
    "einsum-as-product",
    ("Einsum",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Einsum", "Einsum"),
        after=Words(
            "Gather of diagonals, ReduceSum, Transpose, Reshape, MatMul, Reshape, Transpose",
            "Gather 取对角、ReduceSum、Transpose、Reshape、MatMul、Reshape、Transpose",
        ),
        condition=Words(
            "dims are known; only axes of an ellipsis broadcast",
            "形状已知；仅省略号的轴可广播",
        ),
    ),
    example=RuleCase(
        "Einsum", (Fed((2, 3, 4)), Fed((2, 4, 5))), {"equation": "bij,bjk->bki"}, opset=12
    ),
    near_miss=RuleCase("Einsum", (Fed((3, 1)), Fed((3, 4))), {"equation": "ij,ij->i"}, opset=12),
)
def einsum_as_product(site: Site) -> Sequence[str]:
    """Write the products over the letters that the result has not."""
    ranks = [len(site.shape(at)) for at in range(len(site.node.inputs))]
    terms, result, free = terms_of(site.text("equation", ""), ranks)
    sizes: dict[str, int] = {}
    for position, term in enumerate(terms):
        for letter, dim in zip(term, site.shape(position), strict=True):
            known = sizes.setdefault(letter, dim)
            if letter in free and 1 in (known, dim):
                sizes[letter] = max(known, dim)
                continue
            require(known == dim, "dims of a letter are equal", "同一字母的大小相同")
    operands = [_operand(site, at, term, sizes) for at, term in enumerate(terms)]
    x = _summed(site, operands[0], {*result, *(each for y in operands[1:] for each in y.letters)})
    for at, operand in enumerate(operands[1:], 2):
        later = {*result, *(each for y in operands[at:] for each in y.letters)}
        x = _product(site, x, _summed(site, operand, {*later, *x.letters}), later, sizes)
    return [site.transpose(x.name, [x.letters.index(each) for each in result])]


def _operand(site: Site, position: int, term: str, sizes: Mapping[str, int]) -> _Operand:
    """Return an operand without the axes that broadcast, with the diagonals of repeated letters."""
    dims = site.shape(position)
    kept = [at for at, letter in enumerate(term) if dims[at] == sizes[letter]]
    x = site.name(position)
    if len(kept) < len(term):
        x = site.reshape(x, [dims[at] for at in kept])
    letters = "".join(term[at] for at in kept)
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            x, letters = _diagonal(site, x, letters, letter, sizes)
    return _Operand(x, letters)


def _diagonal(
    site: Site, x: str, letters: str, letter: str, sizes: Mapping[str, int]
) -> tuple[str, str]:
    """Return the diagonal of the first two axes of a letter, as the last axis."""
    size = sizes[letter]
    pair = [at for at, each in enumerate(letters) if each == letter][:2]
    others = [at for at in range(len(letters)) if at not in pair]
    x = site.transpose(x, [*others, *pair])
    x = site.reshape(x, [*(sizes[letters[at]] for at in others), size * size])
    places = site.const(tables.arange(size) * (size + 1), label="diagonal")
    x = site.op("Gather", [x, places], axis=len(others))
    return x, "".join(letters[at] for at in others) + letter


def _summed(site: Site, x: _Operand, needed: set[str]) -> _Operand:
    """Return an operand without the letters that nothing else has."""
    gone = [at for at, letter in enumerate(x.letters) if letter not in needed]
    if not gone:
        return x
    name = site.reduce("ReduceSum", x.name, gone, keepdims=False)
    return _Operand(name, "".join(each for each in x.letters if each in needed))


def _product(
    site: Site, a: _Operand, b: _Operand, later: set[str], sizes: Mapping[str, int]
) -> _Operand:
    """Return the product of two operands, summed over the letters that nothing has later."""
    both = [each for each in a.letters if each in b.letters]
    batch = [each for each in both if each in later]
    inner = [each for each in both if each not in later]
    rows = [each for each in a.letters if each not in b.letters]
    columns = [each for each in b.letters if each not in a.letters]
    product = site.op(
        "MatMul",
        [
            _matrices(site, a, [batch, rows, inner], sizes),
            _matrices(site, b, [batch, inner, columns], sizes),
        ],
    )
    order = [*batch, *rows, *columns]
    return _Operand(site.reshape(product, [sizes[each] for each in order]), "".join(order))


def _matrices(site: Site, x: _Operand, groups: list[list[str]], sizes: Mapping[str, int]) -> str:
    """Return an operand with one axis for each group of letters, the first group left apart."""
    order = [each for group in groups for each in group]
    name = site.transpose(x.name, [x.letters.index(each) for each in order])
    dims = [sizes[each] for each in groups[0]]
    dims += [int(np.prod([sizes[each] for each in group], dtype=np.int64)) for group in groups[1:]]
    return site.reshape(name, dims)
