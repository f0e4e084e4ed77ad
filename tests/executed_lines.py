"""Lines that functions execute, as a measure of work that no clock and no busy machine disturbs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import atc_py

STEEP = 3.0
"""Growth of the growth from which on it is not in proportion: 2 is, 4 is a square."""

MORE = 2.2
"""Growth from the second to the third size below which it is in proportion after all: where what
is done depends on the shape, the first size may have had more than its share."""

FEW = 150
"""Lines more from the first to the second size that do not matter. What begins to be done at some
size, as parts of a file that are long, executes none there."""

PACKAGE = str(Path(atc_py.__file__).parent)


def executed(action: Callable[[], object], within: str) -> Counter[CodeType]:
    """Return the number of lines that each function below `within` executes in `action`."""
    found: Counter[CodeType] = Counter()

    def line(frame: FrameType, _event: str, _what: Any) -> Any:
        found[frame.f_code] += 1
        return line

    def call(frame: FrameType, _event: str, _what: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(within) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        action()
    finally:
        sys.settrace(before)
    return found


def steep(counts: Iterable[Counter[CodeType]]) -> dict[str, list[int]]:
    """Return the functions with work out of proportion, and what they executed at each size."""
    small, middle, large = counts
    found = {}
    for code, most in large.items():
        numbers = [small[code], middle[code], most]
        first, second = numbers[1] - numbers[0], numbers[2] - numbers[1]
        if first > FEW and second > STEEP * first and numbers[2] > MORE * numbers[1]:
            found[f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}"] = numbers
    return found
