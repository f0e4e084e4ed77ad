"""What the cost model takes from CANN's defaults: padded channels, and kernels on all cores."""

import pytest

from atc_py.cost.cores import pipes_of
from atc_py.cost.estimate import estimate
from atc_py.cost.factors import EXPECTED
from atc_py.cost.operation import Tensor
from atc_py.cost.work import memory_of
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.cost.launches import F16, convolution, elementwise, kernel, matmul, operation


def _cube(soc: str, channels: int) -> float:
    """Return the time of the cube of a first layer."""
    row = find_soc(soc)
    launch = convolution((1, channels, 224, 224), 64, 7, 2)
    return pipes_of(launch, row, EXPECTED, memory_of(launch, row, EXPECTED)).cube


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B3"])
def test_few_channels_are_padded_to_a_block(soc: str) -> None:
    """CANN works on blocks of four channels only with `--enable_small_channel=1`; its default is 0."""
    assert _cube(soc, 3) == _cube(soc, 16)


def test_generic_device_has_blocks_of_four_channels() -> None:
    assert _cube("sim", 3) == _cube("sim", 4) < _cube("sim", 5) / 3
    assert _cube("sim", 5) == _cube("sim", 16)


@pytest.mark.parametrize(("soc", "in_pipe"), [("Ascend310P3", False), ("Ascend910B3", True)])
def test_dequantizing_is_work_of_the_fix_pipe_where_cores_are_apart(
    soc: str, *, in_pipe: bool
) -> None:
    row, sums = find_soc(soc), Tensor((512, 512), DType.INT32)
    operands = [Tensor((512, 512), DType.INT8)] * 2
    product = operation("MatMulV2", operands, sums)
    factors = Tensor((512,), DType.UINT64)
    dequant = operation("AscendDequant", [sums, factors], Tensor((512, 512), F16))
    launch = kernel([product, dequant])
    vector = pipes_of(launch, row, EXPECTED, memory_of(launch, row, EXPECTED)).vector
    assert (vector == 0) is in_pipe


@pytest.mark.parametrize(("op", "mixed"), [("Sigmoid", True), ("SoftmaxV2", True), ("Tanh", False)])
def test_least_time_of_a_mixed_kernel_counts_vector_cores(op: str, mixed: bool) -> None:
    """`enableVectorCore` of Ascend310P: 8 AI Cores at 1060 MHz and 7 vector cores at 1000 MHz."""
    launch = elementwise(op, 64, 1024)
    cores = 8 + 7 * 1000 / 1060 if mixed else 8
    row = find_soc("Ascend310P3")
    vector = 2 * 64 * 1024 / (256 * cores * 1060e6)
    from_l2 = 2 * 64 * 1024 / (114 * 8 * 1060e6)
    assert estimate(launch, row).limit == pytest.approx(max(vector, from_l2))
    from_sim = estimate(launch, find_soc("sim")).limit
    assert from_sim == pytest.approx(max(2 * 64 * 1024 / (256 * 8 * 1060e6), from_l2))


@pytest.mark.parametrize(("elements", "cores"), [(1, 1), (256, 1), (257, 2), (10**6, 8)])
def test_small_kernels_have_a_core_for_each_512_bytes(elements: int, cores: int) -> None:
    assert estimate(elementwise("Relu", elements), find_soc("sim")).cores == cores


@pytest.mark.parametrize(("m", "n", "cores"), [(16, 16, 1), (17, 33, 6), (512, 512, 8)])
def test_small_products_have_a_core_for_each_block(m: int, n: int, cores: int) -> None:
    assert estimate(matmul(m, 64, n), find_soc("sim")).cores == cores
