"""Which dtypes a tensor may have where the precision mode may change it.

Source of the table: ATC's documented rules for --precision_mode and the way its column selection
narrows and widens; double is never chosen for another float, integers are never changed.
"""

from collections.abc import Collection, Mapping

from atc_py.options.compile_options import PrecisionMode
from atc_py.tensor.dtypes import DType

_F16, _BF16, _F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32
_RISE = {_F16: (_F16, _F32), _BF16: (_BF16, _F32), _F32: (_F32,)}
"""Dtypes that a float may become without loss, the dtype itself first."""

_TO_FP16 = {_F16: (_F16, _F32), _BF16: (_F16, _F32), _F32: (_F16, _F32)}
_TO_FP32 = {_F16: (_F32, _F16), _BF16: (_F32, _BF16, _F16), _F32: (_F32, _BF16, _F16)}
_MAY_FP16 = {_F16: (_F16, _F32), _BF16: (_BF16, _F32, _F16), _F32: (_F32, _F16)}
_MAY_BF16 = {_F16: (_F16, _F32), _BF16: (_BF16, _F32), _F32: (_F32, _BF16)}

_CHOICES: Mapping[PrecisionMode, Mapping[DType, tuple[DType, ...]]] = {
    PrecisionMode.FORCE_FP16: _TO_FP16,
    PrecisionMode.FORCE_FP32: _TO_FP32,
    PrecisionMode.CUBE_FP16IN_FP32OUT: _TO_FP32,
    PrecisionMode.ALLOW_FP32_TO_FP16: _MAY_FP16,
    PrecisionMode.MUST_KEEP_ORIGIN_DTYPE: _RISE,
    PrecisionMode.ALLOW_MIX_PRECISION: _MAY_FP16,
    PrecisionMode.ALLOW_MIX_PRECISION_FP16: _MAY_FP16,
    PrecisionMode.ALLOW_MIX_PRECISION_BF16: _MAY_BF16,
    PrecisionMode.ALLOW_FP32_TO_BF16: _MAY_BF16,
}
"""Dtypes that a float may become in each mode, in the order in which they are tried."""


def is_legal(dtype: DType, listed: Collection[DType], mode: PrecisionMode) -> bool:
    """True if an operator that takes the `listed` dtypes can take a tensor of `dtype`."""
    return becomes(dtype, listed, mode) is not None


def becomes(dtype: DType, listed: Collection[DType], mode: PrecisionMode) -> DType | None:
    """The dtype that the operator computes in, or None where there is none.

    A dtype that the mode never changes, an integer, bool or float64, must be listed itself.
    """
    for choice in _CHOICES[mode].get(dtype, (dtype,)):
        if choice in listed:
            return choice
    return None
