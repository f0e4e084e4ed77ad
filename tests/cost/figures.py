"""Figures of boards as published, and the estimates beside them: a table in a file.

Times of networks: pages of Ascend/ModelZoo-PyTorch, folder ACL_PyTorch, pure inference of one model
on one chip. Times of single kernels: hicann/cann-bench, on Ascend910B2. Facts alone: numbers, and
where they stand. Networks were built anew from their papers or public packages with random weights.
"""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.results.profile import best_of
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType

TABLE = Path(__file__).with_name("measured.tsv")
KERNELS = Path(__file__).with_name("measured_kernels.tsv")
KERNELS_SOC = "Ascend910B2"
NETWORKS = ("Ascend310P3", "Ascend310", "Ascend310B1")
"""SoCs that networks were measured on."""

_HEAD = (
    "network", "soc", "batch", "dims", "aipp", "line", "measured_ms", "expected_ms", "page",
)  # fmt: skip
_FEW_BATCHES = 2
_OTHER_KERNELS = ("buffer_optimize=off_optimize", "Sigmoid=high_performance")
"""Options of a page's atc line that estimates do not follow, under which most kernels of the network are
others than by default. One network, with the first and without: 2.3 times the time."""


@dataclass(frozen=True)
class Figure:
    """A time of a network.

    Attributes:
        network: its name.
        soc: the SoC.
        batch: samples in a run.
        dims: of each input, `b` for the batch.
        aipp: whether the page's model takes bytes, which AIPP makes numbers of.
        line: further options of the page's atc line that choose kernels or dtypes.
        measured: seconds of a run.
        expected: the estimate, in seconds.
        page: where it is published.
    """

    network: str
    soc: str
    batch: int
    dims: str
    aipp: bool
    line: str
    measured: float
    expected: float
    page: str

    @property
    def ratio(self) -> float:
        """The estimate over the measured time."""
        return self.expected / self.measured

    @property
    def of_other_kernels(self) -> bool:
        """Whether the page's atc line asks for kernels that no estimate is of."""
        return any(option in self.line.split() for option in _OTHER_KERNELS)

    def estimated(self, seconds: float) -> "Figure":
        """Return the figure beside another estimate."""
        return replace(self, expected=seconds)


def figures() -> Iterator[Figure]:
    """Yield the figures of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield Figure(
                row["network"], row["soc"], int(row["batch"]), row["dims"],
                row["aipp"] == "yes", row["line"],
                float(row["measured_ms"]) / 1e3, float(row["expected_ms"]) / 1e3, row["page"],
            )  # fmt: skip


def shares_of_best_batch() -> Iterator[float]:
    """Throughput measured at the batch that is chosen over the best one, of networks with three or more."""
    batches: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures():
        if not figure.of_other_kernels:
            batches.setdefault((figure.network, figure.soc), []).append(figure)
    for table in batches.values():
        if len(table) > _FEW_BATCHES:
            chosen = best_of([(figure.batch, figure.batch / figure.expected) for figure in table])
            rates = [figure.batch / figure.measured for figure in table]
            yield rates[chosen] / max(rates)


def measured_kernels() -> Iterator[tuple[LaunchGroup, float]]:
    """Yield the single kernels that were measured on Ascend910B2, with their seconds."""
    with KERNELS.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file, delimiter="\t"):
            row, dtype = find_operator(cells["op"]), DType(cells["dtype"])
            assert row is not None
            inputs = tuple(Tensor(_dims(dims), dtype) for dims in cells["shapes"].split(";"))
            output = Tensor(_dims(cells["output"]), dtype)
            axes = (("axes", _dims(cells["axes"])),) if cells["axes"] else ()
            second = Source.WEIGHTS if row.family == "matmul" else Source.RESULT
            yield (
                LaunchGroup(
                    (Operation(row, inputs, (output,), axes),),
                    KernelEngine.AICORE,
                    tuple(
                        Transfer(each.nbytes, second if at else Source.RESULT)
                        for at, each in enumerate(inputs)
                    ),
                    (Transfer(output.nbytes, Source.RESULT),),
                ),
                float(cells["time_us"]) / 1e6,
            )


def _dims(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def write_figures(table: Iterable[Figure]) -> None:
    """Write the table anew."""
    lines = ["\t".join(_HEAD)]
    lines += [
        f"{each.network}\t{each.soc}\t{each.batch}\t{each.dims}\t{'yes' if each.aipp else 'no'}\t"
        f"{each.line}\t{each.measured * 1e3:.4g}\t"
        f"{each.expected * 1e3:.4g}\t{each.page}"
        for each in table
    ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def mean_and_spread(ratios: Iterable[float]) -> tuple[float, float]:
    """Return the geometric mean, and one standard deviation of the logarithm as a factor."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = sum(logs) / len(logs)
    return math.exp(mean), math.exp(math.sqrt(sum((log - mean) ** 2 for log in logs) / len(logs)))
