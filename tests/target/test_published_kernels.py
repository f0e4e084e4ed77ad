"""Rows against the operator information of CANN 8.1: dtypes of the AI Core kernels, by family.

Those of Ascend950 are of the operator definitions of CANN's open repositories (August 2026); of an
operator that has its numbers as tensors there, they are those of that form.

The table gives the dtypes of the first operand as that information lists them, `-` where a family
has no kernel of that name. It was transcribed apart from the rows. Left out of both are dtypes
that no ONNX model can bring there (complex numbers, int4 layers, arithmetic of bools) and those
that functions of floats have for integers.
"""

from atc_py.target import TargetOp, Unit, find_operator, find_soc, operators, socs
from atc_py.target.kernels import FAMILY_WORDS
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType
from tests.failures import Failures, in_one_item

SOC_OF = {
    "310": "Ascend310",
    "310P": "Ascend310P3",
    "310B": "Ascend310B1",
    "610": "Ascend610",
    "910": "Ascend910A",
    "A2": "Ascend910B3",
    "A3": "Ascend910_9391",
    "950": "Ascend950PR_9599",
    "CS": "Hi3796CV300CS",
}

TABLE = """
Abs            | 310 310P 310B 610 910: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 i64 | CS: f16 i32 | 950: f16 f32 bf16 i8 i16 i32 i64
AccumulateNV2  | 310 310P 310B 610 910 A2 A3: f16 f32 i8 u8 i32 | CS: f16 i8 u8 i32 | 950: f16 f32 i8 u8 i32
Acos           | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: f16 | 950: f16 f32 bf16
AdaptiveMaxPool2d | 310 310P 310B 610 910 A2 A3: f16 | CS: - | 950: f16 f32 bf16
ArgMaxD        | 310 CS: f16 | 310P 610 910: f16 f32 | 950: f16 f32 bf16 i32 i64
BNInfer        | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: f16
BatchNorm      | 310 310P 310B 610 910 A2 A3: f16 f32 | CS: f16 | 950: f16 f32 bf16
BitwiseAnd     | 310 310P 310B 610 910 CS: i16 u16 i32 | A2 A3: i16 u16 i32 i64 | 950: i16 u16 i32 i64
BitwiseOr      | 310 310P 310B 610 910 CS: i16 u16 i32 | A2 A3: i16 u16 i32 i64 | 950: i8 u8 i16 u16 i32 u32 i64 u64
BitwiseXor     | 310 310P 310B 610 910 CS: i16 u16 i32 | A2 A3: i16 u16 i32 i64 | 950: i8 u8 i16 u16 i32 u32 i64 u64
BatchMultiClassNonMaxSuppression | 310 310P 610 910 CS: f16 | 310B A2 A3: f16 f32 | 950: f16 f32
Celu           | 310 310P 310B 610 910 A2 A3 CS: f16 f32 | 950: f16 f32
ClipByValue    | 310 610: f16 f32 i32 | 310P 310B 910: f16 f32 i32 i64 | A2 A3: f16 f32 bf16 i32 i64 | CS: f16 i32 | 950: f16 f32 bf16 i32 i64
Conv2DTransposeD | 310 310P 610 910 CS: f16 i8 | 310B: f16 f32 i8 | A2 A3: f16 f32 bf16 i8 | 950: f16 f32 bf16 i8
Cumsum         | 310 310P 310B 610 910 CS: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 | 950: f16 f32 bf16 i8 u8 i32 i64 u64
CumsumD        | 310 310P 310B 610 910 A2 A3 CS: f16 f32 i8 u8 i32 | 950: f16 f32 bf16 i8 u8 i32 i64 u64
DepthToSpace   | 310 310P 310B 610 910: f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 | A2 A3: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 | CS: f16 i8 u8 i16 u16 i32 u32 i64 u64 | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64
DepthwiseConv2D | 310 310P 610 910 CS: f16 i8 | 950: f16 f32 bf16 i8
DynamicRNN     | 310 310P 310B 610 910 CS: f16 | 950: f16 f32
Elu            | 310 CS: f16 | 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
EmbeddingBag   | 310 310P 310B 910: f16 f32 | A2 A3: f16 f32 bf16 | 610 CS: - | 950: f16 f32 bf16
Equal          | 310: f16 f32 i8 u8 i32 b | 310P 610: f16 f32 i8 u8 i32 i64 u64 b | 310B: f16 f32 i8 u8 i32 i64 b | 910: f16 f32 i8 u8 i32 u32 i64 u64 b | A2 A3: f16 f32 bf16 i8 u8 i32 i64 b | CS: f16 i8 u8 i32 b | 950: f16 f32 bf16 f64 i8 u8 i32 i64 u64 b
Exp            | 310 CS: f16 | 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
ExpandD        | 310 310P 310B 910 A2 A3 CS: f16 f32 i8 u8 i32 b | 950: f16 f32 bf16 i8 u8 i32 i64 b
FloorMod       | 310 610: f16 f32 | 310P 910: f16 f32 i32 i64 | 310B: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 i64 | CS: f16 | 950: f16 f32 bf16 i32 i64
GatherElements | 310 610 CS: - | 310P 310B 910: f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 | A2 A3: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 b
GatherNd       | 310 310P 310B 610 910: f16 f32 i8 u8 i32 i64 b | A2 A3: f16 f32 bf16 i8 u8 i32 i64 b | CS: f16 i8 u8 i32 b | 950: f16 f32 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64 b
GeluV2         | 310 610 CS: - | 310P 310B 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
Greater        | 310 610: f16 f32 i8 u8 i32 | 310P 310B 910: f16 f32 i8 u8 i32 i64 | A2 A3: f16 f32 bf16 i8 u8 i32 i64 | CS: f16 i8 u8 | 950: f16 f32 bf16 i8 u8 i32 i64 u64
GreaterEqual   | 610: f16 f32 i8 u8 i32 | 310 310P 310B 910: f16 f32 i8 u8 i32 i64 | A2 A3: f16 f32 bf16 i8 u8 i32 i64 | CS: f16 i8 u8 | 950: f16 f32 bf16 i8 u8 i32 i64 u64
HardSigmoid    | 310 310P 310B 610 910 CS: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
HardSwish      | 610 CS: - | 310 310P 310B 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
Invert         | 310 310P 310B 610 910 A2 A3 CS: i16 u16 | 950: i8 u8 i16 u16 i32 u32 i64 u64
IsInf          | 310 310B 610 910 CS: - | 310P: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
IsNan          | 310 310P 610 910 CS: - | 310B: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
LRN            | 310 310P 310B 610 910 A2 A3: f16 f32 | CS: f16
LeakyRelu      | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: f16 | 950: f16 f32 bf16
LessEqual      | 310: f16 f32 i8 u8 i32 | 310P 610 910: f16 f32 i8 u8 i32 i64 u64 | 310B: f16 f32 i8 u8 i32 i64 | A2 A3: f16 f32 bf16 i8 u8 i32 i64 | CS: f16 i8 u8 | 950: f16 f32 bf16 i8 u8 i32 i64 u64
LogSoftmaxV2   | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: f16 | 950: f16 f32 bf16
LogicalAnd     | 310 310P 310B 610 910 A2 A3 CS: b | 950: b
MVNV2          | 310 310P 310B 610 910 A2 A3: f16 f32 | CS: f16 | 950: f16 f32
MaxPoolV3      | 310 310P 310B 610 910 CS: f16 | A2 A3: f16 f32 | 950: f16 f32 bf16 i8 u8 i16 u16 i32 i64
Maximum        | 310 610: f16 f32 i8 i32 | 310P 310B 910: f16 f32 i8 i32 i64 | A2 A3: f16 f32 bf16 i8 i32 i64 | CS: f16 i8 i32 | 950: f16 f32 bf16 i8 u8 i32 i64
Mod            | 310: f16 f32 i8 u8 | 310P 310B 610 910: f16 f32 i8 u8 i32 | A2 A3: f16 f32 bf16 i8 u8 i32 | CS: f16 i8 u8 i32 | 950: f16 f32 bf16 i8 u8 i32 i64
Neg            | 310 310P 310B 610 910: f16 f32 i8 i32 | A2 A3: f16 f32 bf16 i8 i32 i64 | CS: f16 i32 | 950: f16 f32 bf16 i8 i32 i64
NonMaxSuppressionV7 | 310 910 CS: f16 | 310P 310B A2 A3: f16 f32 | 610: -
NonZero        | 310 310B 610 CS: - | 310P 910: f16 f32 i8 u8 b | A2 A3: f16 f32 bf16 i8 u8 b | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 b
OneHot         | 310 610 CS: i32 | 310P 310B 910 A2 A3: i32 i64 | 950: u8 i32 i64
OneHotD        | 310 310P 310B 610 910 A2 A3 CS: u8 i32 | 950: u8 i32
PadV3D         | 310 310P 310B 610 910 A2 A3 CS: f16 f32 i8 u8 i32 | 950: f16 f32 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64 b
Pow            | 310 310P 310B 610 910: f16 f32 i8 u8 i32 | A2 A3: f16 f32 bf16 i8 u8 i32 | CS: f16 | 950: f16 f32 bf16 i8 u8 i16 i32
ROIPooling     | 310 310B 910 A2 A3 CS: f16 | 310P 610: f16 f32 | 950: f16 f32
Range          | 310: - | 310P 910: f16 f32 i32 i64 | 310B 610: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 i64 | CS: f32 i32 | 950: f16 f32 bf16 i32 i64
ReduceMaxD     | 310 310P 310B 610 910: f16 f32 i8 u8 i32 b | A2 A3: f16 f32 bf16 i8 u8 i32 b | CS: f16 i8 u8 i32 b | 950: f16 f32 bf16 i8 u8 i32 i64
ReduceMinD     | 310 CS: f16 i8 u8 i32 | 310P 310B 610 910: f16 f32 i8 u8 i32 | A2 A3: f16 f32 bf16 i8 u8 i32 | 950: f16 f32 bf16 i8 u8 i32 i64
ReduceProdD    | 310 310P 310B 610 910: f16 f32 i8 u8 | A2 A3: f16 f32 bf16 i8 u8 | CS: f16 i8 u8 | 950: f16 f32 bf16 i8 u8 i32 i64 b
ReduceSum      | 310 610: f16 f32 | 310P: f16 f32 i64 | 310B: f16 f32 i32 i64 | 910: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 i64 | CS: - | 950: f16 f32 bf16 i32 i64
ReduceSumD     | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: f16 | 950: f16 f32 bf16 i32 i64
Relu           | 310 610: f16 f32 i8 i32 | 310P 310B 910: f16 f32 i8 i32 i64 | A2 A3: f16 f32 bf16 i8 i32 i64 | CS: f16 i8 i32 | 950: f16 f32 bf16 i8 i32 i64
ReverseSequence | 310 310B 610 910 A2 A3 CS: - | 310P: f16 f32 i8 u8 i16 u16 i32 i64 b | 950: f16 f32 bf16 f64 i8 u8 i16 u16 i32 i64 b
RmsNorm        | 310 310B 610 CS: - | 310P 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
RoiExtractor   | 310 310P 310B 910 A2 A3: f16 f32 | 610 CS: -
Round          | 310 310P 310B 610 910: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 | CS: f16 i32 | 950: f16 f32 bf16 i32
ScaledMaskedSoftmax | 310 310P 910: f16 f32 | 310B 610 CS: - | A2 A3: f16 f32 bf16
ScatterElements | 310 310P 610 CS: - | 310B 910: f16 f32 i8 u8 i32 | A2 A3: f16 f32 bf16 i8 u8 i32 | 950: f16 f32 bf16 i8 u8 i16 i32 i64
SelectV2       | 310 310P 310B 610 910 A2 A3 CS: b | 950: b
Selu           | 310 310P 310B 610 910: f16 f32 | A2 A3: f16 f32 bf16 | CS: - | 950: f16 f32 bf16
Shrink         | 310 CS: - | 310P 310B 610 910 A2 A3: f16 f32 | 950: f16 f32
Sub            | 310 610: f16 f32 i32 | 310P 310B 910: f16 f32 i8 u8 i32 i64 | A2 A3: f16 f32 bf16 i8 u8 i32 i64 | CS: f16 i32 | 950: f16 f32 bf16 i8 u8 i32 i64
Swish          | 610 CS: - | 310 310P 310B 910: f16 f32 | A2 A3: f16 f32 bf16 | 950: f16 f32 bf16
Tan            | 310 310P 310B 610 910: f16 f32 i32 | A2 A3: f16 f32 bf16 i32 | CS: f16 | 950: f16 f32 bf16 i32
Tile           | 310 610: f16 f32 i32 b | 310P: f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 b | 310B 910: f16 f32 i32 i64 b | A2 A3: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 b | CS: f16 i32 b | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 b
TransData      | 310P 610: f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 | 310 310B 910 A2 A3 CS: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32
TransposeD     | 310 310P 310B 610 910 CS: f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 b | A2 A3: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 b | 950: f16 f32 bf16 i8 u8 i16 u16 i32 u32 i64 u64 b
"""

