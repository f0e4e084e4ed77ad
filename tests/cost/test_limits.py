"""Estimates against the physical limits, and against larger kernels."""

import random
from math import exp, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.cost.estimate import Fit, estimate
from atc_py.cost.factors import EXPECTED
from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.work import memory_of, work_of, work_on
from atc_py.system.structs import replace
from atc_py.target import find_operator, find_soc, socs
from atc_py.target.soc import rates_of
from atc_py.tensor.dtypes import DType
from tests.cost.launches import convolution, elementwise, kernel, matmul, operation
from tests.sampling import examples

SOCS = st.sampled_from([soc.name for soc in socs()])
EXTENT = st.integers(1, 3000)
MORE = st.integers(0, 500)
DTYPES = st.sampled_from([DType.FLOAT16, DType.INT8, DType.FLOAT32])
VECTOR = st.sampled_from(["Relu", "Sigmoid", "LayerNorm", "Cast", "TransposeD", "ReduceMeanD"])


def cube_limit(macs: int, soc: str, dtype: DType = DType.FLOAT16) -> float:
    """Return seconds at the cube's peak: 4096 multiplications a cycle, of int8 twice as many."""
    found = find_soc(soc)
    width = 8192 if dtype is DType.INT8 else 4096
    return macs / (width * found.aicores * found.mhz * 1e6)


def memory_limit(nbytes: int, soc: str) -> float:
    """Return seconds of the rate of device memory, the larger where two are published."""
    found = find_soc(soc)
    return nbytes / max(found.memory_rate, found.gm_read * found.aicores * found.mhz * 1e6)


def in_order(launch: LaunchGroup, soc: str, fit: Fit | None = None) -> tuple[float, float, float]:
    """Return the range, which must be one."""
    cost = estimate(launch, find_soc(soc), fit)
    assert 0 < cost.low <= cost.expected <= cost.high
    assert cost.limit <= cost.low * (1 + 1e-9)
    assert 0 <= cost.utilization <= 1
    return cost.low, cost.expected, cost.high


@given(SOCS, EXTENT, EXTENT, EXTENT, DTYPES)
@examples(200)
def test_product_is_never_faster_than_the_cube(
    soc: str, m: int, k: int, n: int, dtype: DType
) -> None:
    low, _, _ = in_order(matmul(m, k, n, dtype=dtype), soc)
    assert low >= cube_limit(m * k * n, soc, dtype)


@given(SOCS, st.integers(4000, 20000), st.integers(4000, 20000))
@examples(200)
def test_weights_beyond_the_cache_are_never_read_faster_than_memory(
    soc: str, k: int, n: int
) -> None:
    launch = matmul(1, k, n)
    low, _, _ = in_order(launch, soc)
    if 2 * (k * n + k + n) > find_soc(soc).l2_kib * 1024:
        assert low >= memory_limit(2 * k * n, soc)


@given(SOCS, VECTOR, st.lists(st.integers(1, 200), min_size=2, max_size=3))
@examples(200)
def test_vector_kernel_is_never_faster_than_the_vector_unit(
    soc: str, op: str, shape: list[int]
) -> None:
    low, _, _ = in_order(elementwise(op, *shape), soc)
    found = find_soc(soc)
    cores: float = max(found.aicores, found.vector_cores)
    if found.mixed_cores and op == "Sigmoid":  # on all cores at once, each at its clock
        cores = found.aicores + found.vector_cores * 1000 / found.mhz
    computed = 0 if op == "TransposeD" else 2 * prod(shape)
    assert low >= computed / (256 * cores * found.mhz * 1e6)


@given(SOCS, EXTENT, EXTENT, EXTENT, MORE, MORE, MORE, st.sampled_from([0, 1, 12]))
@examples(200)
def test_larger_product_never_costs_less(  # noqa: PLR0913  (six extents)
    soc: str, m: int, k: int, n: int, dm: int, dk: int, dn: int, stack: int
) -> None:
    small = in_order(matmul(m, k, n, stack), soc)
    large = in_order(matmul(m + dm, k + dk, n + dn, stack), soc)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(small, large, strict=True))


