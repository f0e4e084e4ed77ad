"""Random cases of the rules of pools."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


def numbers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    """Return random integers, `high` excluded."""
    return [int(each) for each in rng.integers(low, high, count)]


def pool(
    rng: np.random.Generator,
    op_type: str,
    rank: int,
    *,
    dilated: bool = False,
    ceil: bool = True,
    opset: int = 12,
    **more: Any,
) -> RuleCase:
    """Return a pool along `rank` axes with random window, strides, pads and, where wanted, dilations."""
    taps = numbers(rng, 1, 4, rank)
    if dilated:
        taps[0] = max(taps[0], 2)
    dilations = numbers(rng, 1, 3, rank) if dilated else [1] * rank
    dilations[0] += dilated
    spans = [(tap - 1) * each + 1 for tap, each in zip(taps, dilations, strict=True)]
    size = [span + extra for span, extra in zip(spans, numbers(rng, 1, 6, rank), strict=True)]
    attributes: dict[str, Any] = {"kernel_shape": taps, "strides": numbers(rng, 1, 4, rank), **more}
    form = int(rng.integers(4))
    if form == 0:
        attributes["auto_pad"] = str(
            rng.choice(["VALID"] if dilated else ["SAME_UPPER", "SAME_LOWER", "VALID"])
        )
        near = zip(attributes["strides"], taps, strict=True)
        attributes["strides"] = [min(pair) for pair in near]
    elif form < 3:
        attributes["pads"] = [int(rng.integers(0, tap)) for tap in (*taps, *taps)]
    if dilated:
        attributes["dilations"] = dilations
    if ceil and "auto_pad" not in attributes and rng.integers(2):
        attributes["ceil_mode"] = 1
    if op_type == "AveragePool":
        attributes["count_include_pad"] = int(rng.integers(2))
    fed = Fed((*numbers(rng, 1, 3, 2), *size))
    return RuleCase(op_type, (fed,), attributes, opset=opset)


@draws("max-pool-as-maxima")
def max_pool_as_maxima(rng: np.random.Generator) -> RuleCase:
    return pool(rng, "MaxPool", int(rng.integers(1, 4)), dilated=True)


@draws("pool-of-volumes")
def pool_of_volumes(rng: np.random.Generator) -> RuleCase:
    op_type = str(rng.choice(["AveragePool", "MaxPool", "LpPool"]))
    if op_type == "LpPool":
        return pool(rng, op_type, 3, opset=18, p=int(rng.integers(1, 4)))
    return pool(rng, op_type, 3, opset=19 if op_type == "AveragePool" else 12)


@draws("pool-long-row")
def pool_long_row(rng: np.random.Generator) -> RuleCase:
    op_type = str(rng.choice(["AveragePool", "MaxPool"]))
    taps = [int(rng.integers(1, 3)), int(rng.choice([1, 3, 60]))]
    step = int(rng.choice([1, 2, 5, 60]))
    pads = [int(rng.integers(0, tap)) for tap in (*taps, *taps)]
    size = (1, *numbers(rng, 1, 3, 1), int(rng.integers(2, 4)), int(rng.integers(4097, 9000)))
    attributes: dict[str, Any] = {"kernel_shape": taps, "strides": [1, step], "pads": pads}
    attributes["ceil_mode"] = int(rng.integers(2))
    if op_type == "AveragePool":
        attributes["count_include_pad"] = int(rng.integers(2))
    return RuleCase(op_type, (Fed(size),), attributes, opset=19)


@draws("pool-valid-as-explicit")
def pool_valid_as_explicit(rng: np.random.Generator) -> RuleCase:
    case = pool(rng, "MaxPool", 2, ceil=False)
    attributes = {**case.attributes, "auto_pad": "VALID", "ceil_mode": 1}
    attributes.pop("pads", None)
    return RuleCase("MaxPool", case.inputs, attributes, opset=12)


@draws("max-pool-indices")
def max_pool_indices(rng: np.random.Generator) -> RuleCase:
    case = pool(
        rng, "MaxPool", int(rng.integers(1, 4)),
        dilated=bool(rng.integers(2)), storage_order=int(rng.integers(2)),
    )  # fmt: skip
    return RuleCase("MaxPool", case.inputs, case.attributes, opset=12, outputs=2)


@draws("average-dilated-as-conv")
def average_dilated_as_conv(rng: np.random.Generator) -> RuleCase:
    return pool(rng, "AveragePool", int(rng.integers(1, 4)), dilated=True, opset=19)


@draws("max-pool-of-integers")
def max_pool_of_integers(rng: np.random.Generator) -> RuleCase:
    case = pool(rng, "MaxPool", 2)
    dtype, bounds = ((DType.INT8, (-128, 127)), (DType.UINT8, (0, 255)))[int(rng.integers(2))]
    assert isinstance(case.inputs[0], Fed)
    return RuleCase(
        "MaxPool", (Fed(case.inputs[0].dims, dtype, bounds),), case.attributes, opset=12
    )


@draws("max-unpool-as-scatter")
def max_unpool_as_scatter(rng: np.random.Generator) -> RuleCase:
    rank = int(rng.integers(1, 4))
    lead, size, taps = numbers(rng, 1, 3, 2), numbers(rng, 1, 4, rank), numbers(rng, 2, 4, rank)
    dims = [*lead, *(dim * tap for dim, tap in zip(size, taps, strict=True))]
    inputs: list[Any] = [Fed((*lead, *size))]
    if rng.integers(2):
        dims[-1] += int(rng.integers(0, 3))
        inputs.append(None)
        inputs.append(ConstInput(np.array(dims)))
    count = int(np.prod([*lead, *size]))
    places = rng.permutation(int(np.prod(dims)))[:count].reshape(*lead, *size)
    inputs[1:2] = [ConstInput(places)]
    attributes = {"kernel_shape": taps, "strides": taps}
    return RuleCase("MaxUnpool", tuple(inputs), attributes)


@draws("global-lp-pool-as-norm")
def global_lp_pool_as_norm(rng: np.random.Generator) -> RuleCase:
    dims = numbers(rng, 1, 5, int(rng.integers(3, 6)))
    return RuleCase("GlobalLpPool", (Fed(tuple(dims)),), {"p": int(rng.integers(1, 5))})


@draws("lp-pool-as-average")
def lp_pool_as_average(rng: np.random.Generator) -> RuleCase:
    rank, dilated = int(rng.integers(1, 4)), bool(rng.integers(2))
    return pool(rng, "LpPool", rank, dilated=dilated, opset=18, p=int(rng.integers(1, 4)))


@draws("pool-wide-window")
def pool_wide_window(rng: np.random.Generator) -> RuleCase:
    op_type = str(rng.choice(["AveragePool", "MaxPool"]))
    taps, step = int(rng.integers(4097, 5000)), int(rng.integers(1, 50))
    size = taps + step * int(rng.integers(1, 9))
    attributes: dict[str, Any] = {"kernel_shape": [2, taps], "strides": [1, step]}
    attributes["pads"] = [int(rng.integers(2)), 0, int(rng.integers(2)), 0]
    return RuleCase(op_type, (Fed((1, 1, int(rng.integers(2, 4)), size)),), attributes, opset=11)
