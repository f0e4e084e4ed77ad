"""Normalization along axes or channels, and choices that stand in for it."""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.rows.parts import (
    EXP,
    FLOAT_KERNELS,
    FLOATS,
    IMPL_MODE,
    LATER_KERNELS,
    LOG,
    Needed,
    attributes,
    operator,
)

_NORMALIZED = (
    "y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + offset[c], c the channel (axis 1)"
)

_STATISTICS = "T f32 f32 f32 f32 > T"

_norm = partial(operator, columns=FLOATS, family="rows")

_by_channel = partial(operator, columns=FLOATS, family="channel")

ROWS = (
    _by_channel(
        "BNInfer",
        "Batch normalization with given statistics.",
        "x scale offset mean variance > y",
        form=_STATISTICS,
        attributes=attributes(epsilon=Needed.FLOAT),
        kernels="310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; "
        "CS: (f16 f16 f16 f16 f16 > f16)",
        formula=_NORMALIZED,
        takes=Layout.IMAGE,
        passes=2.0,
    ),
    _by_channel(
        "BNInferenceD",
        "Batch normalization whose statistics the compiler made a summand and a factor of.",
        "x mean variance > y",
        form="T T T > T",
        kernels="310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: -",
        formula=(
            "y = (x + mean[c]) * variance[c], c the channel (axis 1); the sum is rounded to float16 "
            "first where x is float16"
        ),
        takes=Layout.IMAGE,
        passes=2.0,
    ),
    _by_channel(
        "BatchNorm",
        "Batch normalization as the graph states it; becomes BNInfer or part of a convolution.",
        "x scale offset mean? variance? > y",
        form=_STATISTICS,
        attributes=attributes(epsilon=0.0001, data_format="NCHW", is_training=False),
        kernels="310 310P 310B 610 910 A2 A3: f16 f32; CS: (f16 f16 f16 f16 f16 > f16); "
        "950: f16 f32 bf16",
        formula=_NORMALIZED,
        passes=3.0,
    ),
    # CANN's also outputs the statistics. Its kernels take channels from axis 1, whatever data_format.
    _norm(
        "GroupNorm",
        "Elements less the mean of their group of channels in their image, divided by its deviation, "
        "times gamma, plus beta.",
        "x gamma beta > y",
        form="T T T > T",
        attributes=attributes(
            num_groups=Needed.INT, data_format="NHWC", eps=1e-4, is_training=True
        ),
        kernels="310 610 CS: -; 310P 310B 910 A3: ?; A2 950: f16 f32",
        formula=(
            "y = (x - mean[n, g]) / sqrt(variance[n, g] + eps) * gamma[c] + beta[c], n the image "
            "(axis 0), c the channel (axis 1), g its group of channels"
        ),
        passes=9.0,
    ),
    _norm(
        "HardMax",
        "1 at the first of the largest elements along an axis, 0 elsewhere.",
        attributes=attributes(axis=-1),
        selects=True,
        formula=(
            "y[i] = 1 where i is the first place of the largest x along axis, 0 elsewhere; NaN "
            "counts as larger than all"
        ),
    ),
    # CANN's also outputs the statistics.
    _norm(
        "InstanceNorm",
        "Elements less the mean of their channel in their image, divided by its deviation, times "
        "gamma, plus beta.",
        "x gamma beta > y",
        form="T T T > T",
        attributes=attributes(data_format="NDHWC", epsilon=1e-6),
        kernels="310 310P 310B 610 910 A2 A3: f16 f32; CS: -; "
        "950: f16 f32 bf16 (f16 f32 f32 > f16) "
        "(bf16 f32 f32 > bf16)",
        formula=(
            "y = (x - mean[n, c]) / sqrt(variance[n, c] + epsilon) * gamma[c] + beta[c], n the "
            "image (axis 0), c the channel (axis 1)"
        ),
        passes=9.0,
    ),
    _by_channel(
        "LRN",
        "Local response normalization across channels.",
        attributes=attributes(
            depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"
        ),
        kernels="310 310P 310B 610 910 A2 A3: f16 f32; CS: f16",
        formula=(
            "y[c] = x[c] / (bias + alpha * sum of x[j]^2 for |j - c| <= depth_radius)^beta, c "
            "the channel (axis 1)"
        ),
        passes=8.0,
    ),
    # CANN's kernels always output the statistics, in the dtype of gamma.
    operator(
        "LayerNorm",
        "Elements less their mean over the last axes, divided by their deviation, times gamma, "
        "plus beta.",
        "x gamma beta > y mean? variance?",
        form="T T T > T T T",
        attributes=attributes(begin_norm_axis=0, begin_params_axis=0, epsilon=1e-7),
        columns="f16 f32 (f16 f32 f32 > f16 f32 f32)",
        kernels="310 310P 310B 610 910 A3 CS: ?; A2: f16 f32 bf16 (f16 f32 f32 > f16 f32 f32); "
        "950: f16 f32 bf16 (f16 f32 f32 > f16 f32 f32) (bf16 f32 f32 > bf16 f32 f32)",
        family="rows",
        takes=Layout.LAST_AXIS,
        passes=6.0,
    ),
    _norm(
        "LogSoftmaxV2",
        "Elements less the logarithm of the sum of their exponentials over axes.",
        "logits > logsoftmax",
        attributes=(*attributes(axes=(-1,)), IMPL_MODE),
        kernels=FLOAT_KERNELS,
        aicpu="f64",
        saturates=True,
        takes=Layout.LAST_AXIS,
        passes=6 + EXP + LOG,
    ),
    # Ours: CANN's LpNorm and Div give NaN where the norm is 0 and overflow float16 between them.
    _norm(
        "LpNormalize",
        "Elements divided by their norm along an axis; 0 where the norm is 0.",
        attributes=attributes(p=2, axis=-1),
        passes=5.0,
    ),
    _norm(
        "MVNV2",
        "Elements less their mean over axes, divided by their standard deviation plus eps.",
        attributes=attributes(eps=1e-9, axes=(0, 2, 3)),
        kernels="310 310P 310B 610 910 A2 A3 950: f16 f32; CS: f16",
        passes=8.0,
    ),
    # CANN's also outputs the inverse deviations, which only training reads.
    _norm(
        "RmsNorm",
        "Elements divided by the root of their mean square over gamma's axes, times gamma.",
        "x gamma > y",
        form="T T > T",
        attributes=attributes(epsilon=1e-6),
        kernels=Kernels(
            "310 310B 610 CS: -; 310P 910: f16 f32; A2 A3 950: f16 f32 bf16 (f16 f32 > f16) "
            "(bf16 f32 > bf16)"
        ),
        passes=6.0,
    ),
    # CANN's interface asks for 4 axes, of which the last has at most 4096 elements, and its manual
    # calls what is masked -inf; here any rank will do, and a row without anything else is uniform.
    operator(
        "ScaledMaskedSoftmax",
        "Softmax along the last axis of x times scale, without the elements that a mask hides.",
        "x mask > y",
        form="T b > T",
        attributes=attributes(scale=1.0, fixed_triu_mask=False),
        columns=FLOATS,
        kernels="310 310P: f16 (f32 b > f16); 310B 610 CS: -; 910: f16 f32; A2 A3: f16 f32 bf16",
        family="softmax",
        saturates=True,
        formula=(
            "y = softmax along the last axis of v, v = mask ? the lowest finite float32 : "
            "x * scale, with mask broadcast to x"
        ),
        passes=7 + EXP,
    ),
    operator(
        "SoftmaxV2",
        "Exponentials divided by their sum over axes.",
        attributes=(*attributes(axes=(-1,), half_to_float=False), IMPL_MODE),
        columns=FLOATS,
        kernels=LATER_KERNELS,
        aicpu="f64",
        family="softmax",
        passes=3 + EXP,  # a row has one division
        saturates=True,
    ),
)
