"""Why a layer of a float model has no int8 form, in words."""

from atc_py.text import Text

COMPUTED_WEIGHTS = Text("it multiplies two tensors that are computed at run time")
CONSTANT_DATA = Text("its data is constant")
NOT_FLOAT32 = Text("its weights are not float32")
STACKED_WEIGHTS = Text("its weights are not a matrix")
TRANSPOSED_DATA = Text("its data is transposed")
