"""Activations of recurrent layers, by ONNX's names for them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.package.node_view import NodeError
from atc_py.text import Text, all_of

Activation: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


def sigmoid(x: NDArray[Any], *_: Any) -> NDArray[Any]:
    """`1 / (1 + e^-x)`."""
    found: NDArray[Any] = np.negative(x)
    np.exp(found, out=found)
    np.add(found, x.dtype.type(1), out=found)
    np.reciprocal(found, out=found)
    return found


def tanh(x: NDArray[Any], *_: Any) -> NDArray[Any]:
    """The hyperbolic tangent."""
    found: NDArray[Any] = np.tanh(x)
    return found


_TABLE: dict[str, Callable[[NDArray[Any], Any, Any], Any]] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": lambda x, alpha, _: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "hardsigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "leakyrelu": lambda x, alpha, _: np.where(x >= 0, x, alpha * x),
    "relu": lambda x, _alpha, _beta: np.maximum(x, 0),
    "scaledtanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "sigmoid": sigmoid,
    "softplus": lambda x, _alpha, _beta: np.logaddexp(x, x.dtype.type(0)),
    "softsign": lambda x, _alpha, _beta: x / (1 + np.abs(x)),
    "tanh": tanh,
    "thresholdedrelu": lambda x, alpha, _: np.where(x >= alpha, x, x.dtype.type(0)),
}
"""Formulas as the definition of ONNX's LSTM lists them, of x, alpha and beta."""


def read_activations(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], dtype: Any
) -> list[Activation]:
    """The functions called `names`, each with its alpha and beta.

    Raises:
        NodeError: a name is unknown, or the lists have different lengths.
    """
    if not len(names) == len(alphas) == len(betas):
        counts = all_of(str(len(given)) for given in (names, alphas, betas))
        text = Text("activations, alphas and betas must be as many, found {found}")
        raise NodeError(text.with_values(found=counts))
    unknown = [name for name in names if name.lower() not in _TABLE]
    if unknown:
        text = Text("no activation is called {name}; known are {known}")
        raise NodeError(text.with_values(name=repr(unknown[0]), known=", ".join(_TABLE)))
    real = np.dtype(dtype).type
    with np.errstate(over="ignore"):  # numbers beyond the dtype are infinite
        return [
            partial(_apply, name.lower(), real(alpha), real(beta))
            for name, alpha, beta in zip(names, alphas, betas, strict=True)
        ]


def _apply(name: str, alpha: Any, beta: Any, x: NDArray[Any]) -> NDArray[Any]:
    """One activation of `x`."""
    found: NDArray[Any] = _TABLE[name](x, alpha, beta)
    return found