@given(
    SOCS, st.integers(1, 4), st.integers(1, 300), st.integers(1, 80), st.integers(1, 300),
    st.sampled_from([1, 3, 7]), st.sampled_from([1, 2]),
    st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 30), st.integers(0, 60)),
)  # fmt: skip
@examples(200)
def test_larger_convolution_never_costs_less(  # noqa: PLR0913  (extents of a convolution)
    soc: str, batch: int, channels: int, side: int, out: int, window: int, step: int,
    more: tuple[int, int, int, int],
) -> None:  # fmt: skip
    small = in_order(convolution((batch, channels, side, side), out, window, step, "Relu"), soc)
    data = (batch + more[0], channels + more[1], side + more[2], side + more[2])
    large = in_order(convolution(data, out + more[3], window, step, "Relu"), soc)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(small, large, strict=True))


@given(SOCS, VECTOR, st.tuples(EXTENT, st.integers(1, 400)), st.tuples(MORE, MORE))
@examples(200)
def test_larger_vector_kernel_never_costs_less(
    soc: str, op: str, shape: tuple[int, int], more: tuple[int, int]
) -> None:
    small = in_order(elementwise(op, *shape), soc)
    large = in_order(elementwise(op, shape[0] + more[0], shape[1] + more[1]), soc)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(small, large, strict=True))


def test_function_after_a_product_costs_less_than_a_launch_of_its_own() -> None:
    soc = find_soc("Ascend310P3")
    apart = [convolution((1, 64, 56, 56), 64, 3, 1), elementwise("Relu", 1, 64, 56, 56)]
    together = convolution((1, 64, 56, 56), 64, 3, 1, "Relu")
    seconds = sum(estimate(each, soc).expected for each in apart)
    assert estimate(together, soc).expected <= seconds - EXPECTED.factors.launch


def test_steps_of_a_recurrent_layer_wait_for_each_other() -> None:
    def layer(steps: int, batch: int) -> LaunchGroup:
        shapes = [(steps, batch, 256), (512, 1024), (1024,)]
        inputs = [Tensor(shape, DType.FLOAT16) for shape in shapes]
        out = Tensor((steps, batch, 256), DType.FLOAT16)
        return kernel([operation("DynamicRNN", inputs, out)], weights=2)

    soc = find_soc("sim")
    long, wide = (estimate(layer(*shape), soc) for shape in ((64, 1), (1, 64)))
    assert long.macs == wide.macs == 64 * 512 * 1024
    assert long.pipes.cube == pytest.approx(64 / 4 * wide.pipes.cube)
    assert long.expected > 2 * wide.expected
    assert long.pipes.mte1 == pytest.approx(64 * estimate(layer(1, 1), soc).pipes.mte1)


@pytest.mark.parametrize(("dtype", "depth"), [(DType.FLOAT16, 16), (DType.INT8, 32)])
def test_one_step_of_the_cube_loads_a_block_of_each_operand(dtype: DType, depth: int) -> None:
    """A block has 16 rows of 32 bytes."""
    soc = find_soc("sim")
    rates = rates_of(soc)
    cycles = 16 * 32 / rates.l1_l0a + 16 * 32 / rates.l1_l0b
    done = estimate(matmul(16, depth, 16, dtype=dtype), soc)
    assert done.pipes.mte1 == pytest.approx(cycles / (soc.mhz * 1e6))


def test_both_directions_of_a_layer_are_computed() -> None:
    def layer(directions: int) -> LaunchGroup:
        shapes = [(8, 1, 256), (directions, 1024, 256), (directions, 1024, 256)]
        inputs = [Tensor(shape, DType.FLOAT16) for shape in shapes]
        out = Tensor((8, directions, 1, 256), DType.FLOAT16)
        return kernel([operation("CommonLSTM", inputs, out)], weights=2)

    one, two = (estimate(layer(directions), find_soc("sim")) for directions in (1, 2))
    assert (one.macs, two.macs) == (8 * 512 * 1024, 2 * 8 * 512 * 1024)


