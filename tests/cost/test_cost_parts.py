"""Parts of the cost model, each against numbers worked out by hand."""

from math import ceil

import pytest

from atc_py.cost.cores import _most_cores, _tiles, pipes_of, vector_cores
from atc_py.cost.estimate import timed_pipes
from atc_py.cost.factors import BOUND, EXPECTED, PIPES, Pipes, expected_case
from atc_py.cost.operation import KernelEngine, Tensor
from atc_py.cost.work import memory_of
from atc_py.system.structs import replace
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.cost.launches import kernel, operation

F16 = DType.FLOAT16
P3 = find_soc("Ascend310P3")


@pytest.mark.parametrize("name", PIPES)
def test_any_pipe_can_be_the_longest_and_reads_and_writes_share_one_rate(name: str) -> None:
    pipes = Pipes(**{**dict.fromkeys(PIPES, 1.0), name: 3.0})
    assert pipes.least == 3.0
    assert pipes.longest == (4.0 if name in {"mte2", "mte3"} else 3.0)


def test_ai_cpu_works_on_all_its_cores_at_best_and_on_one_as_expected() -> None:
    x = Tensor((1000, 1000), F16)
    launch = kernel([operation("Relu", [x], x)], engine=KernelEngine.AICPU)
    for case, share in ((BOUND, 4), (EXPECTED, 1)):
        one, four = (
            timed_pipes(launch, soc, case, memory_of(launch, soc, case))[0]
            for soc in (replace(P3, aicpus=1), replace(P3, aicpus=4))
        )
        start = case.factors.aicpu_launch
        assert one - start == pytest.approx(1e6 / case.factors.aicpu)
        assert four - start == pytest.approx((one - start) / share)


def test_row_of_a_reduction_takes_whole_repeats_of_the_vector_unit() -> None:
    def vector(width: int) -> float:
        x = Tensor((P3.aicores * 3, width), F16)
        done = operation("ReduceMeanD", [x], Tensor((P3.aicores * 3, 1), F16), axes=(1,))
        launch = kernel([done])
        return pipes_of(launch, P3, EXPECTED, memory_of(launch, P3, EXPECTED)).vector

    assert vector(2) == vector(128) > 0  # 256 bytes a repeat
    assert vector(129) == vector(256) == pytest.approx(2 * vector(128))


def test_row_of_an_operator_without_axes_is_the_last_axis() -> None:
    x = Tensor((P3.aicores * 3, 2), F16)
    without, last, first = (
        kernel([operation("SoftmaxV2", [x], x, **axes)])
        for axes in ({}, {"axes": (1,)}, {"axes": (0,)})
    )
    times = [
        pipes_of(launch, P3, EXPECTED, memory_of(launch, P3, EXPECTED)).vector
        for launch in (without, last, first)
    ]
    assert times[0] == times[1]
    assert times[2] != times[1]


def test_axes_before_the_last_one_are_summed_in_full_repeats() -> None:
    """A sum of two over an axis outside costs what its elements cost, not a repeat a pair."""

    def vector(shape: tuple[int, ...], axis: int) -> float:
        x = Tensor(shape, F16)
        kept = tuple(1 if at == axis else dim for at, dim in enumerate(shape))
        launch = kernel([operation("ReduceSumD", [x], Tensor(kept, F16), axes=(axis,))])
        return pipes_of(launch, P3, EXPECTED, memory_of(launch, P3, EXPECTED)).vector

    assert vector((8, 2, 256, 3136), 1) == vector((8 * 2 * 256, 3136), 0)
    assert vector((8 * 256 * 3136, 2), 1) > 50 * vector((8, 2, 256, 3136), 1)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3", "Ascend310B1"])
def test_padding_of_blocks_costs_what_its_elements_cost(soc: str) -> None:
    """Check V = instructions * ceil(ceil(bytes / 256) / c) / (f e_vector) on the bytes of blocks.

    197 rows of 768 are stored as 48 columns of blocks of 208 rows, 6 % more.
    """
    stored = Tensor((1, 197, 768), F16, (1, 48, 13, 16, 16))
    row = find_soc(soc)
    launch = kernel([operation("Neg", [stored], stored)])
    case = expected_case(row)
    found = pipes_of(launch, row, case, memory_of(launch, row, case)).vector
    repeats = ceil(ceil(208 * 768 * 2 / 256) / vector_cores(row))
    assert found == pytest.approx(repeats / (row.mhz * 1e6 * case.factors.vector))


def test_mixed_kernels_run_on_all_cores_where_the_soc_has_both() -> None:
    x = Tensor((64, 1024), F16)
    one, other = (kernel([operation(op, [x], x)]) for op in ("Sigmoid", "Tanh"))
    assert _most_cores(one, P3) == pytest.approx(8 + 7 * 1000 / 1060)
    assert _most_cores(other, P3) == vector_cores(P3)
    assert _most_cores(one, find_soc("sim")) == vector_cores(find_soc("sim"))


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend910B3"])
def test_tiles_leave_the_other_half_of_l0c_free(soc: str) -> None:
    row = find_soc(soc)
    nbytes = [rows * columns * 16 * 16 * 4 for rows, columns in _tiles(row)]
    assert max(nbytes) == row.l0c_kib * 1024 // 2
