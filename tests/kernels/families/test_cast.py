"""Casts on the host: every pair of dtypes gives what the simulator has."""

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

DTYPES = [dtype for dtype in DType if dtype is not DType.INT4]
ALWAYS = (DType.FLOAT16, DType.BFLOAT16, DType.INT64)


@pytest.mark.parametrize(
    "source",
    sampled(ALWAYS, (dtype for dtype in DTYPES if dtype not in ALWAYS)),
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
