"""Why a part of a quantized model has no integer form, in words."""

from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class NoCounterpartError(Exception):
    """A node has no integer form.

    Attributes:
        reason: why, in a sentence without full stop.
        help: what to do, if not the usual thing.
    """

    def __init__(self, reason: Text, help_: Text | None = None) -> None:
        super().__init__(reason.en)
        self.reason = reason
        self.help = help_


NOT_REWRITTEN = Text("it reads a DequantizeLinear that cannot be rewritten")
NO_WORD = Text("its zero points are several, and no AscendDequant follows that could carry them")
IN_BLOCKS = Text("it quantizes in blocks")
COMPUTED_PARAMETERS = Text("its scale or zero point is computed at run time")
UNKNOWN_KIND = Text("the dtype of its data is not known")
DATA_NOT_QUANTIZED = Text("its data is not quantized")
DATA_PER_CHANNEL = Text("its data is quantized per channel")
WEIGHTS_NOT_QUANTIZED = Text("its weights are not quantized")
COMPUTED_WEIGHTS = Text("its weights are computed at run time")
COMPUTED_BIAS = Text("its bias is computed at run time")
SUMS_NOT_CONSTANT = Text("it reads int32 that is computed at run time")
BOTH_CONSTANT = Text("it is computed when the model is converted")
VOLUMES = Text("it is a 3-D convolution, which the operator lists have for floats alone")
VECTOR = Text("one of its operands is a vector, and their zero points are not 0")
ODD_WEIGHTS = Text("its weights have too few axes")
ODD_GROUPS = Text("its groups do not divide its channels")
ODD_BIAS = Text("its bias does not fit its channels")
OPERAND_NOT_QUANTIZED = Text("one of its operands is not quantized as a whole")
OPEN_LENGTH = Text("its zero points are summed up over a dim that is open")
UNKNOWN_RANK = Text("it is not known how many axes its operands have")
OPEN_RESULT = Text(
    "its weights have a scale per channel, and more than one dim of its result is open"
)
EMPTY_RESULT = Text("its result has no elements")
STACKED_WEIGHTS = Text("its weights have a scale per channel and are no matrix")


def other_kind(kind: DType | str) -> Text:
    """The reason of codes of a dtype that the device does not have."""
    name = kind if isinstance(kind, str) else kind.value
    return Text("its codes are {name}, the device has int8 alone", name=name)


def other_scale(found: object) -> NoCounterpartError:
    """The refusal of a value that cannot be a scale."""
    reason = Text(
        "its scale is {actual}, where a positive float32 or float16 is needed", actual=found
    )
    return NoCounterpartError(
        reason,
        Text(
            "write positive, finite scales into the file, in float32 or float16: one, or one "
            "a channel"
        ),
    )


def other_parameters(found: str) -> NoCounterpartError:
    """The refusal of parameters that do not fit each other or the data."""
    reason = Text("its parameters do not fit: {actual}", actual=found)
    return NoCounterpartError(
        reason,
        Text(
            "give it one scale and one zero point, or one of each for every channel along an "
            "axis that the tensor has"
        ),
    )


def channels_elsewhere(found: int, wanted: int) -> Text:
    """The reason for weights whose scales are not per output channel."""
    return Text(
        "its weights are quantized along axis {actual}, its channels are along axis {wanted}",
        actual=found,
        wanted=wanted,
    )
