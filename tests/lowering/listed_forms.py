"""What tests of lowering draw from: forms that the list and ONNX both have, shapes, values."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.spec import library
from atc_py.tensor.dtypes import DType

Array = NDArray[Any]


SHAPES = st.lists(st.integers(1, 4), max_size=5).map(tuple)
"""Scalars, and more axes than an image has. No input of a model may be empty."""

_NAMES = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7, -1e-7, 60000.0, -60000.0)


@cache
def listed_forms(op_type: str, position: int = 0) -> tuple[tuple[int, DType], ...]:
    """Return the listed (opset, input dtype) that ONNX defines and infers types of."""
    spec = library().find(op_type)
    assert spec is not None
    row = spec.inputs[position]
    listed = (*(spec.dtypes_of(row) or tuple(DType)), *row.carried)
    found = []
    for opset in spec.opsets:
        types = _types_at(op_type, opset, position)
        found += [(opset, d) for d in listed if f"tensor({_NAMES.get(d, d.value)})" in types]
    return tuple(found)


def _types_at(op_type: str, opset: int, position: int) -> frozenset[str]:
    """Return the types that ONNX gives an input at `opset`; none where it lacks the operator."""
    try:
        schema = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        return frozenset()
    function = schema.has_function  # type: ignore[attr-defined]  # onnx's stubs lack it
    if not (schema.has_type_and_shape_inference_function or function):
        return frozenset()
    return frozenset(schema.inputs[min(position, len(schema.inputs) - 1)].types)


@st.composite
def values(
    draw: st.DrawFn,
    dtype: DType,
    shape: Sequence[int],
    bounds: tuple[float, float] = (-4.0, 4.0),
    *,
    special: bool = True,
) -> Array:
    """Return an array: floats between bounds, some special; integers small or of any size.

    Args:
        draw: hypothesis's.
        dtype: of the elements.
        shape: of the array.
        bounds: of floats and of small integers.
        special: also NaN, infinities, zeros of both signs, large and small floats, and integers
            of the dtype's whole range.
    """
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    if dtype is DType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    wild = special and draw(st.booleans())
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        low = max(limits.min, int(bounds[0]))
        whole = (limits.min, limits.max) if wild else (low, int(bounds[1]))
        return generator.integers(*whole, shape, dtype.numpy, endpoint=True)
    array = np.asarray(generator.uniform(*bounds, shape))
    if wild:
        places = generator.random(shape) < 0.5
        array = np.where(places, generator.choice(_SPECIAL, shape), array)
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy)


@st.composite
def broadcast_shapes_of(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Return shapes that broadcast together, of ranks that may differ."""
    whole = draw(SHAPES)
    shapes = []
    for _ in range(count):
        start = draw(st.integers(0, len(whole)))
        part = whole[start:]
        kept = draw(st.lists(st.booleans(), min_size=len(part), max_size=len(part)))
        shapes.append(tuple(e if keep else 1 for e, keep in zip(part, kept, strict=True)))
    return shapes
