"""The estimate of one kernel: a range of time, what bounds it, and how well it uses the core."""

from functools import lru_cache
from math import exp

import msgspec

from atc_py.cost.cores import elapsed, pipes_of, vector_cores
from atc_py.cost.factors import BOUND, Case, Factors, Pipes, evidence_of, expected_case
from atc_py.cost.operation import KernelEngine, LaunchGroup
from atc_py.cost.work import Memory, head_product, memory_of, work_of, work_on
from atc_py.target import Soc

_GUESSED = 0.2
"""How much quicker or slower the AI CPU may be than is guessed."""

_BOUNDS = {
    "cube": "cube", "vector": "vector", "mte1": "on-chip", "mte2": "memory", "mte3": "memory",
    "fixp": "on-chip",
}  # fmt: skip


class Fit(msgspec.Struct, frozen=True):
    """Factors that measurements gave."""

    factors: Factors
    # root mean square of the logarithm of estimated over measured time, which the range becomes as
    # wide as, twice to either side
    spread: float


class Estimate(msgspec.Struct, frozen=True):
    """Cost of a kernel; times are seconds."""

    low: float  # ends of the range that holds 95 % of boards' figures; `low` is never below `limit`
    expected: float  # with the free factors
    high: float
    pipes: Pipes  # busy times of the busiest core, as expected
    overhead: float  # the part of what is expected in which no pipe works: the launch
    bound: str  # cube, vector, memory, on-chip, launch or aicpu: what takes longest
    cores: int  # cores that have work, as expected
    macs: int  # multiplications of the cube that the operators ask for
    vector_elements: int  # elements that the vector unit computes, each once
    read: int  # bytes that the kernel reads, each once
    written: int  # bytes that it writes
    limit: float = msgspec.field(default=0.0)  # time at the peak rates, without a launch

    @property
    def utilization(self) -> float:
        """Share of the expected time that the kernel would take at the peak rates."""
        return self.limit / self.expected if self.expected else 0.0

    @property
    def limiter(self) -> str:
        """As `bound`, the launch left aside."""
        return self.bound if self.bound == "aicpu" else _busiest(self.pipes)

    @property
    def is_compute_bound(self) -> bool:
        """True if arithmetic takes longer than data, the launch left aside."""
        return self.limiter in {"cube", "vector", "aicpu"}


@lru_cache(maxsize=8192)  # trials have most of their launches in common
def times_of(launch: LaunchGroup, soc: Soc) -> tuple[float, float, float]:
    """`low`, `expected` and `high` of `estimate`, without all else that it takes time to say."""
    expected = expected_case(soc)
    memory = memory_of(launch, soc, expected)
    return _range(launch, soc, None, timed_pipes(launch, soc, expected, memory)[0])[0]


def _range(
    launch: LaunchGroup, soc: Soc, fit: Fit | None, likely: float
) -> tuple[tuple[float, float, float], float]:
    """The range of time around a likely one, and the limit that no time is below."""
    limit = _physical_limit(launch, soc)
    low, high = range_of(soc, fit)
    if launch.engine is KernelEngine.AICPU:
        low, high = _GUESSED, 1 / _GUESSED
    likely = max(likely, limit)
    return (max(likely * low, limit), likely, likely * high), limit


@lru_cache(maxsize=8192)
def estimate(launch: LaunchGroup, soc: Soc, fit: Fit | None = None) -> Estimate:
    expected = expected_case(soc, None if fit is None else fit.factors)
    memory = memory_of(launch, soc, expected)
    likely, pipes = timed_pipes(launch, soc, expected, memory)
    (low, likely, high), limit = _range(launch, soc, fit, likely)
    factors = expected.factors
    overhead, bound, cores = factors.aicpu_launch, "aicpu", 0
    if launch.engine is KernelEngine.AICORE:
        overhead, cores = factors.launch + waiting(launch, soc, factors), _cores(launch, soc)
        bound = "launch" if pipes.longest <= overhead else _busiest(pipes)
    products = (work_of(operation).product for operation in launch.operations)
    passes = (work_on(operation, soc).passes for operation in launch.operations)
    return Estimate(
        low=low, expected=likely, high=high, pipes=pipes, overhead=overhead, bound=bound,
        cores=cores, macs=sum(product.macs for product in products if product is not None),
        vector_elements=sum(each.elements for each in passes if each is not None),
        read=memory.read, written=memory.written,
        limit=limit,
    )  # fmt: skip


def range_of(soc: Soc, fit: Fit | None = None) -> tuple[float, float]:
    """The ends of the range of an estimate, as multiples of it."""
    if fit is not None:
        return exp(-2 * fit.spread), exp(2 * fit.spread)
    evidence = evidence_of(soc)
    return evidence.low, evidence.high


def timed_pipes(launch: LaunchGroup, soc: Soc, case: Case, memory: Memory) -> tuple[float, Pipes]:
    """The time of a kernel in one case, with its launch, and that of its pipes."""
    if launch.engine is KernelEngine.AICPU:
        return _aicpu_seconds(launch, soc, case, memory), Pipes()
    pipes = pipes_of(launch, soc, case, memory)
    overhead = case.factors.launch + waiting(launch, soc, case.factors)
    return overhead + elapsed(pipes, case), pipes


def waiting(launch: LaunchGroup, soc: Soc, factors: Factors) -> float:
    """Seconds in which the steps of a recurrent layer wait for each other."""
    product = head_product(launch, soc)
    return 0.0 if product is None else (product.steps - 1) * factors.step


def _physical_limit(launch: LaunchGroup, soc: Soc) -> float:
    """The time at the peak rates of arithmetic and of memory, with what fits in L2.

    Kernels of the AI CPU have that of memory alone: the rate of its arithmetic is not published.
    """
    memory = memory_of(launch, soc, BOUND)
    if launch.engine is KernelEngine.AICPU:
        return max(memory.gm_read, memory.gm_write)
    return pipes_of(launch, soc, BOUND, memory).least


def _aicpu_seconds(launch: LaunchGroup, soc: Soc, case: Case, memory: Memory) -> float:
    """Seconds for elements and multiplications in turn, on one core or ideally on all."""
    count = 0.0
    for operation in launch.operations:
        work = work_of(operation)
        count += max((tensor.elements for tensor in operation.tensors), default=0)
        count += work.product.macs if work.product is not None else 0
    cores = max(1, soc.aicpus) if case.ideal else 1
    busy = count / (case.factors.aicpu * cores)
    moved = memory.gm_read + memory.gm_write
    return case.factors.aicpu_launch + max(busy, moved / case.factors.bandwidth)


def _busiest(pipes: Pipes) -> str:
    busy = pipes.as_json()
    return _BOUNDS[max(busy, key=lambda name: busy[name])]


def _cores(launch: LaunchGroup, soc: Soc) -> int:
    for operation in launch.operations:
        product = work_on(operation, soc).product
        if product is not None:
            blocks = product.batch * -(-product.m // 16) * -(-product.n // 16)
            return max(1, min(soc.aicores, blocks))
    largest = max((each.nbytes for each in (*launch.reads, *launch.writes)), default=0)
    return max(1, min(vector_cores(soc), -(-largest // 512)))
