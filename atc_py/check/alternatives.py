"""Ways around operators that are not listed: what to write instead of each, by hand.

Every text continues the sentence `X is not on the operator list` and names only listed operators
and the operator itself; a test enforces that.
"""

from __future__ import annotations

from atc_py.diag import Words

__all__ = ["EXPORTED", "FUSED", "WRITTEN"]

EXPORTED: dict[str, str] = {
    "Gelu": "Div, Erf, Add, Mul",
    "HardSwish": "HardSigmoid, Mul",
    "LayerNormalization": "ReduceMean, Sub, Pow, Add, Sqrt, Div, Mul",
    "Mish": "Softplus, Tanh, Mul",
    "Swish": "Sigmoid, Mul",
}
"""Operators of late opsets that exporters write as these listed ones if asked to export
at an older opset."""

FUSED: dict[str, str] = {
    "Attention": "MatMul, Add, Softmax",
    "BiasGelu": "Add, Erf, Mul",
    "BiasSoftmax": "Add, Softmax",
    "BiasSplitGelu": "Add, Split, Erf, Mul",
    "EmbedLayerNormalization": "Gather, Add, ReduceMean, Sub, Div",
    "FastGelu": "Tanh, Mul, Add",
    "FusedConv": "Conv, Relu",
    "FusedGemm": "Gemm, Relu",
    "FusedMatMul": "MatMul, Transpose, Mul",
    "Gelu": "Div, Erf, Add, Mul",
    "GroupNorm": "Reshape, ReduceMean, Sub, Div, Mul, Add",
    "LayerNormalization": "ReduceMean, Sub, Pow, Add, Sqrt, Div, Mul",
    "MultiHeadAttention": "MatMul, Add, Softmax",
    "NhwcMaxPool": "MaxPool, Transpose",
    "QuickGelu": "Sigmoid, Mul",
    "RotaryEmbedding": "Slice, Neg, Concat, Mul, Add",
    "SimplifiedLayerNormalization": "Pow, ReduceMean, Add, Sqrt, Div, Mul",
    "SkipLayerNormalization": "Add, ReduceMean, Sub, Pow, Sqrt, Div, Mul",
    "SkipSimplifiedLayerNormalization": "Add, Pow, ReduceMean, Sqrt, Div, Mul",
    "TransposeMatMul": "Transpose, MatMul",
}
"""Operators of onnxruntime that its graph optimization makes from these."""

_QUANTIZED = Words(
    "quantize the float model to 8 bits with constant scales and zero points, which is rewritten "
    "for the target, or with CANN's toolkit AMCT, whose AscendQuant and AscendDequant are listed",
    "请以常量比例和零点将浮点模型量化为 8 位（可自动改写），或用 CANN 的 AMCT 工具量化；"
    "清单支持其写出的 AscendQuant 和 AscendDequant",
)
_STRINGS = Words(
    "the target has no strings; run this part on the host, before the model",
    "目标设备没有字符串类型；请在主机侧、模型之前执行这一部分",
)
_SEQUENCES = Words(
    "the target has no sequences; use Split, Concat and Gather on tensors in the source model",
    "目标设备没有序列类型；请在原模型中改用张量上的 Split、Concat 和 Gather",
)
_OPTIONALS = Words(
    "the target has no optional values; export the model for inputs that are always there",
    "目标设备没有可选值类型；请按输入总是存在的情形导出模型",
)
_LOOPS = Words(
    "unroll the loop: trace the model with a fixed number of steps; recurrent layers are listed "
    "as LSTM and GRU",
    "请展开循环：以固定步数跟踪导出；循环网络层可用 LSTM、GRU",
)
_LOSS = Words(
    "it belongs to training; export the model for inference, without its loss",
    "该算子属于训练；请以推理模式导出，不含损失函数",
)
_WINDOW = Words(
    "it computes a table that does not depend on the data; fix the size, so that it can be stored "
    "as a constant",
    "其结果与数据无关；请固定大小，将其存为常量",
)
_BITS = Words(
    "no listed operator works on the bits of integers; for bool, And, Or and Not are listed",
    "清单中没有整数按位运算；bool 类型可用 And、Or 和 Not",
)
_NOISE = Words(
    "feed the random values as an input of the model; of random ones, RandomUniform and "
    "Multinomial are listed",
    "请将随机值作为模型输入；随机算子中清单只有 RandomUniform 和 Multinomial",
)
_HOST = Words(
    "no combination of listed operators does this; run this part on the host",
    "清单中的算子无法组合出该功能；请在主机侧执行这一部分",
)


