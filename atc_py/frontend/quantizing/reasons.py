"""Why a layer of a float model has no int8 form, in words."""

from __future__ import annotations

from atc_py.text import Text

__all__ = [
    "COMPUTED_WEIGHTS",
    "CONSTANT_DATA",
    "NOT_FLOAT32",
    "STACKED_WEIGHTS",
    "TRANSPOSED_DATA",
]

COMPUTED_WEIGHTS = Text("it multiplies two tensors that are computed at run time")
CONSTANT_DATA = Text("its data is constant")
NOT_FLOAT32 = Text("its weights are not float32")
STACKED_WEIGHTS = Text("its weights are not a matrix")
TRANSPOSED_DATA = Text("its data is transposed")
