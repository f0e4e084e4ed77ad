"""Casts on the host: every pair of dtypes gives what the simulator has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.emit.families.conftest import wrong

if TYPE_CHECKING:
    from tests.emit.conftest import AddNode
    from tests.emit.families.conftest import Verified

DTYPES = [dtype for dtype in DType if dtype is not DType.INT4]
ALWAYS = {DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.UINT8, DType.BOOL}
"""What is cast in every run of the tests; the others by `make kernels`."""


@pytest.mark.parametrize(
    "source",
    [
        dtype if dtype in ALWAYS else pytest.param(dtype, marks=pytest.mark.sweep)
        for dtype in DTYPES
    ],
    ids=lambda dtype: dtype.value,
)
def test_cast_to_every_dtype_agrees(add_node: AddNode, verified: Verified, source: DType) -> None:
    graph = Graph("casts", Phase.TYPED)
    for target in DTYPES:
        if target is not source:
            types = [TensorType(source, (3, 37))], [TensorType(target, (3, 37))]
            add_node(graph, "Cast", *types, {"dst_type": target})
    checked = verified(graph)
    assert len(checked) == len(DTYPES) - 1
    assert wrong(checked) == []
