"""Random cases of the rules that resize and pad images."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.pools import numbers

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")


def resize(
    rng: np.random.Generator,
    dims: Sequence[int],
    along: Sequence[int],
    *,
    stated: bool,
    **attributes: Any,
) -> RuleCase:
    """Return a Resize along some axes, by scales or to sizes; all axes have numbers unless `stated`."""
    scales = [float(rng.choice([0.3, 0.5, 0.8, 1.3, 2.0, 3.0])) for _ in along]
    counts = [max(int(dims[axis] * scale), 1) for axis, scale in zip(along, scales, strict=True)]
    by_sizes = bool(rng.integers(2)) or "keep_aspect_ratio_policy" in attributes
    by_sizes |= any(
        int(dims[at] * by) in {0, dims[at]} for at, by in zip(along, scales, strict=True)
    )
    if stated:
        attributes["axes"] = list(along)
    else:
        chosen = dict(zip(along, counts, strict=True))
        counts = [chosen.get(at, size) for at, size in enumerate(dims)]
        factors = dict(zip(along, scales, strict=True))
        scales = [factors.get(at, 1.0) for at in range(len(dims))]
    inputs: list[Any] = [Fed(tuple(dims)), None]
    inputs += [None, ConstInput(np.array(counts))] if by_sizes else []
    inputs += [] if by_sizes else [ConstInput(np.array(scales, np.float32))]
    return RuleCase("Resize", tuple(inputs), attributes, opset=19)


@draws("resize-all-axes")
def resize_all_axes(rng: np.random.Generator) -> RuleCase:
    attributes: dict[str, Any] = {
        "mode": str(rng.choice(["nearest", "linear"])),
        "coordinate_transformation_mode": str(rng.choice(COORDINATES)),
    }
    if rng.integers(2):
        policy = str(rng.choice(["not_larger", "not_smaller"]))
        attributes["keep_aspect_ratio_policy"] = policy
    dims = (1, *numbers(rng, 1, 4, 1), *numbers(rng, 3, 9, 2))
    return resize(rng, dims, (2, 3), stated=True, **attributes)


@draws("resize-as-gather")
def resize_as_gather(rng: np.random.Generator) -> RuleCase:
    if rng.integers(3) == 0:
        scales = np.array([1, 1, *rng.choice([1.0, 1.5, 2.0, 3.0], 2)], np.float32)
        fed = Fed((1, *numbers(rng, 1, 7, 3)))
        if rng.integers(2):
            return RuleCase("Upsample", (fed,), {"scales": scales.tolist()}, opset=7)
        return RuleCase("Upsample", (fed, ConstInput(scales)), opset=9)
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": str(rng.choice(["half_pixel_symmetric", *COORDINATES])),
        "nearest_mode": str(
            rng.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
        ),
    }
    dims = numbers(rng, 2, 8, int(rng.integers(3, 6)))
    attributes["mode"] = "nearest"
    case = resize(rng, dims, range(2, len(dims)), stated=True, **attributes)
    assert isinstance(case.inputs[0], Fed)
    bytes_ = Fed(case.inputs[0].dims, DType.UINT8, (0, 255))
    return RuleCase("Resize", (bytes_, *case.inputs[1:]), case.attributes, opset=19)


@draws("resize-as-product")
def resize_as_product(rng: np.random.Generator) -> RuleCase:
    if rng.integers(4) == 0:
        scales = np.array([1, 1, *rng.choice([1.0, 1.5, 2.0, 3.0], 2)], np.float32)
        fed = Fed((1, *numbers(rng, 2, 7, 3)))
        return RuleCase("Upsample", (fed, ConstInput(scales)), {"mode": "linear"}, opset=9)
    attributes: dict[str, Any] = {
        "mode": str(rng.choice(["linear", "cubic"])),
        "coordinate_transformation_mode": str(rng.choice(COORDINATES)),
        "exclude_outside": int(rng.integers(2)),
    }
    if attributes["mode"] == "linear" or rng.integers(2):
        attributes["antialias"] = 1
        attributes["coordinate_transformation_mode"] = "half_pixel"
        attributes["exclude_outside"] = 0
    dims = (1, *numbers(rng, 1, 4, 1), *numbers(rng, 4, 12, 2))
    return resize(rng, dims, (2, 3), stated=False, **attributes)


def pad(rng: np.random.Generator, low: int, dtype: DType, **attributes: Any) -> RuleCase:
    """Return a Pad of random pads from `low` up, of all axes or of some."""
    rank = int(rng.integers(1, 5))
    dims = numbers(rng, 4, 7, rank)
    axes = sorted(int(each) for each in rng.permutation(rank)[: int(rng.integers(1, rank + 1))])
    some = len(axes) if rng.integers(2) else rank
    axes = axes if some < rank else list(range(rank))
    pads = ConstInput(np.array(numbers(rng, low, 4, 2 * len(axes))))
    bounds = None if dtype in {DType.FLOAT32, DType.BOOL} else (0, 100)
    inputs: list[Any] = [Fed(tuple(dims), dtype, bounds), pads]
    if some < rank:
        inputs += [None, ConstInput(np.array(axes))]
    return RuleCase("Pad", tuple(inputs), attributes, opset=19)


@draws("pad-all-axes")
def pad_all_axes(rng: np.random.Generator) -> RuleCase:
    mode = str(rng.choice(["constant", "edge", "reflect"]))
    dims = numbers(rng, 4, 7, 3)
    pads, axes = ConstInput(np.array(numbers(rng, 0, 4, 2))), ConstInput(np.array([1]))
    return RuleCase("Pad", (Fed(tuple(dims)), pads, None, axes), {"mode": mode}, opset=18)


@draws("pad-as-concat")
def pad_as_concat(rng: np.random.Generator) -> RuleCase:
    dtype = (DType.FLOAT32, DType.INT64, DType.BOOL, DType.UINT8)[int(rng.integers(4))]
    case = pad(rng, -1, dtype)
    inputs = [*case.inputs]
    if len(inputs) == 2:
        inputs.append(None)
    inputs[2] = ConstInput(np.array(int(rng.integers(1, 3)), dtype.numpy))
    return RuleCase("Pad", tuple(inputs), opset=19)


@draws("pad-as-gather")
def pad_as_gather(rng: np.random.Generator) -> RuleCase:
    mode = str(rng.choice(["wrap", "edge", "reflect"]))
    dtype = DType.FLOAT32 if mode == "wrap" else DType.INT64
    return pad(rng, -1, dtype, mode=mode)
