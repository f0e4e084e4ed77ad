"""Names, strings and numbers of the text form: how they are spelled and read back exactly."""

import json
import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atc_py.tensor.dtypes import DType

BARE_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.]*"
"""Pattern of a name after `%` or `@` that needs no quotes."""

WORD = r"[A-Za-z_][A-Za-z0-9_]*"
"""Keywords, and operators and attributes that need no quotes."""

STRING = r'"(?:[^"\\\n]|\\.)*"'
"""A JSON string; the text between the quotes is checked when it is decoded."""

_BARE_NAME = re.compile(BARE_NAME)
_WORD = re.compile(WORD)

_SHORT = 6
"""Exact decimals of at most this many characters are not worth shortening."""


def quoted(text: str) -> str:
    """`text` as a JSON string, on one line; letters of any script stay readable."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def name_text(name: str) -> str:
    """A name as it follows `%` or `@`."""
    return name if _BARE_NAME.fullmatch(name) else quoted(name)


def word_text(word: str) -> str:
    """The name of an operator or attribute."""
    return word if _WORD.fullmatch(word) else quoted(word)


def float_text(value: float) -> str:
    """The shortest decimal that reads back as `value`; never like an integer."""
    return repr(float(value))


def element_text(value: np.generic, dtype: DType) -> str:
    """An element of a tensor of `dtype`: the shortest text that gives the same element."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    number = float(value)
    exact = float_text(number)
    if len(exact) <= _SHORT or not math.isfinite(number):
        return exact
    return _shortest_decimal(number, dtype) or exact


def _shortest_decimal(number: float, dtype: DType) -> str | None:
    """The decimal with the fewest digits that `dtype` rounds to `number`."""
    for digits in range(1, 17):
        short = float(f"{number:.{digits}g}")
        if float(array_of([short], dtype)[0]) == number:
            return float_text(short)
    return None


def array_of(values: Sequence[float | bool], dtype: DType) -> npt.NDArray[np.generic]:
    """`values` rounded to `dtype`; a float beyond its range becomes an infinity."""
    if not dtype.is_float:
        return np.array(values, dtype=dtype.numpy)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.array(values, dtype=np.float64).astype(dtype.numpy)


def integer_range(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype."""
    bits = dtype.bits
    if dtype.value.startswith("u"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
