"""Rules of random numbers."""

from collections.abc import Sequence

from atc_py.fix.case import case
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import EQUAL, rule
from atc_py.fix.unfit import skip_unless
from atc_py.tensor.dtypes import DType

# ONNX's number of the dtype.
_FLOAT64 = 11


@rule(
    EQUAL,
    case("RandomUniform", dtype=11, shape=[2, 3], seed=3.0),
    miss=case("RandomUniform", dtype=1, shape=[2, 3], seed=3.0),
    deviations="RandomUniform/float64-refused",
)
def random_as_float32(ctx: RuleContext) -> str:
    """RandomUniform in float64 -> RandomUniform in float32, Cast, if ONNX leaves the numbers to the
    engine.
    """
    skip_unless(ctx.integer("dtype", 1) == _FLOAT64)
    (result,) = ctx.again(dtype=1)
    return ctx.cast(result, DType.FLOAT64)


@rule(
    EQUAL,
    case("RandomUniformLike", [2, 3], seed=0.7, operator_list="cann-9.0"),
    operators="RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    miss=case("RandomUniformLike", [2, 3], seed=3.0, operator_list="cann-9.0"),
    boundary=case("RandomNormal", shape=[2, 3], seed=-0.99, operator_list="cann-9.0"),
    deviations=(
        "RandomNormal/seed-cut-to-0",
        "RandomNormalLike/seed-cut-to-0",
        "RandomUniform/seed-cut-to-0",
        "RandomUniformLike/seed-cut-to-0",
    ),
)
def random_seed_whole(ctx: RuleContext) -> Sequence[str]:
    """Random numbers with a seed between -1 and 1 -> the operator with seed 1 or -1, if ONNX leaves
    the numbers that a seed gives to the engine.
    """
    seed = ctx.number("seed", 0.0)
    skip_unless("seed" in ctx.node.attributes and abs(seed) < 1)
    return ctx.again(seed=-1.0 if seed < 0 else 1.0)