def test_ai_cpu_is_slower_than_the_ai_core_and_known_by_its_bound() -> None:
    tensor = Tensor((512, 512), DType.FLOAT16)
    done = operation("Relu", [tensor], tensor)
    slow = estimate(kernel([done], engine=KernelEngine.AICPU), find_soc("sim"))
    fast = estimate(kernel([done]), find_soc("sim"))
    assert slow.bound == "aicpu"
    assert slow.low > fast.low
    assert slow.expected > 10 * fast.expected
    product = matmul(2048, 2048, 2048)
    moved = estimate(replace(product, engine=KernelEngine.AICPU), find_soc("sim"))
    assert moved.limit < estimate(product, find_soc("sim")).limit / 2  # memory's alone


def test_kernel_that_computes_little_is_bound_by_memory_and_one_that_computes_much_is_not() -> None:
    soc = find_soc("Ascend310P3")
    add = estimate(elementwise("Add", 4096, 4096, operands=2), soc)
    product = estimate(matmul(4096, 4096, 4096), soc)
    assert (add.bound, add.is_compute_bound) == ("memory", False)
    assert (product.bound, product.is_compute_bound) == ("cube", True)
    tiny = estimate(elementwise("Add", 64, 64, operands=2), soc)
    assert (tiny.bound, tiny.limiter, tiny.is_compute_bound) == ("launch", "memory", False)


def test_depthwise_convolution_wastes_the_cube() -> None:
    row = find_operator("DepthwiseConv2D")
    assert row is not None
    data, filters = (Tensor(s, DType.FLOAT16) for s in ((1, 256, 56, 56), (256, 1, 3, 3)))
    done = Operation(row, (data, filters), (data,), (("strides", (1, 1, 1, 1)),))
    moved = tuple(Transfer(each.nbytes, Source.RESULT) for each in (data, filters))
    cost = estimate(LaunchGroup((done,), KernelEngine.AICORE, moved, moved[:1]), find_soc("sim"))
    assert cost.macs == 256 * 56 * 56 * 9
    assert cost.utilization < 0.25


def test_groups_of_a_convolution_share_block_diagonals() -> None:
    """Check the formula of the format: E = min(lcm(lcm(4, 16) / 4, lcm(4, 16) / 4), 32) = 4.

    So 32 groups of 4 channels and 4 filters are 8 products of 16 x 16, not 32: a quarter of the
    cycles of as many convolutions, and no fewer multiplications asked for.
    """
    row = find_operator("Conv2D")
    assert row is not None
    data, plain = (Tensor(s, DType.FLOAT16) for s in ((1, 128, 64, 64), (128, 4, 3, 3)))
    stored = Tensor(plain.shape, DType.FLOAT16, (8 * 9, 1, 16, 16))
    attributes = (("strides", (1, 1, 1, 1)), ("groups", 32))
    whole, apart = (
        work_of(Operation(row, (data, filters), (data,), attributes)).product
        for filters in (stored, plain)
    )
    assert whole is not None
    assert apart is not None
    assert (whole.batch, whole.k, whole.n, whole.window) == (8, 9 * 16, 16, (9, 16))
    assert (apart.batch, apart.k, apart.n) == (32, 9 * 4, 4)
    assert whole.macs == apart.macs == 64 * 64 * 128 * 4 * 9


def test_convolutions_of_volumes_sum_up_all_slices_of_the_window() -> None:
    data = Tensor((2, 32, 8, 14, 14), DType.FLOAT16)
    filters = Tensor((64, 32, 3, 3, 3), DType.FLOAT16, (2 * 27, 4, 16, 16))
    result = Tensor((2, 64, 4, 7, 14), DType.FLOAT16)
    done = operation("Conv3D", [data, filters], result, strides=(1, 1, 2, 2, 1), groups=1)
    product = work_of(done).product
    assert product is not None
    assert (product.batch, product.m, product.k, product.n) == (1, 2 * 4 * 7 * 14, 27 * 32, 64)
    # Windows two steps apart along two axes read four elements of each channel that others do not.
    assert product.row_bytes == 4 * 32 * 2
    turned = Tensor((32, 64, 2, 2, 2), DType.FLOAT16)
    back = Tensor((2, 64, 16, 28, 28), DType.FLOAT16)
    spread = operation("Conv3DTransposeD", [data, turned], back, strides=(1, 1, 2, 2, 2), groups=1)
    product = work_of(spread).product
    assert product is not None
    # Zeros between the pixels of the data are multiplied, too, but nobody asked for those products.
    assert (product.m, product.k, product.n) == (2 * 16 * 28 * 28, 8 * 32, 64)
    assert product.macs == 2 * 8 * 14 * 14 * 32 * 64 * 8
    assert product.row_bytes == 32 * 2 / 8


