"""Ranges of shapes: every combination of dims that a text or a file of texts names."""

from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path

from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, refused
from atc_py.system.cache_folders import is_file
from atc_py.system.input_files import read_text

_MOST_BYTES = 1 << 20
_MOST_SHAPES = 10_000
_LARGEST = 2**31 - 1


def shapes_in_range(given: str) -> list[str]:
    """The texts of all shapes of `name:1,3,224~448~32;other:1,2-4`, or of such lines of a file."""
    lines = [given]
    if is_file(given):
        with as_runtime_errors():
            text = read_text(Path(given), _MOST_BYTES)
        lines = [line for line in text.split("\n") if line]
    found = [shape for line in lines for shape in _combinations(line)]
    if not found:
        raise refused(f"{given} names no shape")
    return found


def _combinations(line: str) -> list[str]:
    inputs = [_shapes_of_input(part) for part in line.split(";")]
    count = prod(map(len, inputs))
    if count > _MOST_SHAPES:
        raise refused(f"{line} names {count} shapes, at most {_MOST_SHAPES} are run")
    return [";".join(parts) for parts in product(*inputs)]


def _shapes_of_input(part: str) -> list[str]:
    name, separator, text = part.rpartition(":")
    try:
        dims = [_values(item) for item in text.split(",")]
    except ValueError:
        dims = []
    if not separator or not dims:
        raise refused(f"the range {part!r} is not name:1,3,224~448")
    count = prod(map(len, dims))
    if count > _MOST_SHAPES:
        raise refused(f"{part} names {count} shapes, at most {_MOST_SHAPES} are run")
    return [f"{name}:{','.join(map(str, shape))}" for shape in product(*dims)]


def _values(item: str) -> Sequence[int]:
    """The values of one dim: `n`, `a~b`, `a~b~step` or `a-b-c`."""
    if "~" in item:
        first, last, *step = map(_dim, item.split("~"))
        found = range(first, last + 1, step[0] if step else 1)
        if len(step) > 1 or not found:
            raise ValueError(item)
        return found
    return [_dim(each) for each in item.split("-")]


def _dim(text: str) -> int:
    found = int(text)
    if not 0 <= found <= _LARGEST:
        raise ValueError(text)
    return found
