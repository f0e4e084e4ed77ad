"""Assumptions of the cost model: the free factors, and the three cases that make up a range.

The figures of a SoC's row are facts. What share of them kernels reach, and what a launch costs,
are not published; they are the free factors here, which measurements refit.
"""

from enum import Enum

import msgspec

from atc_py.system.structs import Result, replace


class Cache(Enum):
    """Share of the data found in the L2 cache rather than in device memory.

    ALL: everything where a kernel's data fit, and else what kernels of the same run computed:
        cut into slices that go through several kernels, they need not leave the cache.
    RESULTS: what a kernel of the same run computed, where it fits into half of the cache.
    NOTHING: nothing.
    """

    ALL = "all"
    RESULTS = "results"
    NOTHING = "nothing"


class Factors(Result, frozen=True):
    """The free factors.

    Attributes:
        cube: share of the cube's peak rate that a kernel reaches while the cube is busy.
        vector: share of the vector unit's peak rate.
        bandwidth: share of the rates to and from device memory and L2.
        launch: seconds from one kernel's end to the next one's start.
        aicpu: elements that an AI CPU core works off in a second.
        aicpu_launch: seconds that handing work to an AI CPU takes.
    """

    cube: float
    vector: float
    bandwidth: float
    launch: float
    aicpu: float
    aicpu_launch: float


class Case(msgspec.Struct, frozen=True):
    """One end of the range, or what is expected between them.

    Attributes:
        name: low, expected or high.
        factors: the free factors.
        cache: what L2 holds.
        overlap: whether all pipes of a core work at the same time, rather than in turn.
        ideal: whether kernels do the least work that the operator allows, spread evenly.
        alone: whether a core of a kernel without a product reads no faster than its share of the
            memory's rate.
        l0_share: share of the published rate from L1 to L0 in cores that are split; measurements
            on Atlas A2 give half.
        float32_passes: passes of the cube over a product of float32.
    """

    name: str
    factors: Factors
    cache: Cache
    overlap: bool
    ideal: bool = False
    alone: bool = False
    l0_share: float = 0.5
    float32_passes: int = 2


LOW = Case(
    "low", Factors(1.0, 1.0, 1.0, 0.5e-6, 4e9, 5e-6), Cache.ALL,
    overlap=True, ideal=True, float32_passes=1,
)  # fmt: skip
"""The physical limits: every figure of the row is reached and all data are in L2 if they fit."""

EXPECTED = Case("expected", Factors(0.75, 0.6, 0.7, 3e-6, 2e8, 60e-6), Cache.RESULTS, overlap=True)

HIGH = Case(
    "high", Factors(0.4, 0.3, 0.4, 10e-6, 5e7, 300e-6), Cache.NOTHING,
    overlap=False, alone=True, float32_passes=4,
)  # fmt: skip
"""Kernels without double buffering, and nothing in L2."""

CASES = (LOW, EXPECTED, HIGH)


_SECONDS = frozenset({"launch", "aicpu_launch"})
"""Factors that are times; the others are rates."""


def ranged(fitted: Factors | None) -> tuple[Case, Case, Case]:
    """The cases with refitted factors in the expected one; the ends move to include it.

    Args:
        fitted: what measurements gave, or None for the built-in factors.
    """
    if fitted is None:
        return CASES
    low = replace(LOW, factors=_beyond(LOW.factors, fitted, fast=True))
    high = replace(HIGH, factors=_beyond(HIGH.factors, fitted, fast=False))
    return low, replace(EXPECTED, factors=fitted), high


def _beyond(end: Factors, fitted: Factors, *, fast: bool) -> Factors:
    """The factors of an end, moved where the fitted ones are beyond it."""
    chosen = {}
    for name in Factors.__struct_fields__:
        pair = getattr(end, name), getattr(fitted, name)
        larger_is_faster = name not in _SECONDS
        chosen[name] = max(pair) if fast is larger_is_faster else min(pair)
    return Factors(**chosen)


class Pipes(Result, frozen=True):
    """Seconds for which the pipes of the busiest core work.

    Attributes:
        cube: M, products.
        vector: V, arithmetic in the unified buffer.
        mte1: from L1 to the cube's buffers.
        mte2: from device memory and L2 into the core.
        mte3: out of the core.
        fixp: results of the cube on their way to memory, where cube and vector are split.
    """

    cube: float = 0.0
    vector: float = 0.0
    mte1: float = 0.0
    mte2: float = 0.0
    mte3: float = 0.0
    fixp: float = 0.0

    @property
    def longest(self) -> float:
        """The time of the pipe that works longest: what is left when all work at once."""
        return max(self.cube, self.vector, self.mte1, self.mte2, self.mte3, self.fixp)

    @property
    def total(self) -> float:
        """The time of one after another."""
        return self.cube + self.vector + self.mte1 + self.mte2 + self.mte3 + self.fixp


PIPES = Pipes.__struct_fields__
"""Names of the pipes."""
