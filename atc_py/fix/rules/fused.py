"""Rules of operators of onnxruntime that fuse nodes of ONNX, or call them otherwise."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from atc_py.fix.case import Fed, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

# Activations that are operators, and the attributes that their values become.
_NAMES: dict[str, tuple[str, ...]] = {
    "Celu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Selu": ("alpha", "gamma"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}

_PAIR = 2


def fused_activation(ctx: RuleContext, x: str, name: str, values: Sequence[float]) -> str:
    """Write an activation with its values in the order of onnxruntime; "" leaves x."""
    if not name:
        return x
    if name in _NAMES:
        attributes = _NAMES[name]
        require(len(values) >= len(attributes), "the activation has its values")
        given: dict[str, Any] = dict(zip(attributes, values, strict=False))
        return ctx.op(name, x, **given)
    if name == "HardSwish":
        gate = ctx.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        return ctx.op("Mul", x, gate)
    known = name in {"Clip", "ParametricSoftplus", "ScaledTanh"} and len(values) >= _PAIR
    require(known, "the activation is known")
    first, second = (ctx.scalar(value, "factor") for value in values[:_PAIR])
    if name == "Clip":
        return ctx.op("Min", ctx.op("Max", x, first), second)
    inner = "Tanh" if name == "ScaledTanh" else "Softplus"
    return ctx.op("Mul", ctx.op(inner, ctx.op("Mul", x, second)), first)


# Attributes that Conv does not have.
_OWN = frozenset({"activation", "activation_params"})

_ADDED = 3

_IMAGE = ([1, 3, 6, 6], data(4, 3, 3, 3), data(4))
_LEAKY: dict[str, Any] = {"activation": "LeakyRelu"}


@rule(
    REORDERED,
    contrib_case("FusedConv", *_IMAGE, **_LEAKY, activation_params=[0.2], pads=[1, 1, 1, 1]),
    miss=contrib_case("FusedConv", *_IMAGE, **_LEAKY),
    boundary=contrib_case(
        "FusedConv",
        [1, 1, 2, 2],
        data(1, 1, 2, 2),
        activation="HardSigmoid",
        activation_params=[0.3, 0.4],
    ),
)
def fused_conv_as_steps(ctx: RuleContext) -> str:
    """FusedConv of onnxruntime -> Conv, Add, the activation, if the activation is one that
    onnxruntime fuses.

    activation(Conv(X, W, B) + Z) (onnxruntime's FusedConv).
    """
    given: dict[str, Any] = {
        name: attribute for name, attribute in ctx.node.attributes.items() if name not in _OWN
    }
    inputs = [ctx.name(at) for at in range(3)]
    y = ctx.op("Conv", *(inputs if inputs[-1] else inputs[:-1]), **given)
    y = ctx.add(y, ctx.name(_ADDED))
    values = ctx.node.attributes.get("activation_params", ())
    numbers = tuple(float(value) for value in values) if isinstance(values, tuple) else ()
    return fused_activation(ctx, y, ctx.text("activation", ""), numbers)


_VALUES = ("activation_alpha", "activation_beta", "activation_gamma")
_OPERANDS = (Fed((3, 4)), data(4, 5), data(5, seed=1))


@rule(
    REORDERED,
    contrib_case("FusedGemm", *_OPERANDS, activation="Relu"),
    miss=contrib_case("FusedGemm", *_OPERANDS, activation="Clip"),
    boundary=contrib_case("FusedGemm", *_OPERANDS, **_LEAKY, activation_alpha=0.1),
)
def fused_gemm_as_steps(ctx: RuleContext) -> str:
    """FusedGemm of onnxruntime -> Gemm, the activation, if the activation is one that onnxruntime
    fuses.

    activation(alpha A' B' + beta C) (onnxruntime's FusedGemm).
    """
    given: dict[str, Any] = {
        name: attribute
        for name, attribute in ctx.node.attributes.items()
        if not name.startswith(("activation", "leaky_relu"))
    }
    y = ctx.op("Gemm", *(tensor.name for tensor in ctx.node.inputs if tensor is not None), **given)
    numbers = [ctx.number(name, 0.0) for name in _VALUES if name in ctx.node.attributes]
    return fused_activation(ctx, y, ctx.text("activation", ""), numbers)


@rule(
    REORDERED,
    contrib_case("FusedMatMul", [2, 5, 3], [2, 5, 4], transA=1, alpha=0.5),
    operators="com.microsoft::FusedMatMul com.microsoft::TransposeMatMul",
    miss=contrib_case(
        "FusedMatMul",
        Fed((5, 3), DType.FLOAT64),
        Fed((3, 4), DType.FLOAT64),
    ),
)
def fused_mat_mul_as_steps(ctx: RuleContext) -> str:
    """FusedMatMul of onnxruntime -> Transpose, MatMul, Mul, if the dtype is float16 or float32.

    alpha * A' B' with either operand transposed in its last two axes (onnxruntime's FusedMatMul).
    """
    ctx.floats(0)
    operands = [_operand(ctx, at, letter) for at, letter in enumerate("AB")]
    alpha = ctx.number("alpha", 1.0)
    product = ctx.op("MatMul", *operands)
    return product if alpha == 1 else ctx.times(product, alpha)


def _operand(ctx: RuleContext, position: int, letter: str) -> str:
    axes = list(range(len(ctx.dims(position))))
    if ctx.integer(f"transBatch{letter}", 0) and len(axes) > 1:
        # The first axis is one of the matrices.
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if ctx.integer(f"trans{letter}", 0) and len(axes) > 1:
        axes = [*axes[:-2], axes[-1], axes[-2]]
    return ctx.transpose(ctx.name(position), axes)


_PADS_AS_INPUT = 11


def _expand_dims(ctx: RuleContext) -> str:
    rank = len(ctx.dims(0))
    axis = int(ctx.constant(1).reshape(-1)[0])
    return ctx.unsqueeze(ctx.name(0), [axis % (rank + 1)])


def _pad(ctx: RuleContext) -> str:
    require(ctx.opset >= _PADS_AS_INPUT, "the opset is 11 or more")
    pads = ctx.const(ctx.constant(1).reshape(-1), label="pads")
    inputs = [ctx.name(0), pads]
    if ctx.tensor(2) is not None:
        value = ctx.constant(2).reshape(-1)[0]
        inputs.append(ctx.const(value, ctx.element, "value"))
    return ctx.op("Pad", *inputs, mode=ctx.text("mode", "constant"))


def _conv_transpose(ctx: RuleContext) -> str:
    given: dict[str, Any] = {**ctx.node.attributes}
    if given.get("auto_pad", "NOTSET") == "NOTSET":
        given["pads"] = [int(number) for number in ctx.constant(2).reshape(-1)]
    inputs = [ctx.name(at) for at in (0, 1, 3) if ctx.tensor(at) is not None]
    return ctx.op("ConvTranspose", *inputs, **given)


_FORMS: dict[str, Callable[[RuleContext], str]] = {
    "ConvTransposeWithDynamicPads": _conv_transpose,
    "ExpandDims": _expand_dims,
    "GatherND": lambda ctx: ctx.op("GatherND", ctx.name(0), ctx.name(1)),
    "Pad": _pad,
}


@rule(
    REORDERED,
    contrib_case(
        "ConvTransposeWithDynamicPads",
        [1, 2, 4, 4],
        data(2, 3, 3, 3),
        np.array([1, 1, 1, 1]),
        strides=[2, 2],
    ),
    operators=[f"com.microsoft::{name}" for name in _FORMS],
    boundary=(
        contrib_case(
            "Pad",
            [2, 3],
            np.array([0, 1, 2, 0]),
            np.array(5, np.float32),
        ),
        contrib_case("ExpandDims", [2, 3], np.array(2, np.int32)),
        contrib_case("GatherND", [2, 3], np.array([[1, 0]])),
    ),
)
def counterpart_of_onnx(ctx: RuleContext) -> str:
    """ConvTransposeWithDynamicPads, ExpandDims, GatherND or Pad of onnxruntime -> ConvTranspose,
    Unsqueeze, GatherND or Pad, if pads and axes are constant.
    """
    return _FORMS[ctx.node.op_type](ctx)
