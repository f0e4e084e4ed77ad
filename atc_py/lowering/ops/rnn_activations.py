"""Activations of recurrent layers: names, and the alpha and beta of each."""

import msgspec

from atc_py.lowering.builder import Builder
from atc_py.text import Text

_DEFAULTS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "elu": (1.0, None),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, None),
    "relu": (None, None),
    "scaledtanh": (1.0, 1.0),
    "sigmoid": (None, None),
    "softplus": (None, None),
    "softsign": (None, None),
    "tanh": (None, None),
    "thresholdedrelu": (1.0, None),
}
"""Alpha and beta where a node does not give them, None where an activation has none.

Those of ONNX's operators of these names, of which Affine is gone since; ScaledTanh never had any, so
it is Tanh without them. onnxruntime takes 0 for Affine, ScaledTanh and ThresholdedRelu.
"""


class Activations(msgspec.Struct, frozen=True):
    """The activations of all directions of a layer, one after the other.

    Attributes:
        names: in lower case.
        alphas: one for each, 0 where it has none.
        betas: one for each, 0 where it has none.
        usual: whether they are the ones that a node has by default.
    """

    names: tuple[str, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    usual: bool


def read_activations(b: Builder, usual: tuple[str, ...], directions: int) -> Activations:
    """Read the activations of the builder's node; `usual` are one direction's defaults.

    Alphas and betas are consumed in the order of the activations that have one.

    Raises:
        AtcError: BAD_NODE when there are too few or too many, or one is unknown.
    """
    default = usual * directions
    names = tuple(name.lower() for name in _strings(b)) or default
    if len(names) != len(default):
        text = Text("needs {n} activations, found {found}")
        raise b.bad(text.with_values(n=len(default), found=len(names)), "activations")
    unknown = [name for name in names if name not in _DEFAULTS]
    if unknown:
        known = ", ".join(_DEFAULTS)
        text = Text("knows the activations {known}, found {found}")
        raise b.bad(text.with_values(known=known, found=repr(unknown[0])), "activations")
    alphas = _consumed(b, names, "activation_alpha", 0)
    betas = _consumed(b, names, "activation_beta", 1)
    return Activations(names, alphas, betas, names == default)


def _strings(b: Builder) -> tuple[str, ...]:
    """The attribute activations, () when it is not set."""
    value = b.node.attributes.get("activations", ())
    names = value if isinstance(value, tuple) else (value,)
    found = tuple(name for name in names if isinstance(name, str))
    if len(found) != len(names):
        raise b.bad(Text("takes a list of strings as activations"), "attribute activations")
    return found


def _consumed(b: Builder, names: tuple[str, ...], attribute: str, which: int) -> tuple[float, ...]:
    """The alphas (`which` 0) or betas (1) of the activations: given, else by default."""
    value = b.node.attributes.get(attribute, ())
    numbers = (
        [item for item in value if isinstance(item, int | float)]
        if isinstance(value, tuple)
        else []
    )
    if not isinstance(value, tuple) or len(numbers) != len(value):
        text = Text("takes a list of numbers as {attribute}")
        raise b.bad(text.with_values(attribute=attribute), f"attribute {attribute}")
    given = iter(numbers)
    found = []
    for name in names:
        default = _DEFAULTS[name][which]
        found.append(0.0 if default is None else float(next(given, default)))
    return tuple(found)
