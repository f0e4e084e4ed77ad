"""docs/networks.md holds what the networks come to."""

import pytest

from tests.blas_kernels import error_factor
from tests.networks.page import MODELS, MODES, PAGE, QUANTIZED, SOCS, row_of, rows_of_quantized
from tests.sampling import alternating, sampled

pytestmark = pytest.mark.skipif(not MODELS.exists(), reason="the shared networks are not there")

NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.onnx"))


def stated(title: str) -> dict[str, dict[str, str]]:
    """Return the cells of a section by network and SoC."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    return {row[0]: dict(zip(SOCS, row[1:], strict=True)) for row in rows[2:]}


def assert_same(found: str, stated_: str) -> None:
    """Compare two cells; errors are those of the page if products are added up in its order."""
    ours, theirs = found.split(", "), stated_.split(", ")
    assert ours[:2] + ours[3:] == theirs[:2] + theirs[3:]
    if len(ours) > 1:
        low, high = float(theirs[2]) / error_factor(), float(theirs[2]) * error_factor()
        assert low <= float(ours[2]) <= high


@pytest.mark.parametrize("mode", MODES)
def test_every_network_is_on_the_page(mode: str) -> None:
    assert list(stated(mode)) == NAMES
    assert list(stated("Quantized")) == list(QUANTIZED)


@pytest.mark.parametrize(("name", "soc"), alternating(NAMES, SOCS, 3))
def test_figures_of_a_network_are_those_of_the_page(name: str, soc: str) -> None:
    assert_same(row_of(name, soc, "force_fp16"), stated("force_fp16")[name][soc])


@pytest.mark.parametrize("soc", sampled(["Ascend310P3"], ["sim", "Ascend910B3"]))
def test_figures_of_a_quantized_network_are_those_of_the_page(soc: str) -> None:
    name = "resnet_mini_opset9"
    (found,) = rows_of_quantized(name, (soc,))
    ours, theirs = found.split(", "), stated("Quantized")[name][soc].split(", ")
    # The quantizer's factors, and so time and error, may differ in another version of onnxruntime.
    assert (ours[0], ours[3]) == (theirs[0], theirs[3])
