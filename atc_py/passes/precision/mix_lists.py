"""White, gray and black lists of the mixed modes: which operators compute in 16 bits.

Source: `precision_reduce.flag` of the operator information of CANN 8.1, family by family: "true" is
white, "false" black, and absent gray. Of Ascend910_95 it has none: its lists are those of the open
operator repositories of CANN 9, to which the cube's operators were added (inferred: they are white
in every other family). Of all lists only operators that atc-py has rows for stand here. The generic
device has the list of Ascend310P, without its recurrent layer.
"""

from enum import Enum

from atc_py.target.soc import SocFamily


class MixList(Enum):
    """The treatment of an operator by a mixed mode."""

    WHITE = "white"
    GRAY = "gray"
    BLACK = "black"


CUBE_LIST = frozenset(
    {
        "BatchMatMul",
        "BatchMatMulV2",
        "Conv2D",
        "Conv2DTransposeD",
        "Conv3D",
        "Conv3DTransposeD",
        "DepthwiseConv2D",
        "MatMulV2",
    }
)
"""The rows that `fp16.op_type` of CANN's `fe.ini` names: what the float16 cube is for."""

_REVERSED = frozenset({"ReverseSequence"})
_TRAINING_BLACK = frozenset(
    [
        "Log",
        "LogSoftmaxV2",
        "Pow",
        "Power",
        "ReduceMeanD",
        "ReduceProdD",
        "ReduceSum",
        "SquareSumV1",
    ]
)
_GRU = CUBE_LIST | {"DynamicGRUV2"}
_RECURRENT = _GRU | {"DynamicRNN"}
_A2_WHITE = _RECURRENT | {"IsInf", "MaxPoolV3", "RmsNorm"}

_OPEN_WHITE = frozenset(
    [
        "Abs",
        "AccumulateNV2",
        "Acos",
        "Add",
        "Addcmul",
        "Adds",
        "AscendAntiQuant",
        "Asin",
        "Atan",
        "Atanh",
        "AvgPoolV2",
        "BatchNorm",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "Ceil",
        "Celu",
        "ClipByValue",
        "ConcatD",
        "Cos",
        "Cosh",
        "Elu",
        "Equal",
        "Erf",
        "Exp",
        "Floor",
        "FloorMod",
        "GatherElements",
        "GatherNd",
        "GeluV2",
        "GlobalLpPool",
        "Greater",
        "GreaterEqual",
        "HardSigmoid",
        "HardSwish",
        "IsInf",
        "IsNan",
        "LeakyRelu",
        "Less",
        "LessEqual",
        "Log",
        "LogSoftmaxV2",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "MVNV2",
        "MaxPoolV3",
        "Maximum",
        "Minimum",
        "Mod",
        "Mul",
        "Muls",
        "PRelu",
        "PadV3",
        "Pow",
        "Power",
        "ROIPooling",
        "Range",
        "RealDiv",
        "Reciprocal",
        "Relu",
        "RightShift",
        "Round",
        "Rsqrt",
        "SelectV2",
        "Shrink",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "SoftmaxV2",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Sub",
        "Swish",
        "Tan",
        "Tanh",
        "Threshold",
        "Trilu",
    ]
)

_WHITE = {
    SocFamily.ASCEND310: CUBE_LIST,
    SocFamily.ASCEND310B: _RECURRENT,
    SocFamily.ASCEND310P: _GRU | {"IsInf"},
    SocFamily.ASCEND610: _GRU,
    SocFamily.ASCEND910: _RECURRENT,
    SocFamily.ASCEND910B: _A2_WHITE,
    SocFamily.ASCEND910_93: _A2_WHITE,
    SocFamily.ASCEND910_95: CUBE_LIST | _OPEN_WHITE,
    SocFamily.HI3796CV300CS: CUBE_LIST - {"BatchMatMul"},
}

_BLACK = {
    SocFamily.ASCEND310: frozenset({"ReduceMeanD"}),
    SocFamily.ASCEND310B: _TRAINING_BLACK,
    SocFamily.ASCEND310P: _REVERSED,
    SocFamily.ASCEND610: frozenset[str](),
    SocFamily.ASCEND910: _TRAINING_BLACK,
    SocFamily.ASCEND910B: _TRAINING_BLACK,
    SocFamily.ASCEND910_93: _TRAINING_BLACK,
    SocFamily.ASCEND910_95: frozenset(
        ["Acosh", "Asinh", "BatchMultiClassNonMaxSuppression", "Selu"]
    ),
    SocFamily.HI3796CV300CS: frozenset[str](),
}


def default_list(op: str, family: SocFamily) -> MixList:
    """The list that operator `op` is on when no user moved it."""
    if op in _WHITE.get(family, CUBE_LIST):
        return MixList.WHITE
    return MixList.BLACK if op in _BLACK.get(family, _REVERSED) else MixList.GRAY


def has_lists(family: SocFamily) -> bool:
    """True if there are published lists of `family`."""
    return family in _WHITE
