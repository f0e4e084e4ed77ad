"""Random cases of the rules that remove deviations of CANN: indices, casts, bounds, random numbers."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, case_after, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of
from tests.fix.draws.deviating import axis_of
from tests.fix.draws.precision import shape


@draws("one-hot-as-equal")
def one_hot_as_equal(rng: np.random.Generator) -> RuleCase:
    dims, depth = shape(rng), int(rng.integers(1, 6))
    indices = Fed(dims, one_of(rng, DType.INT32, DType.INT64), (-3 * depth, 3 * depth))
    values = one_of(rng, np.array([0.5, 2], np.float32), np.array([0, 3], np.int32))
    given = {"axis": int(rng.integers(-len(dims) - 1, len(dims) + 1))}
    inputs = (indices, ConstInput(np.array(depth)), ConstInput(values))
    return RuleCase("OneHot", inputs, given, cann=one_of(rng, "5", "9.1"))


@draws("clip-both-bounds")
def clip_both_bounds(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    if rng.integers(2):
        return RuleCase("Clip", (Fed(dims),), cann=one_of(rng, "5", "9.1"))
    dtype = one_of(rng, DType.INT32, DType.FLOAT16)
    bound = ConstInput(np.array(rng.integers(-9, 9), dtype.numpy))
    bounds = one_of(rng, (bound,), (None, bound))
    opset = 13 if dtype is DType.INT32 else one_of(rng, 11, 13)
    return RuleCase("Clip", (Fed(dims, dtype), *bounds), opset=opset, cann="5")


@draws("sum-with-flag")
def sum_with_flag(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axes = ConstInput(np.array([axis_of(rng, dims)]))
    return RuleCase("ReduceSum", (Fed(dims), axes), {"keepdims": int(rng.integers(2))}, cann="5")


@draws("gather-from-start")
def gather_from_start(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    if rng.integers(2):
        axis = axis_of(rng, dims)
        indices = rng.integers(-dims[axis], 0, shape(rng)[:2])
        return RuleCase("Gather", (Fed(dims), ConstInput(indices)), {"axis": axis}, cann="5")
    indices = np.stack([rng.integers(-dim, dim, 3) for dim in dims[:2]], -1)
    indices[0] = -1
    return RuleCase("GatherND", (Fed(dims), ConstInput(indices)), cann=one_of(rng, "5", "9.1"))


@draws("mod-in-int64")
def mod_in_int64(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    by = rng.integers(1, 2**30, dims[-1]).astype(np.int32)
    inputs = (Fed(dims, DType.INT32), ConstInput(by))
    return RuleCase("Mod", inputs, {"fmod": int(rng.integers(2))}, cann="5")


@draws("selu-as-elu")
def selu_as_elu(rng: np.random.Generator) -> RuleCase:
    given = {"alpha": float(rng.uniform(0.2, 1)), "gamma": float(rng.uniform(0.2, 1))}
    return RuleCase("Selu", (Fed(shape(rng)),), given, cann=one_of(rng, "5", "9.1"))


@draws("split-by-sizes")
def split_by_sizes(rng: np.random.Generator) -> RuleCase:
    count = int(rng.integers(2, 4))
    size = 2 * count + 1
    given = {"axis": 1, "num_outputs": count}
    inputs = (Fed((int(rng.integers(1, 4)), size, 3)),)
    return RuleCase("Split", inputs, given, 18, count, operator_list="cann-9.0")


@draws("thresholded-relu-as-where")
def thresholded_relu_as_where(rng: np.random.Generator) -> RuleCase:
    given = {"alpha": float(rng.uniform(-1, 1))}
    return RuleCase("ThresholdedRelu", (Fed(shape(rng)),), given, cann=one_of(rng, "5", "9.1"))


@draws("lp-normalization-as-quotient")
def lp_normalization_as_quotient(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    given = {"axis": axis_of(rng, dims), "p": int(rng.integers(1, 3))}
    return RuleCase("LpNormalization", (Fed(dims),), given, one_of(rng, 11, 13))


@draws("random-seed-whole")
def random_seed_whole(rng: np.random.Generator) -> RuleCase:
    given: dict[str, Any] = {"seed": float(rng.uniform(0.1, 0.9))}
    op = one_of(rng, "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
    inputs = (Fed(shape(rng)),) if op.endswith("Like") else ()
    given |= {} if inputs else {"shape": [2, 3]}
    return RuleCase(op, inputs, given, operator_list="cann-9.0")


@draws("random-as-float32")
def random_as_float32(rng: np.random.Generator) -> RuleCase:
    given = {"dtype": 11, "shape": list(shape(rng)), "seed": 3.0}
    return RuleCase("RandomUniform", (), given, cann=one_of(rng, "5", "9.1"))


@draws("pool-after-pad")
def pool_after_pad(rng: np.random.Generator) -> RuleCase:
    taps = [int(each) for each in rng.integers(16, 19, 2)]
    pads = [int(each) for each in rng.integers(1, 4, 4)]
    op, opset, cann = one_of(rng, ("AveragePool", 11, "5"), ("MaxPool", 12, "9.1"))
    given = {"kernel_shape": taps, "pads": pads, "strides": [int(rng.integers(1, 3))] * 2}
    dims = tuple(int(each) for each in rng.integers(20, 25, 2))
    return RuleCase(op, (Fed((1, 2, *dims)),), given, opset, cann=cann)


@draws("cast-to-bytes")
def cast_to_bytes(rng: np.random.Generator) -> RuleCase:
    dtype, to = one_of(rng, (DType.FLOAT16, 2), (DType.FLOAT16, 3), (DType.INT8, 2))
    return RuleCase("Cast", (Fed(shape(rng), dtype),), {"to": to}, cann="5")


@draws("conv-attributes")
def conv_attributes(rng: np.random.Generator) -> RuleCase:
    taps = [int(each) for each in rng.integers(1, 4, 3)]
    if rng.integers(2):
        inputs = (Fed((1, 2, 5, 6)), data(3, 2, *taps[:2]))
        return RuleCase("Conv", inputs, {"group": 1}, 11)
    given = {"auto_pad": one_of(rng, "SAME_UPPER", "SAME_LOWER"), "strides": [1, 2, 2]}
    weight = rng.normal(size=(2, 2, *taps)).astype(np.float16)
    inputs = (Fed((1, 2, 4, 5, 6), DType.FLOAT16), ConstInput(weight))
    return RuleCase("Conv", inputs, given, 11, operator_list="cann-9.0")


@draws("conv-transpose-not-set")
def conv_transpose_not_set(rng: np.random.Generator) -> RuleCase:
    kernel = {"kernel_shape": [2, 2]}
    dims = tuple(int(each) for each in rng.integers(3, 6, 2))
    shaped = {**kernel, "output_shape": [each + 1 for each in dims]}
    steps = (("ConvTranspose", ("x0", "x1"), ("first",), shaped),)
    inputs: dict[str, Any] = {
        "x0": Fed((1, 1, *dims)),
        "x1": rng.normal(size=(1, 1, 2, 2)).astype(np.float32),
    }
    return case_after(steps, "ConvTranspose", ("first", "x1"), inputs, 11, kernel)
