"""Batch normalization on the host: bit for bit what the simulator has, in rows and in blocks."""

from atc_py.ir import Graph, Phase, TensorType
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import addressed, image
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_links import follow, launches

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16

SHAPES: list[Shape] = [(3, 5), (2, 17, 4, 9), (1, 3, 1, 20_011), (2, 33, 2, 3, 7), (0, 3, 4, 4)]
"""No map at all, tails of channels and of rows, beyond a buffer, volumes, nothing."""


def _add(add_node: AddNode, graph: Graph, op: str, x: TensorType, numbers: DType) -> None:
    """Add a node whose statistics have dtype `numbers`."""
    channels = x.dims[1]
    assert channels is not None
    inputs = [x, *[TensorType(numbers, (channels,))] * 4]
    add_node(graph, op, inputs, [x], {"epsilon": 1e-3})


def test_statistics_of_each_channel(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("rows", Phase.TYPED)
    for at, (dtype, numbers) in enumerate(((F16, F32), (F32, F32), (BF16, F32), (F16, F16))):
        for shape in SHAPES:
            op = ("BNInfer", "BatchNorm")[at % 2]
            _add(add_node, graph, op, TensorType(dtype, shape), numbers)
    checked = verified(graph)
    assert len(checked) == len(SHAPES) * 4
    assert wrong(checked) == []
    assert {each.verdict.value for each in checked} == {"equal"}


def test_folded_numbers_of_each_channel(add_node: AddNode, verified: Verified) -> None:
    """In rows and in blocks, with PRelu of one slope in the launch."""
    graph = Graph("folded", Phase.TYPED)
    for dtype in (F16, F32, BF16):
        for x in (TensorType(dtype, (2, 17, 4, 9)), image(dtype, 2, 35, 5, 31)):
            numbers = replace(x, dims=(1, x.shape[1], 1, 1))
            norm = add_node(graph, "BNInferenceD", [x, numbers, numbers], [x])
            follow(graph, norm, "PRelu", ((1,),))
    assert launches(graph) == ["BNInferenceD+PRelu"] * 6
    checked = verified(graph)
    assert wrong(checked) == []
    assert {each.verdict.value for each in checked} == {"equal"}


def test_blocks_of_channels(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for dtype in (F16, F32):
        for shape in ((2, 35, 5, 31), (1, 16, 9, 300), (1, 3, 1, 1)):
            _add(add_node, graph, "BNInfer", image(dtype, *shape), F32)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
