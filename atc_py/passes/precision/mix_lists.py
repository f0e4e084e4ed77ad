"""White, gray and black lists of the mixed modes: which operators compute in 16 bits.

Source: `precision_reduce.flag` of the operator information of CANN 8.1, family by family: "true" is
white, "false" black, and absent gray. Those of Ascend950 are the same flag of the operator
definitions of CANN's open repositories (August 2026), those of Conv2DV2, Conv3DV2, their transposed
kin, MatMulV3 and BatchMatMulV3 for the cube's operators here. Of all lists only operators that atc-py has rows for stand here. The generic
device has the list of Ascend310P, without its recurrent layer.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import msgspec

from atc_py.diag import BAD_CONTROL_FILE, Place
from atc_py.system.structs import replace
from atc_py.target.soc import SocFamily
from atc_py.text import Text

# Source: the parser of CANN's fusion engine (2026). Beside the two lists of the guide it takes a gray
# one. Of an operator it takes one list to add it to, one to remove it from, or both where they differ;
# to remove it from the gray list says nothing alone.


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
_TRAINING_BLACK = "Log LogSoftmaxV2 Pow Power ReduceMeanD ReduceProdD ReduceSum SquareSumV1"
_GRU = CUBE_LIST | {"DynamicGRUV2"}
_RECURRENT = _GRU | {"DynamicRNN"}
_A2_WHITE = _RECURRENT | {"IsInf", "MaxPoolV3", "RmsNorm"}

_OPEN_WHITE = """
Abs AccumulateNV2 Acos Add Addcmul Adds Aipp AscendAntiQuant Asin Atan Atanh AvgPoolV2 BatchNorm
BitwiseAnd BitwiseOr BitwiseXor Cast Ceil Celu ClipByValue ConcatD Cos Cosh Elu Equal Erf Exp Floor
FloorMod GatherElements GatherNd GatherV2D GeluV2 GlobalLpPool Greater GreaterEqual HardSigmoid
HardSwish IsInf IsNan LeakyRelu Less LessEqual Log LogSoftmaxV2 LogicalAnd LogicalNot LogicalOr
MVNV2 MaxPoolV3 Maximum Minimum Mod Mul Muls PRelu PadV3 PadV3D Pow Power ROIPooling Range RealDiv
Reciprocal Relu RightShift Round Rsqrt SelectV2 Shrink Sigmoid Sign Sin Sinh SoftmaxV2 Softplus
Softsign Sqrt Sub Swish Tan Tanh Threshold Trilu
"""
"""White operators of Ascend950 beside the cube's."""

_WHITE = {
    SocFamily.ASCEND310: CUBE_LIST,
    SocFamily.ASCEND310B: _RECURRENT,
    SocFamily.ASCEND310P: _GRU | {"IsInf"},
    SocFamily.ASCEND610: _GRU,
    SocFamily.ASCEND910: _RECURRENT,
    SocFamily.ASCEND910B: _A2_WHITE,
    SocFamily.ASCEND910_93: _A2_WHITE,
    SocFamily.ASCEND950: CUBE_LIST.union(_OPEN_WHITE.split()),
    SocFamily.HI3796CV300CS: CUBE_LIST - {"BatchMatMul"},
}

_BLACK = {
    SocFamily.ASCEND310: frozenset({"ReduceMeanD"}),
    SocFamily.ASCEND310B: frozenset(_TRAINING_BLACK.split()),
    SocFamily.ASCEND310P: _REVERSED,
    SocFamily.ASCEND610: frozenset[str](),
    SocFamily.ASCEND910: frozenset(_TRAINING_BLACK.split()),
    SocFamily.ASCEND910B: frozenset(_TRAINING_BLACK.split()),
    SocFamily.ASCEND910_93: frozenset(_TRAINING_BLACK.split()),
    SocFamily.ASCEND950: frozenset(
        ["Acosh", "Asinh", "BatchMultiClassNonMaxSuppression", "GridSampler2D", "Selu"]
    ),
    SocFamily.HI3796CV300CS: frozenset[str](),
}


def default_list(op: str, family: SocFamily) -> MixList:
    if op in _WHITE.get(family, CUBE_LIST):
        return MixList.WHITE
    return MixList.BLACK if op in _BLACK.get(family, _REVERSED) else MixList.GRAY


def has_lists(family: SocFamily) -> bool:
    return family in _WHITE


_LISTS = {f"{each.value}-list": each for each in MixList}
_ADD, _REMOVE = "to-add", "to-remove"


class Move(msgspec.Struct, frozen=True):
    """The lists that one operator is added to and removed from.

    ATC takes an operator that is added to the gray list off another one only where the file removes
    it from that. So `added` is white, black or None.
    """

    added: MixList | None = None
    removed: MixList | None = None


def read_moves(document: Any, place: Place) -> dict[str, Move]:
    entries: dict[str, set[tuple[str, MixList]]] = {}
    for change, which, op in _entries(document, place):
        entries.setdefault(op, set()).add((change, which))
    return {op: _move(op, found, place) for op, found in entries.items()}


def _move(op: str, entries: set[tuple[str, MixList]], place: Place) -> Move:
    added = [which for change, which in entries if change == _ADD]
    removed = [which for change, which in entries if change == _REMOVE]
    alone = not added and removed == [MixList.GRAY]
    if len(added) > 1 or len(removed) > 1 or added == removed or alone:
        said = sorted(f"{which.value}-list {change}" for change, which in entries)
        raise BAD_CONTROL_FILE.error(
            Text("the moves of {op} contradict each other: {said}", op=op, said=", ".join(said)),
            place=place,
            help=Text("add an operator to one list, and remove it from another one or from none"),
        )
    move = Move(next(iter(added), None), next(iter(removed), None))
    return replace(move, added=None) if move.added is MixList.GRAY else move


def _entries(document: Any, place: Place) -> Iterator[tuple[str, MixList, str]]:
    """Yield (`to-add` or `to-remove`, list, operator) of every entry."""
    if not isinstance(document, dict):
        raise BAD_CONTROL_FILE.error(Text("the file must hold one object"), place=place)
    for name, moves in document.items():
        if name not in _LISTS or not isinstance(moves, dict):
            message = Text("{name} is none of {types}", name=repr(name), types=", ".join(_LISTS))
            raise BAD_CONTROL_FILE.error(message, place=place)
        if not moves.keys() <= {_ADD, _REMOVE}:
            message = Text(
                "{name} takes only {add} and {remove}", name=name, add=_ADD, remove=_REMOVE
            )
            raise BAD_CONTROL_FILE.error(message, place=place)
        for change, operators in moves.items():
            if not isinstance(operators, list):
                message = Text("{change} of {name} must be a list", change=change, name=name)
                raise BAD_CONTROL_FILE.error(message, place=place)
            for op in operators:
                yield change, _LISTS[name], str(op)
