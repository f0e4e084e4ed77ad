"""Data for one node: random ones, and boundary values of the types, ranges and indices of its inputs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.region_inputs import DrawnInput
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

FLOAT32_STEP = 2.0**-23
_BFLOAT16_STEP = 2.0**-7


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for numpy's own floats, and for bfloat16."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def step_of(dtype: np.dtype[Any]) -> float:
    """The step of a float dtype at 1; that of float32 for other dtypes."""
    if dtype.name == "bfloat16":
        return _BFLOAT16_STEP
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else FLOAT32_STEP


def moved(values: NDArray[Any], seed: int, least: float = 0.0) -> NDArray[Any]:
    """Floats moved by one step, up or down at random; other data as they are.

    `least` is the part of each value that it moves by at least.
    """
    if not is_float(values.dtype):
        return values
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], values.shape)
    share = max(step_of(values.dtype), least)
    with np.errstate(all="ignore"):
        return np.asarray(values * (1 + signs * share)).astype(values.dtype)


_POOLS = frozenset({"GlobalMaxPool", "MaxPool", "MaxRoiPool"})
"""Operators that get no infinities: kernels of onnxruntime begin at the lowest number or below it."""

ORDERING = frozenset(
    {
        "ArgMax",
        "ArgMin",
        "Clip",
        "Hardmax",
        "Max",
        "Min",
        "ReduceMax",
        "ReduceMin",
        "TopK",
        "Unique",
    }
)
"""Operators whose results depend on the order of the elements, in which ONNX has no place for NaN."""


def odd_values(operators: Collection[str]) -> Mapping[str, Sequence[float]]:
    """The values beyond numbers for which an exact form gives the same results.

    `operators` are those of the node and of the graphs in it.
    """
    if not _POOLS.isdisjoint(operators):
        return {}
    infinities = {"infinities": (float("inf"), float("-inf"))}
    if not ORDERING.isdisjoint(operators):
        return infinities
    return {**infinities, "NaN": (float("nan"),)}


OWN_RUN = "the model's own run"
"""Label of the values that a run of the model has."""

_SMALL = 16
"""Random integers are within this magnitude where their range allows."""

_TINY = 1e-6
"""Magnitude of tiny floats."""

_TIES = 4
"""Numbers of halves on either side of 0 among floats with many equal values."""

_FEW = 1 << 22
"""Elements above which only random data and the first boundary values are drawn."""

_LEAST = 3
"""Sets that are drawn in any case."""

Draw = Callable[[np.random.Generator, "DrawnInput"], "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Data for all inputs."""

    label: str  # the values, in words
    feeds: dict[str, NDArray[Any]]  # by name
    # whether errors are a part of this run's largest magnitude, which is far from that of random
    # data
    own_scale: bool = False


@dataclass(frozen=True, slots=True)
class Kinds:
    """Boundary values that suit a node."""

    large: float  # magnitude of large floats
    # whether results keep their magnitude whatever the inputs are: errors of all runs are then
    # parts of one magnitude
    bounded: bool
    lowest: bool  # whether the lowest integer of a dtype may be among the data
    # further sets of floats: in words, and the values among them
    odd: Mapping[str, Sequence[float]]


def data_sets(
    inputs: Sequence[DrawnInput], seeds: Sequence[int], kinds: Kinds
) -> Iterator[DataSet]:
    """Yield sets of data for `inputs`.

    Each of `seeds` gives a random set; `kinds` are the boundary values that suit the node.
    """
    elements = sum(prod(tensor.shape) for tensor in inputs)
    lowest, made = kinds.lowest, 0
    for seed in seeds:
        yield DataSet(
            Text("random data of seed {seed}", seed=seed),
            _draw_feeds(inputs, _random, seed, lowest),
        )
        made += 1
        if elements > _FEW:
            break
    floats = any(tensor.dtype.is_float for tensor in inputs)
    for label, floating, whole, is_far in _boundaries(kinds.large):
        if (elements > _FEW and made >= _LEAST) or not inputs:
            return
        draw = _draw_by_kind(floating, whole)
        yield DataSet(
            label, _draw_feeds(inputs, draw, made, lowest), own_scale=is_far and not kinds.bounded
        )
        made += 1
    for label, odd in kinds.odd.items() if floats and elements <= _FEW else ():
        feeds = _draw_feeds(inputs, _draw_by_kind(_with_odd(odd), _random), made, lowest)
        yield DataSet(label, feeds)


