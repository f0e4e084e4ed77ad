"""Rule roi-align-as-gather: samples of each cell of a region by Gather, then their mean or maximum.

With half pixels a region begins half a pixel before its place, and is as small as stated; without,
it begins at its place, and is a pixel long at least. For a maximum, a sample is the largest of its
four pixels times their weights.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.sampling import PixelTap, pixel_rows, sampled, shifted
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST = 2**26
"""Elements of all samples at most."""

_WITH_HALF_PIXELS = 16
"""Opset since which a mode says where regions begin."""

_REGIONS = np.array([[1, 1, 6, 6], [0.5, 0, 1, 3], [3, 2, 7.5, 7]], np.float32)


@fix_rule(
    "roi-align-as-gather",
    ("RoiAlign",),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "RoiAlign of half pixels, or of mode max, with a stated number of samples",
            "half_pixel 坐标或 max 模式、且给出采样数的 RoiAlign",
        ),
        after=Words(
            "places by Mul and Add, pixels by Gather with int32 positions, Mul, Add, ReduceMean; "
            "for a maximum Max, ReduceMax",
            "由 Mul、Add 求坐标，以 int32 位置 Gather 像素，Mul、Add、ReduceMean；最大值用 Max、ReduceMax",
        ),
        condition=Words(
            "dims are known; sampling_ratio is above 0; all samples have at most 2^26 elements",
            "形状已知；sampling_ratio 大于 0；全部采样不超过 2^26 个元素",
        ),
        float16=Words(
            "places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
            "坐标只有 11 位：128 处为 1/8 像素，1024 以上为整像素",
        ),
    ),
    example=RuleCase(
        "RoiAlign",
        (Fed((1, 2, 8, 9)), ConstInput(_REGIONS), ConstInput(np.array([0, 0, 0]))),
        {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5},
        opset=16,
    ),
    near_miss=RuleCase(
        "RoiAlign",
        (Fed((1, 2, 8, 9)), ConstInput(_REGIONS), ConstInput(np.array([0, 0, 0]))),
        {"output_height": 2, "output_width": 3, "sampling_ratio": 0},
        opset=16,
    ),
    bound=1e-4,
    deviations=("RoiAlign/mode-is-avg",),
    lists=True,
)
def roi_align_as_gather(site: Site) -> Sequence[str]:
    """Write the means or the maxima of the samples."""
    x, regions = site.shape(0), site.shape(1)
    largest = site.text("mode", "avg") == "max"
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    samples = site.integer("sampling_ratio", 0)
    require(samples > 0, "sampling_ratio is above 0", "sampling_ratio 大于 0")
    cells = [site.integer(each, 1) for each in ("output_height", "output_width")]
    count = [each * samples for each in cells]
    require(
        regions[0] * prod(count) * x[1] <= _MOST, "the samples are not too many", "采样数不过多"
    )
    taps = [_taps(site, at, cells[at], samples, x[2 + at]) for at in (0, 1)]
    dims = [(regions[0], count[0], 1), (regions[0], 1, count[1])]
    ones = site.const(tables.ones((1, *count)), site.element, "ones")
    zeros = site.const(tables.zeros((1, *count)), DType.INT32, "zeros")
    places = [regions[0], prod(count), 1]
    spread = [
        [
            PixelTap(
                site.reshape(site.op("Add", [site.reshape(tap.position, shape), zeros]), places),
                site.reshape(site.op("Mul", [site.reshape(tap.weight, shape), ones]), places),
            )
            for tap in each
        ]
        for each, shape in zip(taps, dims, strict=True)
    ]
    image = site.cast(site.name(2), DType.INT32)
    lead = site.reshape(image, [regions[0], 1, 1])
    rows = pixel_rows(site, site.name(0), x)
    values = sampled(site, rows, x[2:], spread, lead, "Max" if largest else "Add")
    values = site.reshape(values, [regions[0], cells[0], samples, cells[1], samples, x[1]])
    join = "ReduceMax" if largest else "ReduceMean"
    values = site.reduce(join, values, [2, 4], keepdims=False)
    return [site.transpose(values, [0, 3, 1, 2])]


def _has_half_pixels(site: Site) -> bool:
    """Return True if a region begins half a pixel before its place."""
    default = "half_pixel" if site.node.opset >= _WITH_HALF_PIXELS else "output_half_pixel"
    return site.text("coordinate_transformation_mode", default) == "half_pixel"


def _taps(site: Site, at: int, cells: int, samples: int, size: int) -> list[PixelTap]:
    """Write the two pixels around each sample along one axis: regions x samples."""
    number = site.scalar
    scale = number(site.number("spatial_scale", 1.0))
    column = 1 - at
    first, last = (
        site.op("Mul", [site.slice(site.name(1), 1, each, each + 1), scale])
        for each in (column, column + 2)
    )
    half = _has_half_pixels(site)
    if half:
        first, last = (site.op("Sub", [each, number(0.5)]) for each in (first, last))
    bins = (tables.arange(cells * samples) + 0.5) / (cells * samples)
    length = site.op("Sub", [last, first])
    length = length if half else site.op("Max", [length, number(1)])
    span = site.op("Mul", [length, site.const(bins[None], site.element)])
    place = site.op("Add", [span, first])
    inside = site.op(
        "And",
        [
            site.op("Not", [site.op("Less", [place, number(-1)])]),
            site.op("Not", [site.op("Greater", [place, number(size)])]),
        ],
    )
    held = site.op("Clip", [place, number(0), number(size - 1)])
    low = site.op("Floor", [held])
    share = site.op("Sub", [held, low])
    there = site.cast(inside, site.element)
    weights = [
        site.op("Mul", [site.op("Sub", [number(1), share]), there]),
        site.op("Mul", [share, there]),
    ]
    position = site.cast(low, DType.INT32)
    end = site.const(size - 1, DType.INT32, "end")
    start = site.const(0, DType.INT32, "start")
    following = site.op("Clip", [shifted(site, position, 1), start, end])
    pairs = zip((position, following), weights, strict=True)
    return [PixelTap(each, weight) for each, weight in pairs]
