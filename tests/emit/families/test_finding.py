"""Indices of elements that are not zero, on the host: those that the simulator finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from atc_py.ir import DenseConst, Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.emit.families.conftest import wrong
from tests.sampling import sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.emit.families.conftest import Verified

    Array = NDArray[Any]

F16, F32, I8, BOOL, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.BOOL, DType.INT64


def tensors(dtype: DType) -> list[Array]:
    """Return one element, none but zeros, all ranks, more than the buffers take; NaN, signed zeros."""
    generator = np.random.default_rng(1)
    shapes = [(1,), (37,), (7, 5), (3, 5, 31), (2, 1, 3, 1, 2, 2, 1, 3), (3, 30_011)]
    found = [generator.integers(-1, 2, shape) for shape in shapes]
    arrays = [array.astype(dtype.numpy) for array in [*found, np.zeros((4, 9))]]
    if dtype.is_float:
        arrays[1][:3] = np.nan, -0.0, np.inf
    return arrays


@pytest.mark.parametrize("dtype", sampled([F32], [F16, I8, BOOL]))
def test_indices_that_are_found_agree(verified: Verified, dtype: DType) -> None:
    graph = Graph("nonzero", Phase.TYPED)
    arrays = tensors(dtype)
    for at, array in enumerate(arrays):
        x = graph.constant(f"x{at}", DenseConst(array))
        result = TensorType(I64, (array.ndim, int(np.count_nonzero(array))))
        node = graph.add_node("NonZero", [x], [(f"y{at}", result)], {"transpose": True})
        node.engine = Engine.AICORE
    checked = verified(graph)
    assert len(checked) == len(arrays)
    assert wrong(checked) == []
