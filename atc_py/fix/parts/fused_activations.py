"""The activations that onnxruntime fuses into convolutions and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = ["fused_activation"]

_NAMES: dict[str, tuple[str, ...]] = {
    "Celu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Selu": ("alpha", "gamma"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}
"""Activations that are operators, and the attributes that their values become."""

_PAIR = 2


def fused_activation(site: Site, x: str, name: str, values: Sequence[float]) -> str:
    """Write an activation with its values in the order of onnxruntime; "" leaves x.

    Raises:
        UnfitError: the name is another one, or values are missing.
    """
    if not name:
        return x
    if name in _NAMES:
        attributes = _NAMES[name]
        require(len(values) >= len(attributes), "the activation has its values", "激活参数齐全")
        given: dict[str, Any] = dict(zip(attributes, values, strict=False))
        return site.op(name, [x], **given)
    if name == "HardSwish":
        gate = site.op("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
        return site.op("Mul", [x, gate])
    known = name in {"Clip", "ParametricSoftplus", "ScaledTanh"} and len(values) >= _PAIR
    require(known, "the activation is known", "已知的激活函数")
    first, second = (site.scalar(each, "factor") for each in values[:_PAIR])
    if name == "Clip":
        return site.op("Min", [site.op("Max", [x, first]), second])
    inner = "Tanh" if name == "ScaledTanh" else "Softplus"
    return site.op("Mul", [site.op(inner, [site.op("Mul", [x, second])]), first])
