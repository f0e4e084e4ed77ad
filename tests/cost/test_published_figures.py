"""The cost model beside published figures; each states where it was published.

Peak rates: the figures of Hot Chips 31 (2019) and those that follow from the published
`platform_config`. Networks: Ascend/ModelZoo-PyTorch, ACL_PyTorch/built-in, and MindSpore 0.5's
benchmark page, as measured by their authors.
"""

import pytest

from atc_py.cost.estimate import estimate
from atc_py.cost.factors import evidence_of
from atc_py.cost.network import evidence_text
from atc_py.cost.operation import LaunchGroup
from atc_py.target import find_soc
from atc_py.target.soc import rates_of
from atc_py.target.socs import socs
from atc_py.tensor.dtypes import DType
from tests.cost.launches import bert_base, elementwise, matmul, resnet50

LARGE = 16384


def rates(launches: list[LaunchGroup], soc: str, samples: float) -> tuple[float, float, float]:
    """Return samples in a second: least, expected, most."""
    costs = [estimate(launch, find_soc(soc)) for launch in launches]
    return (
        samples / sum(cost.high for cost in costs),
        samples / sum(cost.expected for cost in costs),
        samples / sum(cost.low for cost in costs),
    )


def peak(soc: str, dtype: DType = DType.FLOAT16) -> float:
    """Return the operations a second that the bound of a large product allows."""
    cost = estimate(matmul(LARGE, LARGE, LARGE, dtype=dtype), find_soc(soc))
    return 2 * LARGE**3 / cost.limit / 1e12


@pytest.mark.parametrize(
    ("soc", "teraflops"),
    [
        ("Ascend310P3", 69.5),
        ("Ascend310", 11.1),
        ("Ascend910A", 262.0),
        ("Ascend910B1", 363.7),
        ("Ascend910B4", 245.8),
    ],
)
def test_large_product_comes_near_the_published_peak(soc: str, teraflops: float) -> None:
    least, expected, most = rates([matmul(LARGE, LARGE, LARGE)], soc, 2 * LARGE**3 / 1e12)
    assert peak(soc) == pytest.approx(teraflops, rel=0.01)
    assert least < 0.5 * teraflops < expected < 0.85 * teraflops
    assert most <= peak(soc) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("soc", "teraflops"), [("Ascend910A", 256.0), ("Ascend310", 8.0)], ids=["910", "310"]
)
def test_peak_of_hot_chips_31_is_within_the_range_of_a_large_product(
    soc: str, teraflops: float
) -> None:
    least, _, most = rates([matmul(LARGE, LARGE, LARGE)], soc, 2 * LARGE**3 / 1e12)
    assert least < teraflops < most


@pytest.mark.parametrize(
    ("soc", "teraops"), [("Ascend310P3", 139), ("Ascend310", 22), ("Ascend910A", 524)]
)
def test_large_product_of_int8_comes_near_twice_the_peak(soc: str, teraops: float) -> None:
    launch = matmul(LARGE, LARGE, LARGE, dtype=DType.INT8)
    least, expected, _ = rates([launch], soc, 2 * LARGE**3 / 1e12)
    assert peak(soc, DType.INT8) == pytest.approx(teraops, rel=0.02)
    assert least < 0.5 * teraops < expected < 0.85 * teraops


@pytest.mark.parametrize(("soc", "teraops"), [("Ascend910A", 512), ("Ascend310", 16)])
def test_int8_peak_of_hot_chips_31_is_within_the_range(soc: str, teraops: float) -> None:
    launch = matmul(LARGE, LARGE, LARGE, dtype=DType.INT8)
    least, _, most = rates([launch], soc, 2 * LARGE**3 / 1e12)
    assert least < teraops < most


