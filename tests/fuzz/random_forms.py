"""Models of one node whose geometry nearly fits: windows, pads, indices, axes, sizes at random.

Each form puts a node into a draft that often is sound, and otherwise misses by little.
"""

import random

import onnx

from atc_py.options.compile_options import DEFAULT_LIST
from atc_py.spec import library
from tests.fuzz.drafts import Draft
from tests.fuzz.forms import (
    arithmetic,
    elements,
    indices,
    movement,
    newer,
    sampling,
    volumes,
    windows,
)
from tests.fuzz.forms.registry import FORMS, NEWER_FORMS

REGISTERING = (arithmetic, elements, indices, movement, newer, sampling, volumes, windows)
"""The modules that register forms; who imports them has all."""

_OPSETS = (8, 9, 10, 11, 11, 12, 13, 13, 13, 14, 16, 18)
_NEWER_OPSETS = (9, 11, 12, 13, 14, 14, 15, 16, 16, 17, 18, 18, 18, 21)

_NEWER_SHARE = 0.5
"""How many models of a newer list are of forms that older ones have not."""


def random_form(rng: random.Random, operator_list: str = DEFAULT_LIST) -> onnx.ModelProto:
    """Return a model of one of a list's forms, of opsets that it has, and of some that it has not."""
    newest = operator_list != DEFAULT_LIST
    draft = Draft(rng, rng.choice(_NEWER_OPSETS if newest else _OPSETS))
    forms = NEWER_FORMS if newest and rng.random() < _NEWER_SHARE else FORMS
    listed = [op for op in sorted(forms) if library(operator_list).find(op) is not None]
    forms[rng.choice(listed)](draft)
    return draft.model()
