"""The loss of a softmax on the host: what the simulator computes, with and without weights."""

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong

SHAPES: list[Shape] = [(7, 5), (2, 5, 3), (2, 3, 4, 5), (3, 1, 4), (3, 6, 1, 1), (0, 4)]
LONG: list[Shape] = [(2, 20_011), (2, 3, 20_011)]


def test_losses_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("losses", Phase.TYPED)
    forms = [
        (DType.FLOAT16, DType.INT32, "none", True, 2),
        (DType.FLOAT32, DType.INT64, "none", True, -1),
        (DType.FLOAT16, DType.INT64, "mean", True, 1),
        (DType.FLOAT32, DType.INT32, "sum", False, 0),
    ]
    for dtype, index, reduction, weighted, ignored in forms:
        for shape in SHAPES + LONG * (reduction == "none"):
            places = shape[:1] + shape[2:]
            inputs = [TensorType(dtype, shape), TensorType(index, places)]
            if weighted:
                inputs.append(TensorType(dtype, shape[1:2]))
            loss = TensorType(dtype, places if reduction == "none" else ())
            attributes: dict[str, AttrValue] = {"reduction": reduction, "ignore_index": ignored}
            add_node(graph, "SoftmaxCrossEntropyLoss", inputs, [loss, inputs[0]], attributes)
    checked = verified(graph)
    assert len(checked) == 4 * len(SHAPES) + 2 * len(LONG)
    assert wrong(checked) == []
