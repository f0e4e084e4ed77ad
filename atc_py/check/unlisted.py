"""Hints for a node whose operator is not on the list: what to write instead, by hand.

Every text on an operator of ONNX continues the sentence `X is not on the operator list` and names
only listed operators and the operator itself; a test enforces that.
"""

import re
from collections.abc import Sequence

from atc_py.onnx_graph.source import OperatorSchema, SchemaHistory
from atc_py.spec import ONNX_DOMAINS, Library
from atc_py.text import SEMICOLON, Text, all_of, plural

NEWEST_LISTED = 13
"""The newest opset of the list; a test holds that. Reading it would load every file."""

_ONNXRUNTIME = re.compile(r"com\.(microsoft|ms)(\.|\Z)")
_TRAINING = re.compile(r"ai\.onnx\.(preview\.)?training\Z")
_PYTORCH = re.compile(r"(org\.pytorch\.)?(_?aten|prim|_caffe2)\Z")
_FUNCTIONS = re.compile(r"(pkg\.)?(onnxscript|torch)\b")
_QUANTIZED_OPERATOR = re.compile(r"^(Q[A-Z]|Quantize|Dequantize|DynamicQuantize)|Integer|NBits")

_WRITE = Text("write it with listed operators, or run this part of the model on the host")
_LISTING = Text("`atc-py ops list` shows all listed ones")

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

_QUANTIZED = Text(
    "quantize the float model to 8 bits with constant scales and zero points, which is "
    "rewritten for the target, or with CANN's toolkit AMCT, whose AscendQuant and "
    "AscendDequant are listed"
)
_STRINGS = Text("the target has no strings; run this part on the host, before the model")
_SEQUENCES = Text(
    "the target has no sequences; use Split, Concat and Gather on tensors in the source model"
)
_OPTIONALS = Text(
    "the target has no optional values; export the model for inputs that are always there"
)
_LOOPS = Text(
    "unroll the loop: trace the model with a fixed number of steps; recurrent layers are "
    "listed as LSTM and GRU"
)
_LOSS = Text("it belongs to training; export the model for inference, without its loss")
_WINDOW = Text(
    "it computes a table that does not depend on the data; fix the size, so that it can be "
    "stored as a constant"
)
_BITS = Text(
    "no listed operator works on the bits of integers; for bool, And, Or and Not are listed"
)
_NOISE = Text(
    "feed the random values as an input of the model; of random ones, RandomUniform and "
    "Multinomial are listed"
)
_HOST = Text("no combination of listed operators does this; run this part on the host")


def _write_it_with(ops: str, template: str) -> Text:
    return Text(template, operators=all_of(ops.split()))


_NORM = "ReduceMean Sub Mul Add Sqrt Div"

