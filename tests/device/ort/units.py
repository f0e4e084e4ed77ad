"""Distances between results of two devices, in units in the last place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.twin import differences, run_on_ort

FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)

_GRIDS = {
    DType.FLOAT16: (11, -14),
    DType.BFLOAT16: (8, -126),
    DType.FLOAT32: (24, -126),
    DType.FLOAT64: (53, -1022),
}
"""Bits of the significand, and the exponent of the smallest normal number."""

_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 65504.0, -65504.0, 1e-7, 3e38)


def numbers(dtype: DType, *, seed: int = 1, low: float = -8, high: float = 8) -> Array:
    """Return numbers between bounds, small ones among them, and special values."""
    generator = np.random.default_rng(seed)
    plain = generator.uniform(low, high, 3000)
    plain[::4] *= np.exp2(-generator.uniform(0, 16, plain[::4].size))
    special = [each for each in _SPECIAL if not low <= each <= high or low < 0]
    with np.errstate(over="ignore"):
        return np.concatenate([plain, special]).astype(dtype.numpy)


def units_apart(
    op: str,
    inputs: Sequence[Array],
    attributes: Attributes | None = None,
    *,
    constants: Sequence[int] = (),
    least: float = 0.0,
) -> float:
    """Return the largest distance of an operator's result on onnxruntime from the simulator's.

    What `run --expect` allows must hold, and NaN and infinities must be at the same places.

    Args:
        op: an operator of one result, of the dtype of its inputs and the shape of them together.
        inputs: its operands.
        attributes: its attributes.
        constants: positions of the inputs that are constants.
        least: magnitude below which units do not become smaller.
    """
    dtype = DType.from_numpy(inputs[0].dtype)
    shape = np.broadcast_shapes(*(each.shape for each in inputs))
    model, feeds = model_of(op, inputs, [(dtype, shape)], attributes, constants=constants)
    expected = run_model(model, feeds)
    found = run_on_ort(model, feeds)
    assert found is not None
    assert differences(model, found, expected) == []
    ours, theirs = (each["y0"].astype(np.float64) for each in (found, expected))
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if same.all():
        return 0.0
    ours, theirs = ours[~same], theirs[~same]
    assert np.isfinite(ours).all()
    assert np.isfinite(theirs).all()
    bits, smallest = _GRIDS[dtype]
    exponents = np.frexp(np.maximum(np.abs(theirs), max(least, np.ldexp(1.0, smallest))))[1]
    return float((np.abs(ours - theirs) / np.ldexp(1.0, exponents - bits)).max())