def test_sizes_beside_the_data_do_not_widen_what_is_computed() -> None:
    data, size = Tensor((1, 16, 8, 8), DType.FLOAT16), Tensor((2,), DType.INT32)
    large = Tensor((1, 16, 16, 16), DType.FLOAT16)
    passes = work_of(operation("ResizeNearestNeighborV2", [data, size], large)).passes
    assert passes is not None
    assert (passes.elements, passes.itemsize, passes.count) == (16 * 16 * 16, 2, 1)


def share_kept(size: float) -> float:
    """Return the share of a result that L2 keeps, by its size in L2 caches."""
    soc = find_soc("Ascend310P3")
    data = Tensor((int(size * soc.l2_kib * 512),), DType.FLOAT16)
    memory = memory_of(kernel([operation("Relu", [data], data)]), soc, EXPECTED)
    assert soc.memory_rate is not None
    return 1 - memory.gm_read * soc.memory_rate / data.nbytes


def test_cache_keeps_less_of_a_larger_result() -> None:
    shares = [share_kept(2.0**power) for power in range(-10, 11)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(1, abs=0.01)
    assert shares[-1] == pytest.approx(0, abs=0.01)


def drawn(size: float, *, writes: bool) -> float:
    """Return the share of a result that a cache which replaces lines at random still has.

    Args:
        size: of the result, in caches; it is written and then read in the same order.
        writes: whether the reader writes as much as it reads, or nothing.
    """
    cache = [-1] * 20000
    chance = random.Random(1)  # noqa: S311  (lines of a cache)
    lines = range(int(size * len(cache)))
    held: set[int] = set()

    def take(line: int) -> None:
        at = chance.randrange(len(cache))
        held.discard(cache[at])
        held.add(line)
        cache[at] = line

    for line in lines:
        take(line)
    found = 0
    for line in lines:
        found += line in held
        if line not in held:
            take(line)
        if writes:
            take(len(lines) + line)
    return found / len(lines)


@pytest.mark.parametrize("size", [0.25, 0.5, 1.0, 2.0])
def test_cache_keeps_what_random_replacement_would_between_readers_that_write_and_do_not(
    size: float,
) -> None:
    assert drawn(size, writes=True) < share_kept(size) < drawn(size, writes=False)


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_refitted_factors_make_the_range_as_wide_as_their_error(spread: float) -> None:
    fit = Fit(EXPECTED.factors, spread)
    low, expected, high = in_order(matmul(512, 512, 512), "sim", fit)
    assert high / expected == pytest.approx(expected / low)
    assert high / expected == pytest.approx(exp(2 * spread))


def test_cores_share_the_products_of_a_stack() -> None:
    one, eight = (estimate(matmul(16, 512, 16, stack), find_soc("sim")) for stack in (1, 8))
    assert eight.pipes.cube == pytest.approx(one.pipes.cube)


def test_windows_and_stacks_multiply_the_passes_of_the_vector_unit() -> None:
    maps = Tensor((1, 16, 32, 32), DType.FLOAT16)
    counts = []
    for size in (1, 3):
        passes = work_of(operation("MaxPoolV3", [maps], maps, ksize=(1, 1, size, size))).passes
        assert passes is not None
        counts.append(passes.count)
    assert counts[1] == 9 * counts[0]
    (product,) = matmul(16, 8, 4, stack=6, dtype=DType.FLOAT32).operations
    on_vector = work_on(product, find_soc("Ascend310P3")).passes
    assert on_vector is not None
    assert on_vector.elements == 6 * 16 * 4
