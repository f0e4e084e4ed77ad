"""The table of figures of boards: the estimates beside them, and what is said of them."""

import math
from collections import defaultdict

import pytest

from atc_py.cost.estimate import Fit, estimate
from atc_py.cost.factors import EXPECTED, evidence_of
from atc_py.target import find_soc
from tests.cost.figures import (
    KERNELS_SOC,
    NETWORKS,
    figures,
    mean_and_spread,
    measured_kernels,
    shares_of_best_batch,
)

FEW = 3
"""Kernels of a kind that decide nothing."""


@pytest.mark.parametrize("soc", NETWORKS)
def test_estimates_are_around_the_figures_as_the_evidence_says(soc: str) -> None:
    table = [each for each in figures() if each.soc == soc and not each.of_other_kernels]
    mean, spread = mean_and_spread(each.ratio for each in table)
    assert 0.9 < mean < 1.1
    assert spread < 1.26
    found = evidence_of(find_soc(soc))
    assert found.soc == soc
    assert found.networks == len({each.network for each in table})
    inside = [found.low <= 1 / each.ratio <= found.high for each in table]
    assert sum(inside) >= 0.95 * len(table)
    near = [1 / found.near <= each.ratio <= found.near for each in table]
    assert sum(near) >= 0.9 * len(table)
    assert found.high / found.low <= 3.001


def test_figures_of_other_kernels_are_apart_because_of_an_option_on_their_page() -> None:
    lines = {each.network: each.line for each in figures() if each.of_other_kernels}
    assert lines == {
        "efficientnetv2_rw_t": "Sigmoid=high_performance",
        "ssd_vgg16": "buffer_optimize=off_optimize",
    }


def test_families_without_figures_have_the_widest_range() -> None:
    none = evidence_of(find_soc("Ascend910A"))
    assert (none.soc, none.networks) == ("", 0)
    assert all(
        evidence_of(find_soc(soc)).high / evidence_of(find_soc(soc)).low < none.high / none.low
        for soc in NETWORKS
    )


def test_estimates_are_around_the_single_kernels() -> None:
    soc = find_soc(KERNELS_SOC)
    ratios = [estimate(launch, soc).expected / seconds for launch, seconds in measured_kernels()]
    mean, spread = mean_and_spread(ratios)
    assert 0.9 < mean < 1.1
    assert spread < 1.35
    found = evidence_of(soc)
    assert (found.soc, found.networks, found.kernels) == (KERNELS_SOC, len(ratios), True)
    assert sum(found.low <= 1 / each <= found.high for each in ratios) >= 0.95 * len(ratios)
    assert sum(1 / found.near <= each <= found.near for each in ratios) >= 0.9 * len(ratios)


def test_factors_of_a_family_make_no_kind_of_kernel_worse() -> None:
    soc, other = find_soc(KERNELS_SOC), Fit(EXPECTED.factors, 0.0)
    kinds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for launch, seconds in measured_kernels():
        times = estimate(launch, soc), estimate(launch, soc, other)
        own, plain = (math.log(each.expected / seconds) ** 2 for each in times)
        kinds[launch.operations[0].row.name].append((own, plain))
    for errors in kinds.values():
        if len(errors) > FEW:
            own, plain = (
                math.sqrt(sum(column) / len(errors)) for column in zip(*errors, strict=True)
            )
            assert own < plain + 0.01


def test_the_batch_that_is_chosen_is_near_the_best_one() -> None:
    shares = list(shares_of_best_batch())
    assert sum(shares) / len(shares) > 0.95
    assert shares.count(1) >= 0.44 * len(shares)
