"""Rule rotary-as-products: pairs of elements turned by the angle of their position (RotaryEmbedding-23 of ONNX and that of onnxruntime)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.rotary import rotated
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_HEADS_APART = 4


@fix_rule(
    "rotary-as-products",
    ("RotaryEmbedding", "com.microsoft::RotaryEmbedding"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "RotaryEmbedding of ONNX or onnxruntime", "ONNX 或 onnxruntime 的 RotaryEmbedding"
        ),
        after=Words(
            "Gather of the angles, Slice, Mul, Sub, Add, Concat",
            "Gather 取角度，再 Slice、Mul、Sub、Add、Concat",
        ),
        condition=Words(
            "dims are known; sequences are not packed; onnxruntime's scale is 1",
            "形状已知；序列未打包；onnxruntime 的 scale 为 1",
        ),
    ),
    example=RuleCase(
        "RotaryEmbedding",
        (Fed((1, 2, 3, 8)), ConstInput(np.array([[0, 1, 2]])), data(5, 4), data(5, 4, seed=1)),
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "RotaryEmbedding",
        (Fed((1, 2, 3, 8)), ConstInput(np.array([[0, 1, 2]])), data(5, 4), data(5, 4, seed=1)),
        {"scale": 0.5},
        opset=1,
        domain="com.microsoft",
    ),
)
def rotary_as_products(site: Site) -> Sequence[str]:
    """Write the rotation of every head."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    require(not site.integer("is_packed_batching", 0), "sequences are not packed", "序列未打包")
    require(site.number("scale", 1.0) == 1, "the scale is 1", "scale 为 1")
    cos_at, ids_at = (2, 1) if site.node.domain else (1, 3)
    dims = site.shape(0)
    half = site.shape(cos_at)[-1]
    apart = len(dims) == _HEADS_APART
    x = site.name(0)
    if not apart:
        heads = site.integer("num_heads", 0) or dims[-1] // (2 * half)
        dims = (dims[0], dims[1], heads, dims[2] // heads)
        x = site.reshape(x, dims)
    positions = dims[2 if apart else 1]
    cos, sin = (
        site.unsqueeze(_angles(site, at, ids_at, positions), [1 if apart else 2])
        for at in (cos_at, cos_at + 1)
    )
    interleaved = site.flag("interleaved", default=False)
    y = rotated(site, x, dims, cos, sin, 2 * half, interleaved=interleaved)
    return [y if apart else site.reshape(y, site.shape(0))]


def _angles(site: Site, at: int, ids_at: int, positions: int) -> str:
    """Return `[batch or 1, positions, width / 2]` of a table of cosines or sines."""
    table = site.name(at)
    ids = site.tensor(ids_at)
    if ids is None:
        return table
    if len(site.dims(ids_at)) > 1:
        return site.op("Gather", [table, ids.name], axis=0)
    steps = tables.arange(positions)[None]
    if ids.const is not None:
        return site.op("Gather", [table, site.const(site.constant(ids_at) + steps)], axis=0)
    first = site.cast(ids.name, DType.INT32)
    rows = site.op("Add", [first, site.const(steps, DType.INT32, "steps")])
    return site.op("Gather", [table, rows], axis=0)
