"""Models of one node whose geometry nearly fits: windows, pads, indices, axes, sizes at random.

Each form puts a node into a draft that often is sound, and otherwise misses by little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.drafts import Draft
from tests.fuzz.forms import arithmetic, indices, movement, windows
from tests.fuzz.forms.registry import FORMS

if TYPE_CHECKING:
    import random

    import onnx

__all__ = ["random_form"]

REGISTERING = (arithmetic, indices, movement, windows)
"""The modules that register forms; who imports them has all."""

_OPSETS = (8, 9, 10, 11, 11, 12, 13, 13, 13, 14, 16, 18)


def random_form(rng: random.Random) -> onnx.ModelProto:
    """Return a model of one of FORMS."""
    draft = Draft(rng, rng.choice(_OPSETS))
    FORMS[rng.choice(sorted(FORMS))](draft)
    return draft.model()