LAYERS = """
Conv2D          | 310 CS: f16>f16 i8>i32 | 310P 610 910: f16>f16 i8>i32 f16+f32>f32 | 310B A2 A3: f16>f16 i8>i32 f16+f32>f32 bf16+f32>bf16 bf16+f32>f32 f32>f32 | 950: f16>f16 f32>f32 bf16>bf16 i8>i32
DepthwiseConv2D | 310 CS: f16>f16 i8>i32 | 310P 610 910: f16>f16 i8>i32 f16+f32>f32 | 310B A2 A3: f16>f16 i8>i32 f16+f32>f32 bf16+f32>bf16 bf16+f32>f32 f32>f32 | 950: f16>f16 f32>f32 bf16>bf16 i8>i32
Conv2DTransposeD | CS: f16>f16 i8>i32 | 310 310P 610 910: f16>f16 i8>i32 f16+f32>f32 | 310B: f16>f16 i8>i32 f32>f32 | A2 A3: f16>f16 i8>i32 f16+f32>f32 bf16+f32>bf16 f32>f32 | 950: f16+f32>f16 f32>f32 bf16+f32>bf16 i8>i32
Conv3D          | 310 310P 910: f16>f16 i8>i32 f16+f32>f32 | 310B: f16>f16 i8>i32 | A2 A3: f16>f16 i8>i32 bf16+f32>bf16 f32>f32 | 950: f16>f16 f32>f32 bf16>bf16 i8>i32
Conv3DTransposeD | 310 310P 910: f16>f16 f16+f32>f32 | 310B: f16>f16 | A2 A3: f16>f16 bf16+f32>bf16 | 950: f16+f32>f16 f32>f32 bf16+f32>bf16
MatMulV2        | CS: f16>f16 i8>i32 | 310 310P 610 910: f16>f16 i8>i32 f16+f32>f32 f32>f32 | 310B A2 A3: f16>f16 i8>i32 f16+f32>f32 f16+f32>f16 bf16+f32>bf16 f32>f32 | 950: f16>f16 f16+f32>f16 f32>f32 bf16+f32>bf16 bf16>bf16 f16+f32>f32 bf16+f32>f32 i8>i32
"""
"""Operand, bias where it differs, and result of layers: from the kernels' own lists, which are read
when they are compiled, and for transposed convolutions from the operator information. Of Ascend950
they are those of Conv2DV2, ExtendConv2D, Conv3DV2, Conv3DTransposeV2, MatMulV3 and
QuantBatchMatmulV3; sums of int8 are within a launch there."""

