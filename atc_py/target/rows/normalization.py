"""Normalization along axes or channels, and choices that stand in for it."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import (
    EXP,
    FLOAT_KERNELS,
    FLOATS,
    IMPL_MODE,
    LATER_KERNELS,
    LOG,
    columns,
    operands,
)

_STATISTICS = "T f32 f32 f32 f32 > T"

ROWS = (
    TargetOp(
        "BNInfer",
        *operands("x scale offset mean variance > y"),
        "Batch normalization with given statistics.",
        attributes=(Attribute("epsilon", "float"),),
        columns=columns(FLOATS, _STATISTICS),
        kernels=on(
            "310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: (f16 f16 f16 f16 f16 > f16)",
            _STATISTICS,
        ),
        family="channel",
        formula=(
            "y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + offset[c], c the "
            "channel (axis 1)"
        ),
        takes=Layout.IMAGE,
        passes=2.0,
    ),
    TargetOp(
        "BNInferenceD",
        *operands("x mean variance > y"),
        "Batch normalization whose statistics the compiler made a summand and a factor of.",
        columns=columns(FLOATS, "T T T > T"),
        kernels=on(
            "310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: -",
            "T T T > T",
        ),
        family="channel",
        formula=(
            "y = (x + mean[c]) * variance[c], c the channel (axis 1); the sum is rounded to float16 "
            "first where x is float16"
        ),
        takes=Layout.IMAGE,
        passes=2.0,
    ),
    TargetOp(
        "BatchNorm",
        *operands("x scale offset mean? variance? > y"),
        "Batch normalization as the graph states it; becomes BNInfer or part of a convolution.",
        attributes=(
            Attribute("epsilon", "float", 0.0001),
            Attribute("data_format", "string", "NCHW"),
            Attribute("is_training", "bool", default=False),
        ),
        columns=columns(FLOATS, _STATISTICS),
        kernels=on(
            "310 310P 310B 610 910 A2 A3: f16 f32; CS: (f16 f16 f16 f16 f16 > f16); "
            "950: f16 f32 bf16",
            _STATISTICS,
        ),
        family="channel",
        formula=(
            "y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + offset[c], c the "
            "channel (axis 1)"
        ),
        passes=3.0,
    ),
    # CANN's also outputs the statistics. Its kernels take channels from axis 1, whatever data_format.
    TargetOp(
        "GroupNorm",
        *operands("x gamma beta > y"),
        "Elements less the mean of their group of channels in their image, divided by its deviation, "
        "times gamma, plus beta.",
        attributes=(
            Attribute("num_groups", "int"),
            Attribute("data_format", "string", "NHWC"),
            Attribute("eps", "float", 1e-4),
            Attribute("is_training", "bool", default=True),
        ),
        columns=columns(FLOATS, "T T T > T"),
        kernels=on("310 610 CS: -; 310P 310B 910 A3: ?; A2 950: f16 f32", "T T T > T"),
        family="rows",
        formula=(
            "y = (x - mean[n, g]) / sqrt(variance[n, g] + eps) * gamma[c] + beta[c], n the image "
            "(axis 0), c the channel (axis 1), g its group of channels"
        ),
        passes=9.0,
    ),
    TargetOp(
        "HardMax",
        *operands("x > y"),
        "1 at the first of the largest elements along an axis, 0 elsewhere.",
        attributes=(Attribute("axis", "int", -1),),
        columns=columns(FLOATS),
        family="rows",
        selects=True,
        formula=(
            "y[i] = 1 where i is the first place of the largest x along axis, 0 elsewhere; NaN "
            "counts as larger than all"
        ),
    ),
    # CANN's also outputs the statistics.
    TargetOp(
        "InstanceNorm",
        *operands("x gamma beta > y"),
        "Elements less the mean of their channel in their image, divided by its deviation, times "
        "gamma, plus beta.",
        attributes=(
            Attribute("data_format", "string", "NDHWC"),
            Attribute("epsilon", "float", 1e-6),
        ),
        columns=columns(FLOATS, "T T T > T"),
        kernels=on(
            "310 310P 310B 610 910 A2 A3: f16 f32; CS: -; 950: f16 f32 bf16 (f16 f32 f32 > f16) "
            "(bf16 f32 f32 > bf16)",
            "T T T > T",
        ),
        family="rows",
        formula=(
            "y = (x - mean[n, c]) / sqrt(variance[n, c] + epsilon) * gamma[c] + beta[c], n the "
            "image (axis 0), c the channel (axis 1)"
        ),
        passes=9.0,
    ),
    TargetOp(
        "LRN",
        *operands("x > y"),
        "Local response normalization across channels.",
        attributes=(
            Attribute("depth_radius", "int", 5),
            Attribute("bias", "float", 1.0),
            Attribute("alpha", "float", 1.0),
            Attribute("beta", "float", 0.5),
            Attribute("norm_region", "string", "ACROSS_CHANNELS"),
        ),
        columns=columns(FLOATS),
        kernels=on("310 310P 310B 610 910 A2 A3: f16 f32; CS: f16"),
        family="channel",
        formula=(
            "y[c] = x[c] / (bias + alpha * sum of x[j]^2 for |j - c| <= depth_radius)^beta, c "
            "the channel (axis 1)"
        ),
        passes=8.0,
    ),
    # CANN's kernels always output the statistics, in the dtype of gamma.
    TargetOp(
        "LayerNorm",
        *operands("x gamma beta > y mean? variance?"),
        "Elements less their mean over the last axes, divided by their deviation, times gamma, "
        "plus beta.",
        attributes=(
            Attribute("begin_norm_axis", "int", 0),
            Attribute("begin_params_axis", "int", 0),
            Attribute("epsilon", "float", 1e-7),
        ),
        columns=columns("f16 f32 (f16 f32 f32 > f16 f32 f32)", "T T T > T T T"),
        kernels=on(
            "310 310P 310B 610 910 A3 CS: ?; A2: f16 f32 bf16 (f16 f32 f32 > f16 f32 f32); "
            "950: f16 f32 bf16 (f16 f32 f32 > f16 f32 f32) (bf16 f32 f32 > bf16 f32 f32)",
            "T T T > T T T",
        ),
        family="rows",
        takes=Layout.LAST_AXIS,
        passes=6.0,
    ),
    TargetOp(
        "LogSoftmaxV2",
        *operands("logits > logsoftmax"),
        "Elements less the logarithm of the sum of their exponentials over axes.",
        attributes=(Attribute("axes", "ints", (-1,)), IMPL_MODE),
        columns=columns(FLOATS),
        kernels=FLOAT_KERNELS,
        aicpu=columns("f64"),
        family="rows",
        saturates=True,
        takes=Layout.LAST_AXIS,
        passes=6 + EXP + LOG,
    ),
    # Ours: CANN's LpNorm and Div give NaN where the norm is 0 and overflow float16 between them.
    TargetOp(
        "LpNormalize",
        *operands("x > y"),
        "Elements divided by their norm along an axis; 0 where the norm is 0.",
        attributes=(Attribute("p", "int", 2), Attribute("axis", "int", -1)),
        columns=columns(FLOATS),
        family="rows",
        passes=5.0,
    ),
    TargetOp(
        "MVNV2",
        *operands("x > y"),
        "Elements less their mean over axes, divided by their standard deviation plus eps.",
        attributes=(Attribute("eps", "float", 1e-9), Attribute("axes", "ints", (0, 2, 3))),
        columns=columns(FLOATS),
        kernels=on("310 310P 310B 610 910 A2 A3 950: f16 f32; CS: f16"),
        family="rows",
        passes=8.0,
    ),
    # CANN's also outputs the inverse deviations, which only training reads.
    TargetOp(
        "RmsNorm",
        *operands("x gamma > y"),
        "Elements divided by the root of their mean square over gamma's axes, times gamma.",
        attributes=(Attribute("epsilon", "float", 1e-6),),
        columns=columns(FLOATS, "T T > T"),
        kernels=on(
            "310 310B 610 CS: -; 310P 910: f16 f32; A2 A3 950: f16 f32 bf16 (f16 f32 > f16) "
            "(bf16 f32 > bf16)"
        ),
        family="rows",
        passes=6.0,
    ),
    # CANN's interface asks for 4 axes, of which the last has at most 4096 elements, and its manual
    # calls what is masked -inf; here any rank will do, and a row without anything else is uniform.
    TargetOp(
        "ScaledMaskedSoftmax",
        *operands("x mask > y"),
        "Softmax along the last axis of x times scale, without the elements that a mask hides.",
        attributes=(
            Attribute("scale", "float", 1.0),
            Attribute("fixed_triu_mask", "bool", default=False),
        ),
        columns=columns(FLOATS, "T b > T"),
        kernels=on(
            "310 310P: f16 (f32 b > f16); 310B 610 CS: -; 910: f16 f32; A2 A3: f16 f32 bf16",
            "T b > T",
        ),
        family="softmax",
        saturates=True,
        formula=(
            "y = softmax along the last axis of v, v = mask ? the lowest finite float32 : "
            "x * scale, with mask broadcast to x"
        ),
        passes=7 + EXP,
    ),
    TargetOp(
        "SoftmaxV2",
        *operands("x > y"),
        "Exponentials divided by their sum over axes.",
        attributes=(
            Attribute("axes", "ints", (-1,)),
            Attribute("half_to_float", "bool", default=False),
            IMPL_MODE,
        ),
        columns=columns(FLOATS),
        kernels=LATER_KERNELS,
        aicpu=columns("f64"),
        family="softmax",
        passes=3 + EXP,  # a row has one division
        saturates=True,
    ),
)
