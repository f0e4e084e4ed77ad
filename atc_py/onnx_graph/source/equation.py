"""Equations of Einsum, as ONNX reads them.

`ab, bc -> ac`: a letter for each axis of an operand, operands between commas, the axes of the result
after an arrow. Blanks mean nothing. Without an arrow the result has the letters that occur once, in
alphabetical order.

Alone, because models without Einsum need none of it.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

_BLANKS = re.compile(r"\s+")
_FORM = re.compile(r"[A-Za-z]*(?:,[A-Za-z]*)*(?:->[A-Za-z]*)?")
"""Equations without an ellipsis."""


class Equation(msgspec.Struct, frozen=True):
    """An equation without an ellipsis."""

    operands: tuple[str, ...]
    result: str

    @property
    def renamed(self) -> Equation:
        """The equation with its letters named a, b, c and so on, as they come up."""
        text = str(self)
        letters = dict.fromkeys(char for char in text if char.isalpha())
        names = {ord(letter): chr(ord("a") + place) for place, letter in enumerate(letters)}
        return Equation(
            tuple(operand.translate(names) for operand in self.operands),
            self.result.translate(names),
        )

    def __str__(self) -> str:
        return f"{','.join(self.operands)}->{self.result}"


def read_equation(text: str) -> Equation | None:
    """Read an equation; None for one with an ellipsis, and for what is no equation."""
    plain = _BLANKS.sub("", text)
    if not _FORM.fullmatch(plain):
        return None
    operands, arrow, result = plain.partition("->")
    if not arrow:
        counts = Counter(operands.replace(",", ""))
        result = "".join(sorted(letter for letter, count in counts.items() if count == 1))
    return Equation(tuple(operands.split(",")), result)