@pytest.mark.parametrize(("soc", "terabytes"), [("Ascend910A", 1.2), ("Ascend910B1", 1.6)])
def test_device_memory_is_somewhat_slower_than_its_modules_are_sold_for(
    soc: str, terabytes: float
) -> None:
    """Check 1.2 TB/s of the 910 (Hot Chips 31), 1.6 TB/s of Atlas A2 (Ascend C documentation)."""
    found = find_soc(soc)
    assert 0.8 < found.gm_read * found.aicores * found.mhz * 1e6 / (terabytes * 1e12) < 0.95


def test_l2_cache_of_atlas_a2_is_several_times_as_fast_as_its_memory() -> None:
    """Check 7 TB/s beside 1.6 TB/s: Ascend C documentation, best practice of L2 cache tiling."""
    soc = find_soc("Ascend910B1")
    assert rates_of(soc).l2_read / soc.gm_read == pytest.approx(7 / 1.6, rel=0.25)


@pytest.mark.parametrize(
    ("soc", "gigabytes", "modules"),
    [
        ("Ascend310P3", 144, 204),
        ("Ascend310", 91, 51.2),
        ("Ascend910A", 1024, 0),
        ("Ascend910B1", 1421, 1600),
    ],
)
def test_device_memory_has_the_published_rates(soc: str, gigabytes: float, modules: float) -> None:
    """Check the configuration's rate, and that of the modules, which boards come nearer to."""
    found = find_soc(soc)
    assert found.memory_rate / 1e9 == pytest.approx(modules)
    assert found.gm_read * found.aicores * found.mhz * 1e6 / 1e9 == pytest.approx(
        gigabytes, rel=0.01
    )
    launch = matmul(16, 32768, 32768)
    cost = estimate(launch, found)
    assert cost.low >= cost.read / (1.01 * max(gigabytes, modules) * 1e9)
    assert cost.expected >= cost.read / (1.01 * (modules or gigabytes) * 1e9)
    assert cost.bound == "memory"


def test_l2_cache_of_310p3_has_the_published_rate() -> None:
    soc = find_soc("Ascend310P3")
    assert rates_of(soc).l2_read * soc.aicores * soc.mhz * 1e6 / 1e9 == pytest.approx(967, rel=0.01)
    cost = estimate(elementwise("Relu", 1024, 1024), soc)
    assert cost.low >= cost.read / 967e9


def test_resnet50_on_310p3_is_within_the_range() -> None:
    """Check 4250 images a second at batch 64: Resnet50_Pytorch_Infer/README.md."""
    least, expected, most = rates(resnet50(64), "Ascend310P3", 64)
    assert least < 4250 < most
    assert 4250 / 2 < expected < 4250 * 2


def test_bert_base_on_310p3_is_within_the_range() -> None:
    """Check 198.61 samples/s at batch 8, 512 words: Bert_Base_Uncased_for_Pytorch/ReadMe.md."""
    least, expected, most = rates(bert_base(8, 512), "Ascend310P3", 8)
    assert least < 198.61 < most
    assert 198.61 / 2 < expected < 198.61 * 2


def test_training_of_resnet50_on_910_is_slower_than_inference() -> None:
    """Check 2115 images a second of training at batch 256; inference is a third of the work."""
    least, _, most = rates(resnet50(256), "Ascend910A", 256)
    assert least < 3 * 2115 < most


def test_networks_have_the_known_number_of_multiplications() -> None:
    soc = find_soc("sim")
    assert sum(estimate(each, soc).macs for each in resnet50(1)) == pytest.approx(4.09e9, rel=0.01)
    bert = sum(estimate(each, soc).macs for each in bert_base(1, 512))
    assert bert == pytest.approx(12 * (12 * 512 * 768**2 + 2 * 512**2 * 768))


def test_words_say_what_was_measured_near_a_soc() -> None:
    guesses = {soc.name: "nothing was measured" in evidence_text(soc) for soc in socs()}
    assert guesses == {soc.name: not evidence_of(soc).soc for soc in socs()}
    assert {*guesses.values()} == {True, False}
