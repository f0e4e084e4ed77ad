"""Rule integer-sum-as-product: sums of products of codes, in floats; the scales go in before they grow.

sum (a - za)(b - zb) * s = (sum (a - za)/2^8 * (b - zb)/2^7) * (s * 2^15). Powers of two are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.codes import DATA_SHARE, WEIGHT_SHARE, centered_codes, scaled
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.neighbors import ValueReader
    from atc_py.fix.site import Site

__all__: list[str] = []

_FLOAT = 1
"""ONNX's number of float32."""


@fix_rule(
    "integer-sum-as-product",
    ("ConvInteger", "MatMulInteger"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "MatMulInteger or ConvInteger, with the Cast and the Mul by scales that follow",
            "MatMulInteger 或 ConvInteger，及其后的 Cast 与乘以比例的 Mul",
        ),
        after=Words(
            "Cast, Sub of the zero points, MatMul or Conv of codes / 2^15, Mul by scales * 2^15",
            "Cast、减零点、对除以 2^15 的编码做 MatMul 或 Conv、乘以 2^15 倍的比例",
        ),
        condition=Words(
            "the zero points have one axis at most; sums over 2^24 are rounded",
            "零点至多一个轴；超过 2^24 的和会被舍入",
        ),
        float16=Words(
            "codes are exact; without a Mul by scales, sums over 65504 overflow",
            "编码精确；其后没有乘以比例的 Mul 时，超过 65504 的和会溢出",
        ),
    ),
    example=RuleCase(
        "MatMulInteger",
        (
            Fed((3, 4), DType.UINT8),
            ConstInput(np.arange(-4, 4, dtype=np.int8).reshape(4, 2)),
            Fed((), DType.UINT8, (0, 255)),
        ),
        opset=10,
    ),
    near_miss=RuleCase(
        "MatMulInteger",
        (Fed((3, 4), DType.UINT8), ConstInput(np.arange(-4, 4, dtype=np.int8).reshape(4, 2))),
        opset=10,
    ),
)
def integer_sum_as_product(site: Site) -> Sequence[str]:
    """Write the sums of the shares, times what they were divided by."""
    is_product = site.node.op_type == "MatMulInteger"
    rank = len(site.dims(1))
    a = centered_codes(site, 0, 2, DATA_SHARE, -2 if is_product else None)
    b = centered_codes(site, 1, 3, WEIGHT_SHARE, -1 if is_product else -rank)
    own: dict[str, Any] = {**site.node.attributes}
    y = site.op("MatMul", [a, b]) if is_product else site.op("Conv", [a, b], **own)
    chain = _scaling(site)
    whole = 1 / (DATA_SHARE * WEIGHT_SHARE)
    if chain is None:
        return [site.cast(scaled(site, y, whole), DType.INT32)]
    site.absorbed = chain
    cast, scale = chain
    (factor,) = [name for name in scale.work.inputs if name not in cast.work.outputs]
    return [site.op("Mul", [y, _grown(site, factor)])]


def _scaling(site: Site) -> tuple[ValueReader, ValueReader] | None:
    """Return the Cast of the sums and the Mul by scales, if nothing else reads the sums."""
    known = None if site.around is None else site.around.readers
    sums = site.output(0)
    if known is None or sums is None:
        return None
    cast = known.only(sums.name)
    if cast is None or cast.node.op_type != "Cast" or cast.node.attributes.get("to") != _FLOAT:
        return None
    (real,) = cast.work.outputs
    scale = known.only(real)
    if scale is None or scale.node.op_type != "Mul" or len({*scale.work.inputs}) == 1:
        return None
    return cast, scale


def _grown(site: Site, scale: str) -> str:
    """Write a scale times 2^15; the two factors of a product get their shares before it is formed."""
    maker = None if site.around is None else site.around.makers.get(scale)
    if maker is None or maker.node.op_type != "Mul":
        return scaled(site, scale, 1 / (DATA_SHARE * WEIGHT_SHARE))
    site.beside = (maker.work,)
    first, second = (
        scaled(site, part, 1 / share)
        for part, share in zip(maker.work.inputs, (DATA_SHARE, WEIGHT_SHARE), strict=True)
    )
    return site.op("Mul", [first, second])