def _draw_feeds(
    inputs: Sequence[DrawnInput], draw: Draw, seed: int, lowest: bool
) -> dict[str, NDArray[Any]]:
    results = {}
    for position, tensor in enumerate(inputs):
        generator = np.random.default_rng([seed, position, 2])
        results[tensor.name] = _fit_values(tensor, draw(generator, tensor), lowest=lowest)
    return results


def _fit_values(one: DrawnInput, values: NDArray[Any], *, lowest: bool) -> NDArray[Any]:
    """`values` in the dtype and the domain of an input."""
    if one.dtype.is_float:
        data = values if one.negative else np.abs(values)
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(data.astype(one.dtype.numpy)).reshape(one.shape)
    low, high = _bounds(one, lowest=lowest)
    data = np.clip(values, low, high)
    if not one.zero:
        data = np.where(data == 0, high if high != 0 else low, data)
    return np.ascontiguousarray(data.astype(one.dtype.numpy)).reshape(one.shape)


def _bounds(one: DrawnInput, *, lowest: bool) -> tuple[int, int]:
    if one.dtype is DType.BOOL:
        return 0, 1
    if one.dtype is DType.INT4:
        limits = (-8, 7)
    else:
        info = np.iinfo(one.dtype.numpy)
        limits = (int(info.min), int(info.max))
    low, high = one.bounds or limits
    low, high = max(low, limits[0]), min(high, limits[1])
    if not lowest and low == limits[0] and low < 0:
        low += 1
    # A float64 or int64 cannot hold the largest uint64.
    return low, min(high, 2**63 - 1)


def _random(generator: np.random.Generator, one: DrawnInput) -> NDArray[Any]:
    if one.dtype.is_float:
        return generator.standard_normal(one.shape, np.float32)
    low, high = _bounds(one, lowest=True)
    # Where only the dtype bounds integers they are small: sums and products of them stay exact.
    if high - low > 2 * _SMALL and low <= 0 <= high and one.bounds is None:
        low, high = max(low, -_SMALL), min(high, _SMALL)
    return generator.integers(low, high, one.shape, dtype=np.int64, endpoint=True)


def _draw_by_kind(floating: Draw, whole: Draw) -> Draw:
    return lambda generator, one: (floating if one.dtype.is_float else whole)(generator, one)


def _fill(value: float) -> Draw:
    return lambda _generator, one: np.full(one.shape, value, np.float64)


def _scale(factor: float) -> Draw:

    def draw(generator: np.random.Generator, one: DrawnInput) -> NDArray[Any]:
        values = np.asarray(generator.standard_normal(one.shape))
        values *= factor
        return values

    return draw


def _among(*values: float) -> Draw:
    return lambda generator, one: generator.choice(np.array(values), one.shape)


def _with_odd(values: Sequence[float]) -> Draw:

    def draw(generator: np.random.Generator, one: DrawnInput) -> NDArray[Any]:
        odd = generator.choice(np.array(values), one.shape)
        plain = generator.standard_normal(one.shape)
        return np.where(generator.random(one.shape) < 1 / 4, odd, plain)

    return draw


def _end(high: bool) -> Draw:
    return lambda _generator, one: np.full(
        one.shape, _bounds(one, lowest=True)[int(high)], np.int64
    )


def _ends(generator: np.random.Generator, one: DrawnInput) -> NDArray[Any]:
    """Integers at both ends of their range, and next to 0."""
    low, high = _bounds(one, lowest=True)
    near = [each for each in (-1, 0, 1) if low <= each <= high]
    return generator.choice(np.array([low, high, *near], np.int64), one.shape)


_HALVES = _among(*(each / 2 for each in range(-_TIES, _TIES + 1)))
_WHOLE = _among(*range(-_TIES, _TIES + 1))


def _boundaries(large: float) -> Sequence[tuple[str, Draw, Draw, bool]]:
    """Boundary values: in words, how floats and integers are drawn, and whether floats are far from 1."""
    sizes = (0.5, 1.0, 1.5, 2.5, _TINY, large / 100, large)
    mixed = _among(0.0, *sizes, *(-siz for siz in sizes))
    return (
        ("many equal values", _HALVES, _ends, False),
        ("zeros", _fill(0), _fill(0), False),
        ("ones", _fill(1), _fill(1), False),
        ("negative ones", _fill(-1), _fill(-1), False),
        ("values of all magnitudes", mixed, _WHOLE, True),
        ("large values", _scale(large), _end(high=True), True),
        ("tiny values", _scale(_TINY), _end(high=False), False),
    )