def _write_it_with(ops: str, en: str, zh: str) -> Words:
    """Return `write it with A and B: ...`; texts are what follows the operators."""
    *most, last = ops.split()
    english = f"{', '.join(most)} and {last}" if most else last
    return Words(f"write it with {english}{en}", f"请改用 {'、'.join((*most, last))}{zh}")


_NORM = "ReduceMean Sub Mul Add Sqrt Div"

WRITTEN: dict[str, Words] = {
    # Normalizations and activations
    "InstanceNormalization": _write_it_with(_NORM, " over the spatial axes", " 在空间轴上实现"),
    "GroupNormalization": _write_it_with(
        f"Reshape {_NORM}",
        ", with an axis for each group; exporters of older opsets write InstanceNormalization, "
        "which is not listed either",
        "，为每组单设一轴；较早 opset 的导出结果含同样不在清单中的 InstanceNormalization",
    ),
    "RMSNormalization": _write_it_with(
        "Mul ReduceMean Add Sqrt Div", ": x / Sqrt(mean of x * x + epsilon)", " 逐步实现"
    ),
    "SwiGLU": _write_it_with("Split Sigmoid Mul", "", " 实现"),
    "Shrink": _write_it_with("Where Less Greater Add Sub", "", " 实现"),
    "Attention": Words(
        "export it as MatMul, Mul, Add and Softmax; the transformers library does with "
        'attn_implementation="eager"',
        '请导出为 MatMul、Mul、Add 和 Softmax；transformers 库可设 attn_implementation="eager"',
    ),
    "RotaryEmbedding": _write_it_with("Slice Neg Concat Mul Add", "", " 实现"),
    # Pooling, sampling and convolution
    "Upsample": Words(
        "export the model at opset 11, where exporters write Resize instead",
        "请以 opset 11 导出模型，导出器会改写为 Resize",
    ),
    "LpPool": _write_it_with(
        "Abs Pow AveragePool Mul",
        ": AveragePool of the powers, times the window's size, then the root",
        "：对幂取 AveragePool，乘以窗口大小后开方",
    ),
    "GlobalLpPool": _write_it_with(
        "ReduceL1 ReduceL2",
        " over the spatial axes for p 1 and 2",
        " 在空间轴上实现，对应 p 为 1 和 2",
    ),
    "MaxUnpool": Words(
        "positions of maxima are not available on the target; enlarge with Resize or ConvTranspose",
        "目标设备不输出最大值位置；请改用 Resize 或 ConvTranspose 放大",
    ),
    "GridSample": Words(
        "for a grid that is constant, write it with GatherND, Mul and Add; otherwise run it on the "
        "host",
        "采样网格为常量时可用 GatherND、Mul 和 Add 实现；否则请在主机侧执行",
    ),
    "Col2Im": _write_it_with(
        "ConvTranspose", " and a constant kernel of zeros and ones", "，卷积核取 0、1 组成的常量"
    ),
    "CenterCropPad": _write_it_with("Slice Pad", " with constant bounds", " 实现，边界取常量"),
    "DeformConv": _HOST,
    # Matrices
    "Einsum": _write_it_with(
        "Transpose Reshape MatMul Mul ReduceSum",
        "; in the source model, matmul and permute do instead of einsum",
        " 实现；在原模型中以 matmul、permute 代替 einsum",
    ),
    "Trilu": Words(
        "multiply by a constant mask of zeros and ones with Mul, or choose with Where and a "
        "constant mask",
        "请用 Mul 乘以 0、1 组成的常量掩码，或用常量掩码与 Where 选取",
    ),
    "EyeLike": Words(
        "fix the shape and store the matrix as a constant",
        "请固定形状，将该矩阵存为常量",
    ),
    "CumProd": _write_it_with(
        "Log CumSum Exp", " where all values are positive", " 实现，仅限所有值为正的情形"
    ),
    "DFT": _write_it_with(
        "MatMul", " and constant matrices of cosines and sines", " 与余弦、正弦的常量矩阵实现"
    ),
    "STFT": _write_it_with(
        "Conv",
        " with constant kernels of windowed cosines and sines",
        "，卷积核取加窗的余弦、正弦常量",
    ),
    # Elements
    "Tan": _write_it_with("Sin Cos Div", "", " 实现"),
    "Xor": _write_it_with("Equal Not", ", which take bool", "，两者均支持 bool"),
    "IsNaN": _write_it_with("Equal Not", ": only NaN differs from itself", "：只有 NaN 不等于自身"),
    "IsInf": _write_it_with("Abs Equal", " and the constant infinity", " 与常量无穷大比较"),
    "BitShift": _write_it_with(
        "Cast Mul Div",
        ": Cast to int32, then times or by a power of two",
        "：先 Cast 为 int32，再乘除 2 的幂",
    ),
    "CastLike": _write_it_with("Cast", ", whose `to` names the dtype", "，用 to 写明类型"),
    "BitCast": _HOST,
    # Indices
    "ScatterElements": _write_it_with(
        "ScatterND", " at opset 11, with every index written out", "（opset 11），并写出完整下标"
    ),
    "Scatter": _write_it_with(
        "ScatterND", " at opset 11, with every index written out", "（opset 11），并写出完整下标"
    ),
    "TensorScatter": _write_it_with("Concat Slice", " on the cache", " 更新缓存"),
    "Compress": _write_it_with(
        "Gather", " and constant indices, or NonZero and Gather", "：下标为常量，或由 NonZero 得到"
    ),
    "Unique": _HOST,
    "ImageDecoder": Words(
        "decode images on the host and feed pixels",
        "请在主机侧解码图像，以像素作为输入",
    ),
    # Reductions
    "ReduceLogSum": _write_it_with("ReduceSum Log", "", " 实现"),
    "ReduceLogSumExp": _write_it_with(
        "ReduceMax Sub Exp ReduceSum Log Add",
        "; without ReduceMax large values overflow",
        " 实现；不减去 ReduceMax 时大值会溢出",
    ),
    # Recurrence and control
    "RNN": Words(
        "use LSTM or GRU, or unroll the steps into MatMul, Add and Tanh",
        "请改用 LSTM 或 GRU，或按时间步展开为 MatMul、Add 和 Tanh",
    ),
    "RandomUniformLike": _write_it_with(
        "RandomUniform", ", with the shape written out", "，并写明形状"
    ),
    "Bernoulli": _write_it_with("RandomUniform Less", "", " 实现"),
    **dict.fromkeys(("Loop", "Scan", "SequenceMap"), _LOOPS),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike"), _NOISE),
    **dict.fromkeys(("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"), _BITS),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _LOSS),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"), _WINDOW),
    **dict.fromkeys(
        (
            "ConvInteger",
            "DequantizeLinear",
            "DynamicQuantizeLinear",
            "MatMulInteger",
            "QLinearConv",
            "QLinearMatMul",
            "QuantizeLinear",
        ),
        _QUANTIZED,
    ),
    **dict.fromkeys(
        ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
        _STRINGS,
    ),
    **dict.fromkeys(
        (
            "ConcatFromSequence",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SplitToSequence",
        ),
        _SEQUENCES,
    ),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _OPTIONALS),
}
"""Hints for operators of ONNX that are not listed."""
