"""One node that moves elements, held to onnxruntime: nothing may change but an element's place.

onnxruntime moves the bits in float32 or double, which it has for every such operator at every
opset, so that every dtype has an oracle. Floats are on float16's grid, so that both precision
modes must give the very same elements.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.lowering.listed_forms import values
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]


MODES = ("must_keep_origin_dtype", "force_fp16")


@st.composite
def elements(draw: st.DrawFn, dtype: DType, shape: Sequence[int]) -> Array:
    """Return elements of the whole range of `dtype`; floats, special too, on float16's grid."""
    array: Array = draw(values(dtype, shape))
    if dtype.is_float and dtype.itemsize > np.dtype(np.float16).itemsize:
        with np.errstate(over="ignore"):
            array = array.astype(np.float16).astype(dtype.numpy)
    return array


def agree_when_moved(
    op_type: str,
    data: Mapping[str, Array],
    opset: int,
    *,
    others: Mapping[str, Array] | None = None,
    relaxed: bool = False,
    **options: Any,
) -> None:
    """Hold one node to onnxruntime in both precision modes.

    Args:
        op_type: the operator.
        data: what is moved, by name.
        opset: of the model.
        others: further inputs that are fed, indices for example.
        relaxed: beyond what the list allows.
        **options: of `one_node_model`: constants, order, outputs, attributes.
    """
    others = others or {}
    model = one_node_model(op_type, {**data, **others}, opset, **options)
    bits = {name: _as_floats(array) for name, array in data.items()}
    carried = one_node_model(op_type, {**bits, **others}, opset, **options)
    expected = run_with_onnxruntime(carried, {**bits, **others})
    dtype = next(iter(data.values())).dtype
    specs = {"op_specs": relaxed_specs(model)} if relaxed else {}
    for mode in MODES:
        with tempfile.TemporaryDirectory() as folder:
            found = run_with_atc_py(
                model, {**data, **others}, Path(folder), precision_mode=mode, **specs
            )
        for name, array in expected.items():
            same_elements(found[name], _from_floats(array, dtype))


def same_elements(found: Array, expected: Array) -> None:
    """Check that dtype, shape and elements are equal, the sign of zero too; NaN is NaN."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))


def _as_floats(array: Array) -> Array:
    """Return the bits of `array` in floats of 32 or 64 bits."""
    width = array.dtype.itemsize
    bits = array.view(f"u{width}")
    return bits.astype(np.uint32).view(np.float32) if width < 8 else bits.view(np.float64)


def _from_floats(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return the array of `dtype` whose bits `array` has."""
    bits = array.view(np.uint32).astype(f"u{dtype.itemsize}") if dtype.itemsize < 8 else array
    return bits.view(dtype)
