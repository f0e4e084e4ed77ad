"""docs/cost-model.md states the factors and the estimates that the code has."""

import re
from pathlib import Path

import pytest

from atc_py.cost.factors import EXPECTED, evidence_of, expected_case
from atc_py.target import find_soc
from tests.cost.launches import bert_base, matmul, resnet50
from tests.cost.test_published_figures import LARGE, rates

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cost-model.md").read_text(encoding="utf-8")


def rows(begin: str) -> list[list[str]]:
    """Return cells of the table rows that begin so."""
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| {begin}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("name", EXPECTED.factors.as_json())
def test_page_states_the_factor_of_each_family(name: str) -> None:
    socs = ("Ascend310P3", "Ascend310", "Ascend310B1", "Ascend910B2")
    (row,) = (
        found
        for found in rows(name)
        if re.match(rf"{name}[:,]", found[0]) and len(found) == len(socs) + 1
    )
    factors = [expected_case(find_soc(soc)).factors.as_json()[name] for soc in socs]
    assert [float(cell) for cell in row[1:]] == factors


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310", "Ascend310B1", "Ascend910B2", "sim"])
def test_page_states_the_range_of_each_family(soc: str) -> None:
    found = evidence_of(find_soc(soc))
    assert f"{found.low} to {found.high}" in PAGE.replace("\n", " ")


@pytest.mark.parametrize(
    ("begin", "soc"),
    [
        ("large product, Ascend310P3", "Ascend310P3"),
        ("large product, Ascend910A", "Ascend910A"),
        ("large product, Ascend310 ", "Ascend310"),
        ("ResNet-50, batch 64", "Ascend310P3"),
        ("BERT-base", "Ascend310P3"),
        ("ResNet-50 training", "Ascend910A"),
    ],
)
def test_page_states_the_estimates_beside_published_figures(begin: str, soc: str) -> None:
    assert find_soc(soc).name == soc
    launches, samples = {
        "large": ([matmul(LARGE, LARGE, LARGE)], 2 * LARGE**3 / 1e12),
        "ResNet-50,": (resnet50(64), 64.0),
        "BERT-base": (bert_base(8, 512), 8.0),
        "ResNet-50": (resnet50(256), 256.0),
    }[begin.partition(" ")[0]]
    (row,) = rows(begin)
    least, most = row[2].split(" to ")
    found = rates(launches, soc, samples)
    assert found == pytest.approx((float(least), float(row[3]), float(most)), rel=0.03)
