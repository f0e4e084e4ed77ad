"""Rule dynamic-lstm-as-lstm: an LSTM with quantized weights, on weights that are dequantized.

onnxruntime's DynamicQuantizeLSTM quantizes X and H at every step as well; that is left out, so
that results are nearer those of the model before it was quantized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.site import Site

__all__: list[str] = []


def _weights(seed: int) -> ConstInput:
    """Return weights of 2 inputs, one direction, two units."""
    drawn = np.random.default_rng(seed).integers(-9, 9, (1, 2, 8))
    return ConstInput(drawn.astype(np.int8))


_QUANTIZED = tuple(
    ConstInput(each) for each in (np.full(1, 0.05, np.float32), np.zeros(1, np.int8)) * 2
)


@fix_rule(
    "dynamic-lstm-as-lstm",
    ("com.microsoft::DynamicQuantizeLSTM",),
    Exactness.APPROXIMATE,
    RuleText(
        before=Words("DynamicQuantizeLSTM", "DynamicQuantizeLSTM"),
        after=Words("LSTM with dequantized weights", "采用反量化权重的 LSTM"),
        condition=Words(
            "weights, scales and zero points are constant; X and H are not quantized any more",
            "权重、比例与零点为常量；X 与 H 不再量化",
        ),
    ),
    example=RuleCase(
        "DynamicQuantizeLSTM",
        (Fed((3, 1, 2)), _weights(0), _weights(1), data(1, 16), *[None] * 4, *_QUANTIZED),
        {"hidden_size": 2},
        opset=1,
        outputs=3,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "DynamicQuantizeLSTM",
        (Fed((3, 1, 2)), _weights(0), Fed((1, 2, 8), DType.INT8), *[None] * 5, *_QUANTIZED),
        {"hidden_size": 2},
        opset=1,
        outputs=3,
        domain="com.microsoft",
    ),
)
def dynamic_lstm_as_lstm(site: Site) -> Sequence[str]:
    """Write the LSTM; its weights have the gates along the middle axis."""
    w, r = (_dequantized(site, at, scale) for at, scale in ((1, 8), (2, 10)))
    others = [site.name(at) for at in range(3, 8)]
    while others and not others[-1]:
        others.pop()
    own: dict[str, Any] = {**site.node.attributes}
    return site.ops("LSTM", [site.name(0), w, r, *others], len(site.node.outputs), **own)


def _dequantized(site: Site, position: int, scale: int) -> str:
    """Return weights as numbers, with gates before inputs."""
    codes = site.constant(position).astype(np.float32)
    step, zero = (
        _each(site.constant(at).astype(np.float32), codes.ndim) for at in (scale, scale + 1)
    )
    real = ((codes - zero) * step).transpose(0, 2, 1)
    return site.const(real, DType.FLOAT32, "weights")


def _each(number: NDArray[Any], rank: int) -> NDArray[Any]:
    """Return one number a direction, or one a direction and gate, with the axes of the weights."""
    flat = number.reshape(-1) if number.size == 1 else number
    return flat.reshape(flat.shape[0], *[1] * (rank - flat.ndim), *flat.shape[1:])