WORDS = {
    "f16": DType.FLOAT16, "f32": DType.FLOAT32, "f64": DType.FLOAT64, "bf16": DType.BFLOAT16, "b": DType.BOOL,
    "i8": DType.INT8, "i16": DType.INT16, "i32": DType.INT32, "i64": DType.INT64,
    "u8": DType.UINT8, "u16": DType.UINT16, "u32": DType.UINT32, "u64": DType.UINT64,
}  # fmt: skip
NO_ENTRY = {
    "CommonGRU", "CommonLSTM", "HardMax", "LeftShift", "LpNormalize", "MatrixDeterminant", "MatrixDiagV2",
    "Multinomial", "RandomStandardNormal", "RandomUniform", "Size", "SqueezeV3", "TensorScatterUpdate",
    "TfIdfVectorizer", "Where",
}  # fmt: skip
"""Operators of which the information has no entry of this name."""

ON_ASCEND950_ALONE = {"RightShift", "StridedSliceV2", "TopK", "Trilu"}
"""Operators without such an entry of which Ascend950 has a definition."""

WITHOUT_DEFINITION = {
    "BNInfer", "BNInferenceD", "DynSeqOuter", "DynamicGRUV2", "LRN", "LpNorm", "MovingSumWithSigmoid",
    "NonMaxSuppressionV7", "ROIAlign", "RoiExtractor", "ScaledMaskedSoftmax", "SoftmaxCrossEntropyLoss",
}  # fmt: skip
"""Operators with such an entry of which Ascend950 has no definition."""

