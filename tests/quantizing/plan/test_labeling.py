"""The cheapest labels: those of all assignments, tried one by one."""

import random
from itertools import product

import pytest

from atc_py.quantizing.plan.labeling import cheapest_labels, price_of
from tests.failures import in_one_item


def drawn(
    seed: int, labels: str
) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], float]]:
    """Return random prices of nodes and pairs; some nodes cannot have the last label."""
    source = random.Random(seed)  # noqa: S311  (no secret)
    names = [f"n{at}" for at in range(7)]
    prices = {name: {label: source.uniform(0, 3) for label in labels} for name in names}
    for name in names[1:]:
        if source.random() < 0.2:
            del prices[name][labels[-1]]
    prices["n0"] = {labels[1]: 0.0}
    pairs = {
        (a, b): source.uniform(0, 2)
        for a, b in product(names, names)
        if a < b and source.random() < 0.5
    }
    return prices, pairs


def least_price(prices: dict[str, dict[str, float]], pairs: dict[tuple[str, str], float]) -> float:
    every = (dict(zip(prices, chosen, strict=True)) for chosen in product(*prices.values()))
    return min(price_of(each, prices, pairs) for each in every)


@in_one_item("seed", range(60))
def test_two_labels_are_optimal(seed: int) -> None:
    prices, pairs = drawn(seed, "ab")
    found = cheapest_labels(prices, pairs, "ab")
    assert all(found[name] in own for name, own in prices.items())
    assert price_of(found, prices, pairs) == pytest.approx(least_price(prices, pairs))


@in_one_item("seed", range(60))
def test_three_labels_are_near_the_optimum(seed: int) -> None:
    prices, pairs = drawn(seed, "abc")
    found = cheapest_labels(prices, pairs, "abc")
    assert all(found[name] in own for name, own in prices.items())
    assert price_of(found, prices, pairs) <= 1.2 * least_price(prices, pairs) + 1e-9
