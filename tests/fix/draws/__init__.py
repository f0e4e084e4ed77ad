"""Random cases of rules, one family a module; `draws` registers them by the rule's name."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping

import numpy as np

from atc_py.fix.case import RuleCase

Draw = Callable[[np.random.Generator], RuleCase]

_DRAWS: dict[str, Draw] = {}


def draws(rule: str) -> Callable[[Draw], Draw]:
    """Register a function that draws a case that the rule must fit."""

    def register(draw: Draw) -> Draw:
        _DRAWS[rule] = draw
        return draw

    return register


def all_draws() -> Mapping[str, Draw]:
    """Return every draw by the name of its rule."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _DRAWS
