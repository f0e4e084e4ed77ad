"""What each function does grows with the number of nodes, not with its square.

No clock is read: the lines that every function of the package executes are counted while models of
three sizes, each twice the one before, are converted, opened and checked. Work in proportion grows
by twice as much from the second to the third as from the first to the second; that of a function
which goes through all nodes at each of them by four times as much.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import pytest

import atc_py
from atc_py.package.reader import open_model
from tests.bench.growing_models import SHAPES
from tests.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

SIZES = (60, 120, 240)
ALWAYS = ("convolutions", "fan out", "many outputs", "quantized layers", "transformer")
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


@pytest.mark.parametrize("shape", sampled(ALWAYS, (each for each in SHAPES if each not in ALWAYS)))
def test_work_grows_with_the_number_of_nodes(shape: str, tmp_path: Path) -> None:
    def compiled(nodes: int) -> None:
        path = tmp_path / f"{nodes}.onnx"
        atc_py.convert(path, tmp_path / "m.om")
        with open_model(tmp_path / "m.om"):
            pass
        atc_py.check_models(path)

    for nodes in (SIZES[0] // 2, *SIZES):
        onnx.save(SHAPES[shape](nodes), tmp_path / f"{nodes}.onnx")
    compiled(SIZES[0] // 2)  # caches fill
    counts = [executed(lambda nodes=nodes: compiled(nodes), PACKAGE) for nodes in SIZES]  # type: ignore[misc]
    assert sum(counts[0].values()) > 100 * SIZES[0]
    assert steep(counts) == {}


def test_work_with_the_square_of_a_number_is_found() -> None:
    def squared(count: int) -> list[int]:
        return [sum(other < each for other in range(count)) for each in range(count)]

    def proportional(count: int) -> list[int]:
        return [each for _ in range(40) for each in range(count)]

    for function, names in ((squared, {"<genexpr>"}), (proportional, set())):
        counts = [
            executed(lambda size=size: function(size), __file__)  # type: ignore[misc]  # noqa: B023
            for size in SIZES
        ]
        assert {name.split()[-1] for name in steep(counts)} == names
