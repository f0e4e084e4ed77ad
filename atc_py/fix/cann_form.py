"""The registry of forms: for each deviation of CANN, nodes of ONNX that compute what CANN computes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atc_py.fix.site import Site

    Form = Callable[[Site], Sequence[str]]

__all__ = ["cann_form", "load_forms", "own_inputs"]

_FORMS: dict[tuple[str, str], Form] = {}


def cann_form(operator: str, *deviations: str) -> Callable[[Form], Form]:
    """Register a function that writes what CANN computes of a node that meets a deviation.

    The function returns the names of the values that become the node's outputs, by position.

    Args:
        operator: its operator, by the name of its specification.
        deviations: names of rows of that specification.

    Raises:
        ValueError: a deviation has a form already.
    """

    def register(form: Form) -> Form:
        for name in deviations:
            if (operator, name) in _FORMS:
                raise ValueError(f"{operator}/{name} has two forms")
            _FORMS[operator, name] = form
        return form

    return register


def load_forms() -> Mapping[tuple[str, str], Form]:
    """Return every form by operator and deviation."""
    from atc_py.fix import cann

    for module in pkgutil.iter_modules(cann.__path__):
        importlib.import_module(f"{cann.__name__}.{module.name}")
    return _FORMS


def own_inputs(site: Site) -> list[str]:
    """Return the names of the node's inputs; "" for one that is absent."""
    return [site.name(position) for position in range(len(site.node.inputs))]
