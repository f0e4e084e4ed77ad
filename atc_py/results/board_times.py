"""Times that a board measured, beside the estimate."""

from atc_py.cost.network import TimeRange
from atc_py.system.structs import Count, Result


class TimedKernels(Result, frozen=True):
    """Kernels of both sides that compute the same nodes.

    Attributes:
        nodes: of the network.
        board: names of the board's kernels.
        ops: their operators.
        units: what ran them.
        ours: kernels of the estimate; none where it has no such launch.
        measured: seconds on the board.
        estimate: of ours; None without.
    """

    nodes: tuple[str, ...]
    board: tuple[str, ...]
    ops: tuple[str, ...]
    units: tuple[str, ...]
    ours: tuple[str, ...]
    measured: float
    estimate: TimeRange | None

    @property
    def ratio(self) -> float | None:
        """Estimated over measured time."""
        if self.estimate is None or not self.measured:
            return None
        return self.estimate.expected / self.measured


class BoardTimes(Result, frozen=True):
    """Times of a board beside the estimate.

    Attributes:
        kernels: in the order of the board.
        not_measured: kernels of the estimate that the tables do not have.
        executions: how often the model ran under msprof.
        kernel_seconds: kernels of one execution in all.
        wait_seconds: gaps between them.
        wall_seconds: median of the runs without msprof, by the host's clock; None without.
        estimate: of a run.
        estimated_kernels: seconds of the estimate in kernels.
        bench_seconds: median of ais_bench's runs; None without.
        left_out: rows of tables that could not be read.
        fitted: kernels that factors were refitted to; 0 where they were not.
        spread_before: root mean square of the logarithm of estimated over measured time.
        spread_after: with the refitted factors.
    """

    kernels: tuple[TimedKernels, ...]
    not_measured: tuple[str, ...]
    executions: Count
    kernel_seconds: float
    wait_seconds: float
    wall_seconds: float | None
    estimate: TimeRange
    estimated_kernels: float
    bench_seconds: float | None = None
    left_out: Count = 0
    fitted: Count = 0
    spread_before: float | None = None
    spread_after: float | None = None
