"""The table of figures of boards: the estimates beside them, and what is said of them."""

import pytest

from atc_py.cost.factors import evidence_of
from atc_py.target import find_soc
from tests.cost.figures import NETWORKS, figures, mean_and_spread


@pytest.mark.parametrize("soc", NETWORKS)
def test_estimates_are_around_the_figures_as_the_evidence_says(soc: str) -> None:
    table = [each for each in figures() if each.soc == soc]
    mean, spread = mean_and_spread(each.ratio for each in table)
    assert 0.9 < mean < 1.1
    assert spread < 1.35
    found = evidence_of(find_soc(soc))
    assert found.soc == soc
    assert found.networks == len({each.network for each in table})
    inside = [found.low <= 1 / each.ratio <= found.high for each in table]
    assert sum(inside) >= 0.88 * len(table)
    near = [1 / found.near <= each.ratio <= found.near for each in table]
    assert sum(near) >= 0.88 * len(table)
    assert found.high / found.low <= 3.001


def test_families_without_figures_have_the_widest_range() -> None:
    none = evidence_of(find_soc("Ascend910A"))
    assert (none.soc, none.networks) == ("", 0)
    assert all(
        evidence_of(find_soc(soc)).high / evidence_of(find_soc(soc)).low < none.high / none.low
        for soc in NETWORKS
    )