DECIDED_LATER = {
    "Add", "BatchMatMul", "ConcatD", "ConfusionTransposeD", "Cos", "DynamicGRUV2", "GatherV2D", "GroupNorm",
    "LayerNorm", "Mul", "PRelu", "RealDiv", "Reciprocal", "Resize", "SoftmaxV2", "SpaceToDepth", "SplitD", "SplitVD",
    "SquareSumV1", "StridedSliceD", "TileD",
}  # fmt: skip
"""Operators whose dtypes are decided when their kernel is compiled, on Ascend310P at least."""

BY_FLAGS = {
    "AscendAntiQuant", "AscendDequant", "AscendDequantS16", "AscendQuant", "AscendRequant",
    "AscendRequantS16",
}  # fmt: skip
"""Operators that a SoC's flags decide."""


def lines(table: str) -> list[tuple[str, str, list[str]]]:
    """Return operator, family and what the family's kernel takes."""
    found = []
    for line in table.strip().split("\n"):
        op, *groups = (part.strip() for part in line.split("|"))
        for group in groups:
            families, taken = group.split(":")
            words = [] if taken.strip() == "-" else taken.split()
            found += [(op, family, words) for family in families.split()]
    return found


@in_one_item("op", dict.fromkeys(op for op, _, _ in lines(TABLE)))
def test_kernel_takes_what_is_published(op: str) -> None:
    row = find_operator(op)
    assert row is not None
    published = {family: words for name, family, words in lines(TABLE) if name == op}
    with Failures() as failures:
        for family, words in published.items():
            with failures.of(family):
                soc = find_soc(SOC_OF[family])
                taken = {column.inputs[0] for column in row.columns_on(soc)}
                assert taken == {WORDS[word] for word in words}


