"""Rule gather-block-quantized-as-gather: rows of (q - zero) * scale as a constant (onnxruntime's GatherBlockQuantized)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.packed_bits import blocks_as_floats, unpacked
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.site import Site

__all__: list[str] = []

_SCALES, _ZEROS = 2, 3
"""Positions of inputs."""

_DATA = (
    ConstInput(np.arange(5 * 16, dtype=np.uint8).reshape(5, 16)),
    Fed((2, 3), DType.INT64, (0, 4)),
    ConstInput(np.full((5, 2), 0.1, np.float32)),
)


@fix_rule(
    "gather-block-quantized-as-gather",
    ("com.microsoft::GatherBlockQuantized",),
    Exactness.REORDERED,
    RuleText(
        before=Words("GatherBlockQuantized of onnxruntime", "onnxruntime 的 GatherBlockQuantized"),
        after=Words("Gather of a table of floats", "对浮点表做 Gather"),
        condition=Words(
            "the table, scales and zero points are constant; the table is of uint8 and quantized "
            "along its last axis; the indices are within it",
            "表、缩放、零点为常量；表为 uint8 且沿末轴量化；索引不越界",
        ),
        float16=Words("the table is rounded to float16 once", "表舍入为 float16 一次"),
    ),
    example=RuleCase(
        "GatherBlockQuantized", _DATA, {"block_size": 16}, opset=1, domain="com.microsoft"
    ),
    near_miss=RuleCase(
        "GatherBlockQuantized",
        (Fed((5, 16), DType.UINT8, (0, 255)), *_DATA[1:]),
        {"block_size": 16},
        opset=1,
        domain="com.microsoft",
    ),
)
def gather_block_quantized_as_gather(site: Site) -> Sequence[str]:
    """Write the selection from the constant."""
    packed, scales = site.constant(0), site.constant(_SCALES)
    rank = packed.ndim
    require(packed.dtype == np.uint8, "the table is of uint8", "表为 uint8")
    axis = site.axis(1, rank, "quantize_axis")
    require(axis == rank - 1, "the table is quantized along its last axis", "表沿末轴量化")
    gather = site.axis(0, rank, "gather_axis")
    bits, size = site.integer("bits", 4), site.integer("block_size", 128)
    values = unpacked(packed, bits)
    zeros: NDArray[Any] | float = float(1 << (bits - 1))
    if site.tensor(_ZEROS) is not None:
        zeros = unpacked(site.constant(_ZEROS), bits)[..., : scales.shape[-1]]
    blocks, length = scales.shape[-1], values.shape[-1]
    pads = [(0, 0)] * axis + [(0, blocks * size - length)]
    grouped = tables.pad(values, pads).reshape(*values.shape[:-1], blocks, size)
    table = blocks_as_floats(grouped, scales, zeros).reshape(*values.shape[:-1], -1)[..., :length]
    element = site.input(_SCALES).dtype
    return [site.op("Gather", [site.const(table, element, "table"), site.name(1)], axis=gather)]
