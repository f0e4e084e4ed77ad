"""Activations of recurrent layers, by ONNX's names for them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.formulas import GATES, Term, trace
from atc_py.package.node_view import NodeError
from atc_py.text import Text, all_of

Activation: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], object]
"""A function that fills its second operand, which may be the first."""

_ONES = {np.dtype(kind): np.ones((), kind) for kind in (np.float32, np.float64)}
"""1 by dtype, as arrays: of a number numpy makes one in every call."""


def sigmoid(x: NDArray[Any], out: NDArray[Any]) -> None:
    """`1 / (1 + e^-x)`."""
    one = _ONES[x.dtype]
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, one, out)
    np.divide(one, out, out)


_IN_PLACE: dict[str, Activation] = {"sigmoid": sigmoid, "tanh": np.tanh}
"""The usual ones, which a layer computes in every step."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "expm1 of negative": np.expm1,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "where": np.where,
}
"""Functions of formulas that numpy has not by their name, or not with numbers of any dtype."""


def read_activations(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], dtype: Any
) -> list[Activation]:
    """The functions called `names`, each with its alpha and beta."""
    if not len(names) == len(alphas) == len(betas):
        counts = all_of(str(len(given)) for given in (names, alphas, betas))
        text = Text("activations, alphas and betas must have the same length, found {found}")
        raise NodeError(text.with_values(found=counts))
    unknown = [name for name in names if name.lower() not in GATES]
    if unknown:
        text = Text("no activation is called {name}; known are {known}")
        raise NodeError(text.with_values(name=repr(unknown[0]), known=", ".join(GATES)))
    with np.errstate(over="ignore"):  # numbers beyond the dtype are infinite
        return [
            _activation(name.lower(), alpha, beta, np.dtype(dtype).type)
            for name, alpha, beta in zip(names, alphas, betas, strict=True)
        ]


def _activation(name: str, alpha: float, beta: float, real: Any) -> Activation:
    if name in _IN_PLACE:
        return _IN_PLACE[name]
    term, steps = trace(lambda x: GATES[name](x, alpha, beta))
    calls = [
        (
            _FUNCTIONS.get(step.function) or getattr(np, step.function),
            [each if isinstance(each, Term) else real(each) for each in step.operands],
            step.result,
        )
        for step in steps
    ]

    def apply(x: NDArray[Any], out: NDArray[Any]) -> None:
        values = {term: x}
        for function, operands, result in calls:
            values[result] = function(*(values.get(operand, operand) for operand in operands))
        np.copyto(out, values[calls[-1][2]])

    return apply
