"""Assumptions of the cost model: the free factors, two cases, and the evidence of a range.

The figures of a SoC's row are facts. What share of them kernels reach, and what a launch costs,
are not published; they are the free factors here, which measurements refit.
"""

import msgspec

from atc_py.system.structs import Result, replace
from atc_py.target.soc import Soc, SocFamily

SHARES = (
    "cube", "depthwise", "vector", "rows", "bandwidth", "l2_cube", "l2_vector", "l2_moves",
)  # fmt: skip
"""Factors that are shares of a rate of the SoC's row, at most 1."""


class Factors(Result, frozen=True):
    """The free factors: shares of peak rates, and times.

    Attributes:
        cube: of the cube's rate that a kernel reaches while the cube is busy.
        depthwise: the same of convolutions with a filter for each channel.
        vector: of the vector unit's rate, functions of each element, pools and reductions.
        rows: the same of softmax and norms, which are computed in float32.
        bandwidth: of the rate of device memory, which reads and writes share.
        l2_cube: of the rates to and from L2, kernels of the cube.
        l2_vector: the same of kernels of the vector unit.
        l2_moves: the same of kernels that turn axes or change the storage.
        launch: seconds from one kernel's end to the next one's start.
        step: seconds between two steps of a recurrent layer, which wait for each other.
        run: seconds that a run takes beside its kernels.
        aicpu: elements that an AI CPU core works off in a second.
        aicpu_launch: seconds that handing work to an AI CPU takes.
    """

    cube: float
    depthwise: float
    vector: float
    rows: float
    bandwidth: float
    l2_cube: float
    l2_vector: float
    l2_moves: float
    launch: float
    step: float
    run: float
    aicpu: float
    aicpu_launch: float


class Case(msgspec.Struct, frozen=True):
    """The expected case, or with `ideal` the bound of physics.

    There kernels do the least work that the operator allows, spread evenly. L2 holds all data of a
    kernel where they fit, and else what kernels of the same run computed: cut into slices that go
    through several kernels, they need not leave the cache. It is expected to hold the share
    exp(-size / cache) of what a kernel of the same run computed, an empirical law: nearly all of a
    small result, a third of one as large as the cache.
    """

    factors: Factors
    ideal: bool = False


BOUND = Case(
    Factors(**dict.fromkeys(SHARES, 1.0), launch=0.0, step=0.0, run=0.0, aicpu=4e9, aicpu_launch=0.0),
    ideal=True,
)  # fmt: skip
"""The physical limits: every figure of the row is reached."""

_ON_310P = Factors(
    cube=0.82, depthwise=0.3, vector=0.225, rows=0.76, bandwidth=0.79,
    l2_cube=0.98, l2_vector=0.76, l2_moves=0.22, launch=2.5e-6, step=5e-6, run=40e-6,
    aicpu=2e8, aicpu_launch=60e-6,
)  # fmt: skip

_ON_310 = replace(
    _ON_310P, cube=0.62, depthwise=0.35, vector=0.55, rows=0.3, bandwidth=0.95,
    l2_cube=0.6, l2_vector=0.25, l2_moves=0.45, launch=8e-6,
)  # fmt: skip

_ON_310B = replace(
    _ON_310P, cube=0.75, depthwise=0.4, vector=0.52, rows=0.66, bandwidth=0.95,
    l2_cube=0.78, l2_vector=0.78, l2_moves=0.35,
)  # fmt: skip

_ON_A2 = replace(
    _ON_310P, cube=0.7, depthwise=0.35, vector=0.43, rows=0.19, bandwidth=0.8,
    l2_cube=0.89, l2_vector=0.46, l2_moves=0.25, launch=2.8e-6,
)  # fmt: skip

_BY_FAMILY = {
    SocFamily.ASCEND310: _ON_310,
    SocFamily.ASCEND910: replace(_ON_310, launch=3e-6),
    SocFamily.ASCEND310B: _ON_310B,
    SocFamily.ASCEND910B: _ON_A2,
    SocFamily.ASCEND910_93: _ON_A2,
    SocFamily.ASCEND950: _ON_A2,
}
"""Factors by family; a family without figures has those of the nearest one with the same cores."""

EXPECTED = Case(_ON_310P)
"""What is expected, with the factors of Ascend310P, which most figures are of."""


def expected_case(soc: Soc, fitted: Factors | None = None) -> Case:
    """The case whose times are expected, with fitted factors or the built-in ones of the family."""
    return Case(fitted or _BY_FAMILY.get(soc.family, _ON_310P))


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
    def memory(self) -> float:
        """The time of reads and writes, which share the rates of L2 and of device memory."""
        return self.mte2 + self.mte3

    @property
    def longest(self) -> float:
        """The time of what works longest: what is left when all work at once."""
        return max(self.cube, self.vector, self.mte1, self.memory, self.fixp)

    @property
    def least(self) -> float:
        """As `longest`, where reads and writes do not share a rate."""
        return max(self.cube, self.vector, self.mte1, self.mte2, self.mte3, self.fixp)

    @property
    def total(self) -> float:
        """The time of one after another."""
        return self.cube + self.vector + self.mte1 + self.mte2 + self.mte3 + self.fixp


PIPES = Pipes.__struct_fields__
"""Names of the pipes."""


class Evidence(Result, frozen=True):
    """Figures of boards beside estimates with factors fitted to other networks, on A2 other kernels.

    Attributes:
        soc: that the figures are of; empty where the family has none.
        networks: that were measured, or single kernels where `kernels`.
        kernels: whether single kernels were measured, not networks.
        low: lower end of the range, as a multiple of the estimate.
        high: upper end; 95 % of the figures are between both.
        near: nine of ten are within this factor, to either side.
    """

    soc: str
    networks: int
    low: float
    high: float
    near: float
    kernels: bool = False


_NO_EVIDENCE = Evidence("", 0, 0.4, 2.5, 2.5)
"""Twice as wide as where there are figures."""

_EVIDENCE = {
    SocFamily.ASCEND310: Evidence("Ascend310", 21, 0.65, 1.65, 1.5),
    SocFamily.ASCEND310B: Evidence("Ascend310B1", 6, 0.7, 1.4, 1.35),
    SocFamily.ASCEND310P: Evidence("Ascend310P3", 51, 0.56, 1.68, 1.5),
    SocFamily.ASCEND910B: Evidence("Ascend910B2", 58, 0.55, 1.75, 1.7, kernels=True),
}


def evidence_of(soc: Soc) -> Evidence:
    """The figures of a SoC's family; without a SoC where there are none."""
    return _EVIDENCE.get(soc.family, _NO_EVIDENCE)
