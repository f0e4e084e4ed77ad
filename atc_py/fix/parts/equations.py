"""Equations of Einsum, with a letter for every axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["terms_of"]

_ELLIPSIS = "..."
_FIRST_FREE = 0x100
"""Code of the first letter for axes of an ellipsis; equations have ASCII letters."""


def terms_of(equation: str, ranks: Sequence[int]) -> tuple[list[str], str, frozenset[str]]:
    """Return the letters of the operands, those of the result, and those of the ellipsis.

    Axes of an ellipsis are counted from the last. Without a result, it has those axes and then, in
    order, the letters that come up once.

    Args:
        equation: as ONNX has it.
        ranks: of the operands.

    Raises:
        UnfitError: there are other numbers of terms or letters than of operands and axes.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    given = left.split(",")
    require(len(given) == len(ranks), "there is a term for each operand", "每个操作数对应一项")
    widths = [
        rank - len(term.replace(_ELLIPSIS, "")) if _ELLIPSIS in term else 0
        for term, rank in zip(given, ranks, strict=True)
    ]
    most = max(widths)
    free = "".join(chr(_FIRST_FREE + at) for at in range(most))
    terms = [
        term.replace(_ELLIPSIS, free[most - width :] if width > 0 else "")
        for term, width in zip(given, widths, strict=True)
    ]
    fits = all(len(term) == rank for term, rank in zip(terms, ranks, strict=True))
    require(fits and "." not in "".join(terms), "there is a letter for each axis", "每轴一个字母")
    letters = left.replace(_ELLIPSIS, "").replace(",", "")
    once = sorted(each for each in set(letters) if letters.count(each) == 1)
    result = right.replace(_ELLIPSIS, free) if arrow else free + "".join(once)
    known = set(result) <= set("".join(terms)) and len(set(result)) == len(result)
    require(
        known, "the result has letters of the operands, each once", "结果字母取自操作数且不重复"
    )
    return terms, result, frozenset(free)
