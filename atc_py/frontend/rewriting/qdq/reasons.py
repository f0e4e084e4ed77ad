"""Why a part of a quantized model has no integer form, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words

if TYPE_CHECKING:
    from atc_py.tensor.dtypes import DType

__all__ = [
    "BOTH_CONSTANT",
    "COMPUTED_BIAS",
    "COMPUTED_PARAMETERS",
    "COMPUTED_WEIGHTS",
    "DATA_NOT_QUANTIZED",
    "DATA_PER_CHANNEL",
    "EMPTY_RESULT",
    "IN_BLOCKS",
    "NOT_REWRITTEN",
    "NO_WORD",
    "ODD_BIAS",
    "ODD_GROUPS",
    "ODD_WEIGHTS",
    "OPEN_LENGTH",
    "OPEN_RESULT",
    "OPERAND_NOT_QUANTIZED",
    "STACKED_WEIGHTS",
    "SUMS_NOT_CONSTANT",
    "UNKNOWN_KIND",
    "UNKNOWN_RANK",
    "VECTOR",
    "VOLUMES",
    "WEIGHTS_NOT_QUANTIZED",
    "NoCounterpartError",
    "channels_elsewhere",
    "other_kind",
    "other_parameters",
    "other_scale",
]


class NoCounterpartError(Exception):
    """A node has no integer form.

    Attributes:
        reason: why, in a sentence without full stop.
        help: what to do, if not the usual thing.
    """

    def __init__(self, reason: Words, help_: Words | None = None) -> None:
        super().__init__(reason.en)
        self.reason = reason
        self.help = help_


NOT_REWRITTEN = Words(
    "it reads a DequantizeLinear that cannot be rewritten",
    "其输入来自无法改写的 DequantizeLinear",
)
NO_WORD = Words(
    "its zero points are several, and no AscendDequant follows that could carry them",
    "其零点不止一个，且其后没有可携带零点的 AscendDequant",
)
IN_BLOCKS = Words("it quantizes in blocks", "它按块量化")
COMPUTED_PARAMETERS = Words(
    "its scale or zero point is computed at run time", "其比例或零点在运行时才计算"
)
UNKNOWN_KIND = Words("the dtype of its data is not known", "其数据的类型未知")
DATA_NOT_QUANTIZED = Words("its data is not quantized", "其数据未量化")
DATA_PER_CHANNEL = Words("its data is quantized per channel", "其数据按通道量化")
WEIGHTS_NOT_QUANTIZED = Words("its weights are not quantized", "其权重未量化")
COMPUTED_WEIGHTS = Words("its weights are computed at run time", "其权重在运行时才计算")
COMPUTED_BIAS = Words("its bias is computed at run time", "其偏置在运行时才计算")
SUMS_NOT_CONSTANT = Words(
    "it reads int32 that is computed at run time", "其输入为运行时计算的 int32"
)
BOTH_CONSTANT = Words("it is computed when the model is converted", "它在转换时即已算出")
VOLUMES = Words(
    "it is a 3-D convolution, which the operator lists have for floats alone",
    "它是三维卷积，清单只列浮点类型",
)
VECTOR = Words(
    "one of its operands is a vector, and their zero points are not 0",
    "其某一操作数为向量，且零点不为 0",
)
ODD_WEIGHTS = Words("its weights have too few axes", "其权重的维数不足")
ODD_GROUPS = Words("its groups do not divide its channels", "其分组数不能整除通道数")
ODD_BIAS = Words("its bias does not fit its channels", "其偏置与通道数不符")
OPERAND_NOT_QUANTIZED = Words(
    "one of its operands is not quantized as a whole", "其某一操作数未整体量化"
)
OPEN_LENGTH = Words(
    "its zero points are summed up over a dim that is open", "零点需沿一个未定的维度求和"
)
UNKNOWN_RANK = Words(
    "it is not known how many axes its operands have", "其操作数的维数（轴数）未知"
)
OPEN_RESULT = Words(
    "its weights have a scale per channel, and more than one dim of its result is open",
    "其权重按通道取比例，而其结果有多个未定的维度",
)
EMPTY_RESULT = Words("its result has no elements", "其结果没有元素")
STACKED_WEIGHTS = Words(
    "its weights have a scale per channel and are no matrix", "其权重按通道取比例，且不是矩阵"
)


def other_kind(kind: DType | str) -> Words:
    """Return the reason of codes of a dtype that the device does not have."""
    name = kind if isinstance(kind, str) else kind.value
    return Words(
        f"its codes are {name}, the device has int8 alone",
        f"其量化类型为 {name}，而设备只有 int8",
    )


def other_scale(found: object) -> NoCounterpartError:
    """Return the refusal of a value that cannot be a scale."""
    reason = Words(
        f"its scale is {found}, where a positive float32 or float16 is needed",
        f"其比例为 {found}，须为 float32 或 float16 的正数",
    )
    return NoCounterpartError(
        reason,
        Words(
            "write positive, finite scales into the file, in float32 or float16: one, or one a "
            "channel",
            "请将比例写为有限正数（float32 或 float16）：一个，或每通道一个",
        ),
    )


def other_parameters(found: str) -> NoCounterpartError:
    """Return the refusal of parameters that do not fit each other or the data."""
    reason = Words(f"its parameters do not fit: {found}", f"其参数不匹配：{found}")
    return NoCounterpartError(
        reason,
        Words(
            "give it one scale and one zero point, or one of each for every channel along an axis "
            "that the tensor has",
            "请给出一个比例和一个零点，或沿张量已有的某一轴每通道各一个",
        ),
    )


def channels_elsewhere(found: int, wanted: int) -> Words:
    """Return the reason for weights whose scales are not per output channel."""
    return Words(
        f"its weights are quantized along axis {found}, its channels are along axis {wanted}",
        f"其权重沿第 {found} 轴量化，而输出通道在第 {wanted} 轴",
    )
