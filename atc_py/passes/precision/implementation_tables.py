"""Implementations of operators: ATC's modes, its defaults, and what kernels round to float16.

Sources: the lists of implementation modes of CANN 8.1 (all that there are, and the default file),
and its kernels, which say what a mode does in float16 on a SoC family. That Ascend910_95, of which
8.1 has no kernels, rounds no step is inferred. Of all lists only operators with rows stand here.
"""

from atc_py.passes.precision.mix_lists import CUBE_LIST
from atc_py.target.soc import SocFamily

PRECISE, FAST = "high_precision", "high_performance"
"""ATC's two modes, and of the simulated kernels that round no step to float16, or each."""

_DIFFERENCE, _EXPONENTIAL = "float16_difference", "float16_exponential"

_BOTH = frozenset({PRECISE, FAST})
_PRODUCTS = _BOTH | {"enable_float_32_execution", "enable_hi_float_32_execution"}

ATC_MODES = {
    **dict.fromkeys(
        [
            "AvgPoolV2",
            "BatchMultiClassNonMaxSuppression",
            "Exp",
            "FloorMod",
            "GeluV2",
            "LRN",
            "LogSoftmaxV2",
            "ROIAlign",
            "RealDiv",
            "ReduceLogSumExp",
            "ReduceMeanD",
            "Sigmoid",
            "SoftmaxV2",
            "Sqrt",
            "SquareSumV1",
            "Tanh",
            "Threshold",
        ],
        _BOTH,
    ),
    **dict.fromkeys(sorted(CUBE_LIST), _PRODUCTS),
    "LayerNorm": _BOTH | {"keep_fp16"},
}
"""The modes that ATC has of an operator; no others. ReduceMeanD is its ReduceMean."""

DEFAULTS = {"LogSoftmaxV2": FAST, "Sigmoid": PRECISE, "SoftmaxV2": FAST}
"""The mode in ATC's default file, of operators whose arithmetic is modeled.

A file of the user's replaces that file. Operators that it does not name then take the default of
their kernel, which is the same mode for all of these.
"""

_310, _310B, _310P = SocFamily.ASCEND310, SocFamily.ASCEND310B, SocFamily.ASCEND310P
_610, _910, _CS = SocFamily.ASCEND610, SocFamily.ASCEND910, SocFamily.HI3796CV300CS
_A2, _A3 = SocFamily.ASCEND910B, SocFamily.ASCEND910_93

_NARROW_EXP = dict.fromkeys((_310, _CS), FAST)
"""Vector units without an exponential in float32: all steps are in float16."""

_SOFTMAX = {
    **dict.fromkeys((_310B, _310P, _610, _910, _A2, _A3), _DIFFERENCE),
    _310: _EXPONENTIAL,
    _CS: FAST,
}
_SIGMOID = dict.fromkeys((_310, _310B, _610, _910, _CS), FAST)

_ROUNDED = {
    "LogSoftmaxV2": {PRECISE: _NARROW_EXP, FAST: _NARROW_EXP},
    "Sigmoid": {PRECISE: _SIGMOID, FAST: _SIGMOID | dict.fromkeys((_A2, _A3), FAST)},
    "SoftmaxV2": {PRECISE: _SOFTMAX, FAST: _SOFTMAX},
    "Softplus": {PRECISE: _NARROW_EXP},
    "Softsign": {PRECISE: {_CS: FAST}},
}
"""The steps that the kernel of an operator and mode rounds to float16, if it rounds any.

Softplus and Softsign have no mode; that they have stands here as PRECISE.
"""

NOT_MODELED = {("Sigmoid", FAST): frozenset({_310P})}
"""Kernels that compute something else: Ascend310P's Sigmoid for high_performance is a polynomial
of degree 5 held between 0 and 1."""


def has_kernels(family: SocFamily) -> bool:
    """True if the kernels of `family` are those of CANN, not of the generic device."""
    return family is not SocFamily.SIM


def arithmetic(op: str, family: SocFamily, mode: str) -> str:
    """Return which steps the kernel of a mode rounds to float16, as `impl_mode` names it."""
    return _ROUNDED[op][mode].get(family, PRECISE)
