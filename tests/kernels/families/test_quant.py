"""Quantization on the host: what the simulator computes, with words and with float16 factors."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32 = DType.FLOAT16, DType.FLOAT32
I8, I16, I32, U64 = DType.INT8, DType.INT16, DType.INT32, DType.UINT64
CHANNELS: list[tuple[Shape, int]] = [
    ((2, 5, 3, 7), 5), ((2, 5, 3, 7), 1), ((67, 31), 31), ((1, 40_009), 1), ((0, 5, 2, 2), 5),
]  # fmt: skip
"""Shapes with their number of factors: along axis 1, one for all, along the last axis."""


ROUNDINGS = ("Round", "Floor", "Ceil", "Trunc")


@pytest.mark.parametrize(
    ("sqrt_mode", "modes"),
    sampled([(False, ROUNDINGS), (True, ROUNDINGS[:1])], [(True, ROUNDINGS[1:])]),
)
def test_quant_and_anti_quant_agree(
    add_node: AddNode, verified: Verified, sqrt_mode: bool, modes: tuple[str, ...]
) -> None:
    graph = Graph("quant", Phase.TYPED)
    base: dict[str, AttrValue] = {"scale": 3.3, "offset": -2.0, "sqrt_mode": sqrt_mode}
    shape = (3, 5, 31)
    for x in (F16, F32):
        for y in (DType.INT4, I8, I16):
            for compute in (F16, F32):
                for mode in modes[: 1 if y is DType.INT4 else None]:
                    given: dict[str, AttrValue] = {
                        "round_mode": mode, "dst_type": y, "compute_type": compute,
                    }  # fmt: skip
                    types = [TensorType(x, shape)], [TensorType(y, shape)]
                    add_node(graph, "AscendQuant", *types, {**base, **given})
        for compute in (F16, F32):
            types = [TensorType(I8, shape)], [TensorType(x, shape)]
            own: dict[str, AttrValue] = {"dtype": x, "compute_type": compute}
            add_node(graph, "AscendAntiQuant", *types, {**base, **own})
    checked = verified(graph)
    assert len(checked) == 8 * len(modes) + 4 + 4
    assert wrong(checked) == []


def test_dequant_agrees_with_words_and_with_factors(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("dequant", Phase.TYPED)
    for shape, count in CHANNELS:
        for scale in (U64, F16):
            for y in (F16, F32):
                for relu in (False, True):
                    types = [TensorType(I32, shape), TensorType(scale, (count,))]
                    given: dict[str, AttrValue] = {"dtype": y, "relu_flag": relu}
                    add_node(graph, "AscendDequant", types, [TensorType(y, shape)], given)
    types = [TensorType(I32, (3, 7)), TensorType(F16, (1,))]
    given = {"dtype": F32, "sqrt_mode": True}
    add_node(graph, "AscendDequant", types, [TensorType(F32, (3, 7))], given)
    checked = verified(graph)
    assert len(checked) == 8 * len(CHANNELS) + 1
    assert wrong(checked) == []


def test_requant_agrees(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("requant", Phase.TYPED)
    for shape, count in CHANNELS:
        words = TensorType(U64, (count,))
        x32, x16, y = (TensorType(dtype, shape) for dtype in (I32, I16, I8))
        for relu in (False, True):
            flag: dict[str, AttrValue] = {"relu_flag": relu}
            add_node(graph, "AscendRequant", [x32, words], [y], flag)
            add_node(graph, "AscendRequantS16", [x16, words, x16], [y], flag)
            both = {**flag, "dual_output": True}
            add_node(graph, "AscendRequantS16", [x16, words], [y, x16], both)
            add_node(graph, "AscendDequantS16", [x32, words], [x16], flag)
            bias = TensorType(I16, (count,))
            add_node(graph, "AscendDequantS16", [x32, words, bias], [x16], flag)
    checked = verified(graph)
    assert len(checked) == 10 * len(CHANNELS)
    assert wrong(checked) == []
