"""Forms that ONNX changed between opsets 6 and 23: of each changed operator, each version's own way to say it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class OpsetForm:
    """One node.

    Attributes:
        op: its operator.
        opset: of the model.
        inputs: arrays by position, None for an absent one; those in `fed` are inputs of the model.
        attributes: by name.
        fed: positions of the inputs that are fed; others are constants.
    """

    op: str
    opset: int
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    fed: tuple[int, ...] = (0,)


def x(*dims: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=dims).astype(np.float32)


def i(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def f(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


IMAGE = x(1, 4, 8, 8)
ROWS = x(2, 3, 4)
TRUE = np.array([[True, False, True]])
SCALE = np.abs(x(4, seed=2)) + 0.5
ARITHMETIC = ("Add", "Sub", "Mul", "Div")
LOGICAL = ("And", "Or", "Xor")
MOMENTS = (SCALE, x(4), x(4, seed=3), SCALE)


def form(op: str, opset: int, *inputs: Array | None, **attributes: Any) -> OpsetForm:
    return OpsetForm(op, opset, inputs, attributes)


FORMS: tuple[OpsetForm, ...] = (
    # Broadcasting by attributes, before opset 7.
    *(form(op, 6, ROWS, x(3), broadcast=1, axis=1) for op in ARITHMETIC),
    *(form(op, 6, ROWS, x(3, 4), broadcast=1) for op in ARITHMETIC),
    *(form(op, 6, ROWS, np.abs(x(1)), broadcast=1) for op in (*ARITHMETIC, "Pow")),
    *(form(op, 6, ROWS, x(2, 3, 4, seed=1)) for op in ARITHMETIC),
    *(form(op, 7, ROWS, x(3, 1)) for op in ARITHMETIC),
    *(form(op, 6, TRUE, np.array([True, True, False]), broadcast=1, axis=1) for op in LOGICAL),
    *(form(op, 6, ROWS, x(3), broadcast=1, axis=1) for op in ("Greater", "Less")),
    *(form(op, 9, ROWS, x(4)) for op in ("Greater", "Less")),
    form("Equal", 6, np.arange(6, dtype=np.int32).reshape(2, 3), np.array([1, 2, 3], np.int32), broadcast=1),
    form("Pow", 6, np.abs(ROWS), x(3), broadcast=1, axis=1),
    form("Gemm", 6, x(3, 4), x(4, 5), x(5), broadcast=1),
    form("Gemm", 6, x(3, 4), x(4, 5), x(3, 5)),
    form("Gemm", 7, x(3, 4), x(4, 5), x(5)),
    form("Gemm", 11, x(3, 4), x(4, 5)),
    form("PRelu", 6, IMAGE, x(4)),
    form("PRelu", 6, IMAGE, x(1)),
    form("PRelu", 7, IMAGE, x(4, 1, 1)),
    form("PRelu", 16, IMAGE, x(4, 1, 1)),
    *(form(op, 6, ROWS, x(2, 3, 4, seed=1)) for op in ("Max", "Mean", "Min", "Sum")),
    *(form(op, 13, ROWS, x(4)) for op in ("Max", "Mean", "Min", "Sum")),
    # What only training uses.
    form("BatchNormalization", 6, IMAGE, *MOMENTS, is_test=1),
    form("BatchNormalization", 6, IMAGE, *MOMENTS, is_test=1, spatial=1),
    form("BatchNormalization", 6, IMAGE, *MOMENTS),
    *(form("BatchNormalization", opset, IMAGE, *MOMENTS) for opset in (7, 9, 14, 15)),
    form("BatchNormalization", 7, IMAGE, *MOMENTS, spatial=1),
    form("BatchNormalization", 15, IMAGE, *MOMENTS, training_mode=0, momentum=0.8),
    form("Dropout", 6, ROWS, is_test=1, ratio=0.3),
    form("Dropout", 6, ROWS),
    *(form("Dropout", opset, ROWS, ratio=0.3) for opset in (7, 10)),
    *(form("Dropout", opset, ROWS, np.float32(0.3)) for opset in (12, 13, 22)),
    form("Dropout", 13, ROWS, np.float32(0.3), np.zeros((), np.bool_)),
    # Attributes that became inputs.
    form("Clip", 6, ROWS, min=-0.5, max=0.5),
    form("Clip", 6, ROWS, max=0.5),
    form("Clip", 6, ROWS),
    *(form("Clip", opset, ROWS, np.float32(-0.5), np.float32(0.5)) for opset in (11, 12, 13)),
    *(form("Clip", opset, ROWS, None, np.float32(0.5)) for opset in (11, 13)),
    form("Clip", 13, ROWS),
    *(form(op, 11, x(2, 1, 3), axes=[1]) for op in ("Squeeze", "Unsqueeze")),
    *(form(op, 6, x(2, 1, 3), axes=[1]) for op in ("Squeeze", "Unsqueeze")),
    *(form(op, 13, x(2, 1, 3), i(-2)) for op in ("Squeeze", "Unsqueeze")),
    *(form(op, 21, x(2, 1, 3), i(1)) for op in ("Squeeze", "Unsqueeze")),
    form("Squeeze", 6, x(2, 1, 3)),
    form("Squeeze", 13, x(2, 1, 3)),
    form("Slice", 6, ROWS, axes=[1], starts=[1], ends=[3]),
    form("Slice", 6, ROWS, starts=[0, 1], ends=[2, -1]),
    *(form("Slice", opset, ROWS, i(1), i(3), i(1)) for opset in (10, 11, 13)),
    form("Slice", 10, ROWS, i(0), i(4), i(2), i(2)),
    form("Slice", 13, ROWS, i(-1), i(-9), i(-1), i(-1)),
    form("Pad", 6, ROWS, pads=[0, 1, 0, 0, 0, 2], value=1.5),
    form("Pad", 6, IMAGE, pads=[0, 0, 1, 1, 0, 0, 1, 1], mode="reflect"),
    *(form("Pad", opset, ROWS, i(0, 1, 0, 0, 0, 2), np.float32(1.5)) for opset in (11, 13, 18, 21)),
    form("Pad", 18, ROWS, i(1, 2), None, i(1)),
    form("Pad", 18, ROWS, i(1, 2, 0, 1), np.float32(2), i(-1, 0)),
    form("Pad", 19, IMAGE, i(0, 0, 1, 1, 0, 0, 1, 1), mode="edge"),
    form("Pad", 19, ROWS, i(0, 1, 0, 0, 0, 2), mode="wrap"),
    form("TopK", 6, ROWS, k=2, axis=-1),
    form("TopK", 10, ROWS, i(2)),
    form("TopK", 11, ROWS, i(2), largest=0),
    form("TopK", 11, ROWS, i(2), axis=1, largest=1, sorted=1),
    form("Split", 6, ROWS, axis=1, split=[1, 2]),
    form("Split", 6, ROWS, axis=2),
    form("Split", 11, ROWS, axis=2, split=[1, 3]),
    form("Split", 13, ROWS, i(1, 2), axis=1),
    form("Split", 13, ROWS, axis=2),
    form("Split", 18, ROWS, axis=2, num_outputs=2),
    form("Split", 18, ROWS, axis=1, num_outputs=2),
    form("Split", 18, ROWS, i(1, 2), axis=1),
    *(
        form(f"Reduce{op}", 11, np.abs(ROWS) + 0.1, axes=[1], keepdims=keep)
        for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
        for keep in (0, 1)
    ),
    *(
        form(f"Reduce{op}", opset, np.abs(ROWS) + 0.1, i(-1), keepdims=0)
        for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
        for opset in (18, 20)
    ),
    form("ReduceMean", 6, ROWS),
    form("ReduceMean", 18, ROWS),
    form("ReduceMean", 18, ROWS, noop_with_empty_axes=1),
    form("ReduceSum", 13, ROWS, noop_with_empty_axes=1),
    form("ReduceSum", 13, ROWS, i(0, 2)),
    # Axes that meant another thing.
    *(form(op, opset, ROWS) for op in ("Hardmax", "LogSoftmax", "Softmax") for opset in (6, 11, 13)),
    *(
        form(op, opset, ROWS, axis=axis)
        for op in ("Hardmax", "LogSoftmax", "Softmax")
        for opset, axis in ((11, 2), (11, -1), (11, 1), (13, 0), (13, 1))
    ),
    *(form("Flatten", opset, ROWS, axis=axis) for opset, axis in ((6, 2), (9, 1), (11, -1), (13, -1))),
    # Windows.
    form("Upsample", 7, IMAGE, scales=[1.0, 1.0, 2.0, 2.0]),
    form("Upsample", 7, IMAGE, scales=[1.0, 1.0, 2.0, 2.0], mode="linear"),
    form("Upsample", 9, IMAGE, f(1, 1, 2, 2)),
    form("Upsample", 9, IMAGE, f(1, 1, 2, 2), mode="linear"),
    form("Resize", 10, IMAGE, f(1, 1, 2, 2)),
    form("Resize", 10, IMAGE, f(1, 1, 2, 2), mode="linear"),
    *(form("Resize", opset, IMAGE, f(), f(1, 1, 2, 2)) for opset in (11, 13, 18, 19)),
    *(form("Resize", opset, IMAGE, None, f(1, 1, 2, 2)) for opset in (13, 18, 19)),
    *(form("Resize", opset, IMAGE, None, None, i(1, 4, 16, 12)) for opset in (13, 18, 19)),
    *(
        form("Resize", opset, IMAGE, f(), f(1, 1, 2, 2), mode="linear",
             coordinate_transformation_mode=mode)
        for opset in (11, 13, 19)
        for mode in ("half_pixel", "align_corners", "asymmetric")
    ),
    form("Resize", 13, IMAGE, None, f(1, 1, 2, 2), mode="nearest", nearest_mode="floor",
         coordinate_transformation_mode="asymmetric"),
    form("Resize", 18, IMAGE, None, None, i(16, 12), axes=[2, 3], mode="linear"),
    form("Resize", 18, IMAGE, None, f(2, 2), axes=[2, 3], mode="linear"),
    form("Resize", 19, IMAGE, None, f(1, 1, 0.5, 0.5), mode="linear", antialias=1),
    form("Resize", 19, IMAGE, None, f(1, 1, 2, 2), mode="linear", antialias=0,
         keep_aspect_ratio_policy="stretch"),
    form("Resize", 18, IMAGE, None, None, i(16, 12), axes=[2, 3], mode="linear",
         keep_aspect_ratio_policy="not_larger"),
    *(form(op, 6, IMAGE, kernel_shape=[2, 2], strides=[2, 2]) for op in ("AveragePool", "MaxPool")),
    *(form("MaxPool", opset, IMAGE, kernel_shape=[3, 3], strides=[2, 2]) for opset in (8, 10, 12, 22)),
    form("MaxPool", 10, IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    form("MaxPool", 12, IMAGE, kernel_shape=[3, 3], dilations=[2, 2]),
    *(form("AveragePool", opset, IMAGE, kernel_shape=[3, 3]) for opset in (7, 10, 11, 19, 22)),
    form("AveragePool", 7, IMAGE, kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1),
    form("AveragePool", 19, IMAGE, kernel_shape=[2, 2], dilations=[2, 2]),
    *(form("Conv", opset, IMAGE, x(4, 4, 3, 3), x(4)) for opset in (6, 11, 22)),
    *(form("ConvTranspose", opset, IMAGE, x(4, 2, 3, 3)) for opset in (6, 11, 22)),
    *(form("LpPool", opset, IMAGE, kernel_shape=[2, 2], p=2) for opset in (6, 11, 18, 22)),
    form("GlobalLpPool", 6, IMAGE, p=2),
    *(form("LRN", opset, IMAGE, size=3) for opset in (6, 13)),
    form("DepthToSpace", 6, IMAGE, blocksize=2),
    form("DepthToSpace", 11, IMAGE, blocksize=2, mode="CRD"),
    form("DepthToSpace", 13, IMAGE, blocksize=2),
    form("GridSample", 16, IMAGE, x(1, 3, 3, 2), mode="bilinear"),
    form("GridSample", 20, IMAGE, x(1, 3, 3, 2), mode="linear"),
    form("GridSample", 20, IMAGE, x(1, 3, 3, 2), mode="nearest"),
    form("GridSample", 16, IMAGE, x(1, 3, 3, 2), mode="bicubic"),
    form("GridSample", 20, IMAGE, x(1, 3, 3, 2), mode="cubic"),
    # Elements moved.
    form("Scatter", 9, x(3, 3), np.array([[1, 0, 2]]), x(1, 3, seed=4)),
    *(form("ScatterElements", opset, x(3, 3), np.array([[1, 0, 2]]), x(1, 3, seed=4))
      for opset in (11, 13, 16, 18)),
    form("ScatterElements", 16, x(3, 3), np.array([[1, 0, 2]]), x(1, 3, seed=4), reduction="add"),
    *(form("ScatterND", opset, x(4, 3), np.array([[1], [3]]), x(2, 3, seed=4)) for opset in (11, 13, 16, 18)),
    *(form("Gather", opset, ROWS, i(1, 0), axis=1) for opset in (6, 11, 13)),
    form("Gather", 11, ROWS, i(-1), axis=-1),
    *(form("GatherElements", opset, x(3, 3), np.array([[1, 0, 2]])) for opset in (11, 13)),
    *(form("GatherND", opset, x(3, 3), np.array([[1, 0], [2, 2]])) for opset in (11, 12, 13)),
    *(form("Reshape", opset, ROWS, i(0, -1)) for opset in (6, 13, 14, 19, 21)),
    form("Reshape", 14, ROWS, i(4, 6), allowzero=1),
    *(form("Transpose", opset, ROWS, perm=[2, 0, 1]) for opset in (6, 13, 21, 23)),
    *(form("Expand", opset, x(3, 1), i(2, 1, 4)) for opset in (8, 13)),
    *(form("Tile", opset, x(3, 1), i(2, 3)) for opset in (6, 13)),
    *(form("Concat", opset, ROWS, x(2, 1, 4), axis=1) for opset in (6, 11, 13)),
    form("Concat", 11, ROWS, x(2, 1, 4), axis=-2),
    form("Shape", 15, ROWS, start=1, end=3),
    form("Shape", 15, ROWS),
    *(form("OneHot", opset, i(0, 2, 1), np.array(3), f(0, 1)) for opset in (9, 11)),
    *(form("CumSum", opset, ROWS, np.array(1), exclusive=1) for opset in (11, 14)),
    # Choices and dtypes.
    *(form(op, opset, ROWS, axis=1, keepdims=0) for op in ("ArgMax", "ArgMin") for opset in (6, 11, 12, 13)),
    form("ArgMax", 12, np.ones((2, 3), np.float32), axis=1, select_last_index=1),
    form("ArgMax", 13, ROWS, axis=-1, select_last_index=0),
    *(form("Cast", opset, ROWS * 4, to=6) for opset in (6, 9, 13, 19, 21)),
    form("Cast", 19, ROWS, to=10, saturate=1),
    *(form("Where", opset, np.array([[True, False]]), x(2, 2), x(2, 2, seed=1)) for opset in (9, 16)),
    *(form("Mod", opset, ROWS, x(4, seed=6), fmod=1) for opset in (10, 13)),
    *(form("IsInf", opset, ROWS) for opset in (10, 20)),
    *(form("IsNaN", opset, ROWS) for opset in (9, 13, 20)),
    *(form("Sign", opset, ROWS) for opset in (9, 13)),
    # Layers.
    *(form("InstanceNormalization", opset, IMAGE, SCALE, x(4)) for opset in (6, 22)),
    form("LayerNormalization", 17, ROWS, x(4), x(4, seed=1)),
    form("RMSNormalization", 23, ROWS, x(4)),
    *(form("MeanVarianceNormalization", opset, IMAGE, axes=[0, 2, 3]) for opset in (9, 13)),
    form("LpNormalization", 6, ROWS, axis=1),
    form("LpNormalization", 22, ROWS, axis=1),
    *(form("LSTM", opset, x(5, 2, 3), x(1, 16, 3), x(1, 16, 4), hidden_size=4) for opset in (7, 14, 22)),
    *(form("GRU", opset, x(5, 2, 3), x(1, 12, 3), x(1, 12, 4), hidden_size=4) for opset in (7, 14, 22)),
    form("LSTM", 14, x(2, 5, 3), x(1, 16, 3), x(1, 16, 4), hidden_size=4, layout=1),
    *(form("Gelu", 20, ROWS, approximate=each) for each in ("none", "tanh")),
    *(form(op, opset, ROWS) for op in ("HardSwish", "Mish") for opset in (18, 22)),
    *(form(op, 22, ROWS) for op in ("Elu", "HardSigmoid", "Selu", "Softplus", "Softsign", "ThresholdedRelu")),
    *(form("LeakyRelu", opset, ROWS) for opset in (6, 16)),
    *(form(op, 22, ROWS) for op in ("Round", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh")),
    form("Attention", 23, x(1, 2, 4, 8), x(1, 2, 4, 8, seed=1), x(1, 2, 4, 8, seed=2)),
    form("RotaryEmbedding", 23, x(1, 2, 4, 8), x(1, 4, 4), x(1, 4, 4, seed=1)),
    form("Einsum", 12, x(2, 3), x(3, 4), equation="ij,jk->ik"),
    *(form("MatMul", opset, x(2, 3, 4), x(4, 5)) for opset in (6, 9, 13)),
    form("NonZero", 9, f(1, 0, 2)),
    form("ReverseSequence", 10, x(4, 3), i(1, 4, 2), time_axis=0, batch_axis=1),
    *(form("Trilu", 14, x(4, 4), upper=each) for each in (0, 1)),
    *(form(op, opset, ROWS) for op in ("Abs", "Exp", "Log", "Neg", "Relu", "Sigmoid", "Sqrt", "Tanh")
      for opset in (6, 13)),
)  # fmt: skip
