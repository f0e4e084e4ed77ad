"""Random cases of the rules of sums of products."""

from typing import Any

import numpy as np

from atc_py.fix.case import Fed, RuleCase, data
from tests.fix.draws import draws


@draws("einsum-as-product")
def einsum_as_product(rng: np.random.Generator) -> RuleCase:
    """Return an equation of one to three operands, with repeated letters and an ellipsis or not."""
    letters = "abcdef"
    sizes = {letter: int(size) for letter, size in zip(letters, rng.integers(1, 5, 6), strict=True)}
    free = [int(each) for each in rng.integers(1, 4, int(rng.integers(3)))]
    terms, inputs = [], []
    for _ in range(int(rng.integers(1, 4))):
        term = [str(each) for each in rng.permutation([*letters])[: int(rng.integers(1, 4))]]
        if rng.integers(4) == 0:
            term.insert(int(rng.integers(len(term) + 1)), term[0])
        dims = [sizes[letter] for letter in term]
        if free and rng.integers(2):
            at = int(rng.integers(len(term) + 1))
            own = [side if rng.integers(4) else 1 for side in free[int(rng.integers(len(free))) :]]
            term.insert(at, "...")
            dims[at:at] = own
        terms.append("".join(term))
        inputs.append(Fed(tuple(dims)))
    there = sorted({letter for term in terms for letter in term} - {"."})
    kept = [letter for letter in rng.permutation(there) if rng.integers(2)] or there[:1]
    if any("." in term for term in terms):
        kept.insert(int(rng.integers(len(kept) + 1)), "...")
    equation = ",".join(terms) + (f"->{''.join(kept)}" if rng.integers(4) else "")
    return RuleCase("Einsum", tuple(inputs), {"equation": equation}, opset=12)


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
    if rng.integers(3) == 0:
        mode = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        attributes = {"group": group, "auto_pad": mode, "strides": strides}
    return RuleCase("Conv", inputs, attributes)