WRITTEN: dict[str, Text] = {
    # Normalizations and activations
    "InstanceNormalization": _write_it_with(
        _NORM, "write it with {operators} over the spatial axes"
    ),
    "GroupNormalization": _write_it_with(
        f"Reshape {_NORM}",
        "write it with {operators}, with an axis for each group; exporters of older "
        "opsets write InstanceNormalization, which is not listed either",
    ),
    "RMSNormalization": _write_it_with(
        "Mul ReduceMean Add Sqrt Div",
        "write it with {operators}: x / Sqrt(mean of x * x + epsilon)",
    ),
    "SwiGLU": _write_it_with("Split Sigmoid Mul", "write it with {operators}"),
    "Shrink": _write_it_with("Where Less Greater Add Sub", "write it with {operators}"),
    "Attention": Text(
        "export it as MatMul, Mul, Add and Softmax; the transformers library does with "
        'attn_implementation="eager"'
    ),
    "RotaryEmbedding": _write_it_with("Slice Neg Concat Mul Add", "write it with {operators}"),
    # Pooling, sampling and convolution
    "Upsample": Text("export the model at opset 11, where exporters write Resize instead"),
    "LpPool": _write_it_with(
        "Abs Pow AveragePool Mul",
        "write it with {operators}: AveragePool of the powers, times the window's size, "
        "then the root",
    ),
    "GlobalLpPool": _write_it_with(
        "ReduceL1 ReduceL2", "write it with {operators} over the spatial axes for p 1 and 2"
    ),
    "MaxUnpool": Text(
        "positions of maxima are not available on the target; enlarge with Resize or ConvTranspose"
    ),
    "GridSample": Text(
        "for a grid that is constant, write it with GatherND, Mul and Add; otherwise run it "
        "on the host"
    ),
    "Col2Im": _write_it_with(
        "ConvTranspose", "write it with {operators} and a constant kernel of zeros and ones"
    ),
    "CenterCropPad": _write_it_with("Slice Pad", "write it with {operators} with constant bounds"),
    "DeformConv": _HOST,
    # Matrices
    "Einsum": _write_it_with(
        "Transpose Reshape MatMul Mul ReduceSum",
        "write it with {operators}; in the source model, matmul and permute do instead of einsum",
    ),
    "Trilu": Text(
        "multiply by a constant mask of zeros and ones with Mul, or choose with Where and a "
        "constant mask"
    ),
    "EyeLike": Text("fix the shape and store the matrix as a constant"),
    "CumProd": _write_it_with(
        "Log CumSum Exp", "write it with {operators} where all values are positive"
    ),
    "DFT": _write_it_with(
        "MatMul", "write it with {operators} and constant matrices of cosines and sines"
    ),
    "STFT": _write_it_with(
        "Conv", "write it with {operators} with constant kernels of windowed cosines and sines"
    ),
    # Elements
    "Tan": _write_it_with("Sin Cos Div", "write it with {operators}"),
    "Xor": _write_it_with("Equal Not", "write it with {operators}, which take bool"),
    "IsNaN": _write_it_with("Equal Not", "write it with {operators}: only NaN differs from itself"),
    "IsInf": _write_it_with("Abs Equal", "write it with {operators} and the constant infinity"),
    "BitShift": _write_it_with(
        "Cast Mul Div", "write it with {operators}: Cast to int32, then times or by a power of two"
    ),
    "CastLike": _write_it_with("Cast", "write it with {operators}, whose `to` names the dtype"),
    "BitCast": _HOST,
    # Indices
    "ScatterElements": _write_it_with(
        "ScatterND", "write it with {operators} at opset 11, with every index written out"
    ),
    "Scatter": _write_it_with(
        "ScatterND", "write it with {operators} at opset 11, with every index written out"
    ),
    "TensorScatter": _write_it_with("Concat Slice", "write it with {operators} on the cache"),
    "Compress": _write_it_with(
        "Gather", "write it with {operators} and constant indices, or NonZero and Gather"
    ),
    "Unique": _HOST,
    "ImageDecoder": Text("decode images on the host and feed pixels"),
    # Reductions
    "ReduceLogSum": _write_it_with("ReduceSum Log", "write it with {operators}"),
    "ReduceLogSumExp": _write_it_with(
        "ReduceMax Sub Exp ReduceSum Log Add",
        "write it with {operators}; without ReduceMax large values overflow",
    ),
    # Recurrence and control
    "RNN": Text("use LSTM or GRU, or unroll the steps into MatMul, Add and Tanh"),
    "RandomUniformLike": _write_it_with(
        "RandomUniform", "write it with {operators}, with the shape written out"
    ),
    "Bernoulli": _write_it_with("RandomUniform Less", "write it with {operators}"),
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

_DOMAINS: tuple[tuple[re.Pattern[str], Text], ...] = (
    (
        re.compile(r"ai\.onnx\.ml\Z"),
        Text(
            "operators of ai.onnx.ml are those of classical machine learning, the list has "
            "ONNX's tensor operators only; run this part on the host"
        ),
    ),
    (
        _TRAINING,
        Text("operators of this domain belong to training; export the model for inference"),
    ),
    (
        _PYTORCH,
        Text(
            "it is PyTorch's own operator, which the exporter could not translate; export "
            "without the fallback to ATen, and write what then fails with operators that "
            "ONNX has"
        ),
    ),
    (
        _FUNCTIONS,
        Text(
            "it is a function of the exporter's; onnx.inliner.inline_local_functions inlines "
            "its body"
        ),
    ),
)
"""Known domains, and what to do about their operators."""


def hint_for_unlisted(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Text:
    """The help of a finding about an operator that `library` does not have, without full stop.

    `domain` is "" for ONNX's own.
    """
    if domain not in ONNX_DOMAINS:
        return _of_domain(op_type, domain, history, library)
    versions = history.versions(op_type)
    if not versions:
        return _of_no_domain(op_type, library)
    return _of_onnx(op_type, versions, library)


def _of_no_domain(op_type: str, library: Library) -> Text:
    """The hint for a name that ONNX does not have: another case, a typo, a fused operator."""
    if op_type in FUSED:
        return _fused_operator(op_type)
    near = library.near(op_type)
    if near:
        same = [name for name in near if name.casefold() == op_type.casefold()]
        names = Text(" or ").join(same or near)
        return Text("ONNX has no operator of that name; did you mean {names}?", names=names)
    unknown = Text("ONNX has no operator {op}; {advice}", op=op_type, advice=_WRITE)
    return unknown + SEMICOLON + _LISTING


# ONNX's own operators ---------------------------------------------------------------------------


def _of_onnx(op_type: str, versions: Sequence[OperatorSchema], library: Library) -> Text:
    first = versions[0].since_version
    late = first > NEWEST_LISTED
    if late and op_type in EXPORTED:
        return Text(
            "ONNX has {op_type} since opset {first}; export the model at opset "
            "{newest_listed}, and the exporter writes it as listed operators ({exported})",
            op_type=op_type,
            first=first,
            newest_listed=NEWEST_LISTED,
            exported=EXPORTED[op_type],
        )
    advice = WRITTEN.get(op_type) or _body(versions[-1].body, library) or _WRITE
    if not late:
        return advice
    since = Text(
        "ONNX has {op_type} since opset {first}, the newest opset listed is {newest_listed}",
        op_type=op_type,
        first=first,
        newest_listed=NEWEST_LISTED,
    )
    return since + SEMICOLON + advice


def _body(body: Sequence[str], library: Library) -> Text | None:
    if not body:
        return None
    missing = [name for name in body if library.find(name) is None]
    names = ", ".join(body)
    if not missing:
        return Text(
            "ONNX defines it as a function of listed operators ({names}); "
            "onnx.inliner.inline_selected_functions inlines them",
            names=names,
        )
    return plural(
        len(missing),
        "ONNX defines it as a function of {names}, of which {rest} is not listed either; write "
        "these another way",
        "ONNX defines it as a function of {names}, of which {rest} are not listed either; write "
        "these another way",
        names=names,
        rest=", ".join(missing),
    )


# Operators of other domains ---------------------------------------------------------------------


def _of_domain(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Text:
    if _ONNXRUNTIME.match(domain):
        return _of_onnxruntime(op_type)
    for pattern, words in _DOMAINS:
        if pattern.match(domain):
            return words
    if library.find(op_type) is not None or history.versions(op_type):
        return Text(
            "an operator of domain {domain} differs from ONNX's {op_type}; where that is "
            "meant, leave the node's domain empty",
            domain=domain,
            op_type=op_type,
        )
    specs = ((name, library.find(name)) for name in library.near(op_type))
    near = [name for name, spec in specs if spec is not None and spec.custom]
    if near:
        return Text(
            "among custom operators, {names} is listed; is that the intended one?",
            names=Text(" or ").join(near),
        )
    return Text(
        "operators of domain {domain} are not ONNX operators; {advice}",
        domain=domain,
        advice=_WRITE,
    )


def _of_onnxruntime(op_type: str) -> Text:
    if op_type in FUSED:
        return _fused_operator(op_type)
    if _QUANTIZED_OPERATOR.search(op_type):
        return WRITTEN["QuantizeLinear"]
    return Text(
        "{op} is an operator of onnxruntime, not of ONNX; export the model without "
        "onnxruntime's graph optimization, or write it with listed operators, or run this part of "
        "the model on the host",
        op=op_type,
    )


def _fused_operator(op_type: str) -> Text:
    parts = FUSED[op_type]
    return Text(
        "onnxruntime's graph optimization makes {op_type} of listed operators such as "
        "{parts}; give the model as it was exported, before that optimization",
        op_type=op_type,
        parts=parts,
    )
