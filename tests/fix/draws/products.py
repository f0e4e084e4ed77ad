"""Random cases of the rules of sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.fix.case import Fed, RuleCase, data
from tests.fix.draws import draws

if TYPE_CHECKING:
    import numpy as np


@draws("einsum-as-product")
def einsum_as_product(rng: np.random.Generator) -> RuleCase:
    letters = "abcdef"
    sizes = {letter: int(size) for letter, size in zip(letters, rng.integers(1, 5, 6), strict=True)}
    terms = [
        "".join(rng.permutation([*letters])[: int(rng.integers(1, 5))])
        for _ in range(int(rng.integers(1, 3)))
    ]
    there = sorted({letter for term in terms for letter in term})
    kept = [letter for letter in rng.permutation(there) if rng.integers(2)] or there[:1]
    equation = f"{','.join(terms)}->{''.join(kept)}"
    inputs = tuple(Fed(tuple(sizes[letter] for letter in term)) for term in terms)
    return RuleCase("Einsum", inputs, {"equation": equation}, opset=12)


@draws("conv-3d-as-slices")
def conv_3d_as_slices(rng: np.random.Generator) -> RuleCase:
    window, strides, dilations = ([int(each) for each in rng.integers(1, 3, 3)] for _ in range(3))
    dims = [side * 2 + int(rng.integers(2, 4)) for side in window]
    group = int(rng.integers(1, 3))
    inputs: tuple[Any, ...] = (
        Fed((int(rng.integers(1, 3)), 2 * group, *dims)),
        data(2 * group, 2, *window),
        *([data(2 * group)] if rng.integers(2) else []),
    )
    pads = [int(rng.integers(0, side)) for side in (*window, *window)]
    attributes = {"group": group, "pads": pads, "strides": strides, "dilations": dilations}
    return RuleCase("Conv", inputs, attributes)