@in_one_item(("op", "family", "words"), lines(LAYERS))
def test_layer_takes_what_its_kernel_lists(op: str, family: str, words: list[str]) -> None:
    row = find_operator(op)
    assert row is not None
    found = set()
    for column in row.columns_on(find_soc(SOC_OF[family])):
        operand, weights, bias = column.inputs[:3]
        assert operand is weights
        found.add((operand, bias, column.outputs[0]))
    assert found == {layer(word) for word in words}


def layer(word: str) -> tuple[DType, DType, DType]:
    """Return dtypes of operand, bias and result; the bias of int8 is int32."""
    given, _, result = word.partition(">")
    operand, _, bias = given.partition("+")
    own = "i32" if operand == "i8" else operand
    return WORDS[operand], WORDS[bias or own], WORDS[result]


def test_table_is_a_good_sample() -> None:
    named = {op for op, _, _ in lines(TABLE)}
    assert len(named) >= 40
    assert len({(op, family) for op, family, _ in lines(TABLE)}) == len(lines(TABLE))


def test_every_row_says_of_every_family_what_is_published() -> None:
    with Failures() as failures:
        for row in operators():
            with failures.of(row.name):
                check_families(row)


def check_families(row: TargetOp) -> None:
    """Hold a row to its families: all of them, or none for a reason."""
    if not row.launches_kernel:
        assert row.kernels is None, "it launches no kernel: leave `kernels` out of its row"
        return
    stated_here = row.name in NO_ENTRY | BY_FLAGS
    if row.kernels is None:
        assert stated_here, (
            "say in its row what the kernel of each family takes, `kernels=on(...)`; or, where the "
            "operator information has no entry of this name, add it to NO_ENTRY of this file"
        )
        return
    assert not stated_here, "its row says what is published: take it out of NO_ENTRY or BY_FLAGS"
    text = row.kernels.text
    named = " ".join(part.partition(":")[0] for part in text.split(";")).split()
    if row.name in ON_ASCEND950_ALONE:
        assert named == ["950"]
        return
    without = {"950"} if row.name in WITHOUT_DEFINITION else set[str]()
    assert sorted(named) == sorted({*FAMILY_WORDS} - without)
    assert row.is_undescribed_on(find_soc("Ascend950PR_9599")) is bool(without)
    undecided = row.kernels.published(SocFamily.ASCEND310P) is None
    assert undecided is (row.name in DECIDED_LATER | {"Addcmul", "Merge", "PadV3", "Shape"})


def test_columns_fit_the_operands_and_stand_once() -> None:
    with Failures() as failures:
        for row in operators():
            with failures.of(row.name):
                check_columns(row)


def check_columns(row: TargetOp) -> None:
    """Hold the columns of a row on every SoC to its operands."""
    for soc in socs():
        columns = row.columns_on(soc)
        assert len(columns) == len(dict.fromkeys(columns)), soc.name
        for column in columns:
            assert column.outputs
            assert row.input_at(len(column.inputs) - 1), soc.name
            assert row.output_at(len(column.outputs) - 1), soc.name
            has_bf16 = DType.BFLOAT16 in (*column.inputs, *column.outputs)
            stored = row.unit in {Unit.MOVE, Unit.LOCAL}
            assert soc.bfloat16 or stored or not has_bf16 or row.kernels is None, soc.name


def test_generic_soc_keeps_the_columns_of_the_row() -> None:
    soc = find_soc("sim")
    for row in operators():
        kept = tuple(column for column in row.columns if soc.has(column.needs))
        assert row.columns_on(soc) == kept
