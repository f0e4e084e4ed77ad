"""The activation functions of recurrent operators (ONNX) and of onnxruntime's fused ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atc_py.fix.site import Site

__all__ = ["Activation", "activations_of"]

_DEFAULTS: dict[str, tuple[float | None, ...]] = {
    "affine": (None, None),
    "elu": (1.0,),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01,),
    "relu": (),
    "scaledtanh": (None, None),
    "sigmoid": (),
    "softplus": (),
    "softsign": (),
    "tanh": (),
    "thresholdedrelu": (None,),
}
"""Alpha, and beta where there is one, of every function; None where engines differ."""

_OPERATORS = {
    "elu": "Elu",
    "hardsigmoid": "HardSigmoid",
    "leakyrelu": "LeakyRelu",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
    "thresholdedrelu": "ThresholdedRelu",
}
"""Functions that are operators."""


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one value.

    Attributes:
        name: in small letters.
        values: alpha and beta, as many as it has.
        clip: bound of the magnitude of its argument; 0 for none.
    """

    name: str
    values: tuple[float, ...]
    clip: float = 0.0

    def write(self, site: Site, x: str) -> str:
        """Write the function of `x`."""
        if self.clip:
            bounds = [site.scalar(each, "clip") for each in (-self.clip, self.clip)]
            x = site.op("Min", [site.op("Max", [x, bounds[0]]), bounds[1]])
        if self.name in _OPERATORS:
            names = ("alpha", "beta")[: len(self.values)]
            given: dict[str, Any] = dict(zip(names, self.values, strict=True))
            return site.op(_OPERATORS[self.name], [x], **given)
        alpha, beta = (site.scalar(each, "factor") for each in self.values)
        if self.name == "affine":
            return site.op("Add", [site.op("Mul", [x, alpha]), beta])
        return site.op("Mul", [site.op("Tanh", [site.op("Mul", [x, beta])]), alpha])


def activations_of(site: Site, defaults: Sequence[str]) -> list[Activation]:
    """Return the activations of a recurrent node.

    Values of alpha and beta are taken in order by the functions that have them.

    Args:
        site: of the node.
        defaults: names of the functions without the attribute.

    Raises:
        UnfitError: ONNX defines no function of a name, there are not as many as `defaults`, or a
            value is missing that engines complete differently.
    """
    given = site.node.attributes.get("activations") or tuple(defaults)
    names = [str(each).lower() for each in given] if isinstance(given, tuple) else []
    known = len(names) == len(defaults) and all(each in _DEFAULTS for each in names)
    require(known, "the activations are ONNX's", "激活函数为 ONNX 所定义")
    lists = [list(_floats(site, f"activation_{each}")) for each in ("alpha", "beta")]
    clip = site.number("clip", 0.0)
    return [Activation(name, tuple(_values(name, lists)), clip) for name in names]


def _values(name: str, lists: Sequence[list[float]]) -> Iterator[float]:
    """Yield alpha and beta of a function, each the next of its list."""
    for given, default in zip(lists, _DEFAULTS[name], strict=False):
        value = given.pop(0) if given else default
        require(value is not None, "alpha and beta are given", "给出 alpha 与 beta")
        yield float(value or 0)


def _floats(site: Site, name: str) -> tuple[float, ...]:
    """Return an attribute that is a list of floats."""
    found = site.node.attributes.get(name, ())
    return tuple(float(each) for each in found) if isinstance(found, tuple) else ()
