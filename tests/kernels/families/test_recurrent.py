"""Recurrent layers on the host: every direction, state, length and chunk of units."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, BF16, I32 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16, DType.INT32

SIZES = [(1, 1, 1, 1), (3, 2, 5, 7), (4, 9, 16, 33), (2, 1, 300, 40), (0, 2, 4, 4)]
"""Steps, sequences, elements and units: one of each, tails, more sequences than cores, nothing."""

CHUNKED = (2, 1, 3, 1_900)
"""More units than the unified buffer takes at once."""


def _lstm(sizes: tuple[int, ...], dtype: DType, given: str) -> list[TensorType | None]:
    """Return the inputs of a DynamicRNN; `given` names optional ones: l, h, c."""
    steps, batch, width, hidden = sizes
    state = TensorType(dtype, (1, batch, hidden))
    return [
        TensorType(dtype, (steps, batch, width)),
        TensorType(dtype, (width + hidden, 4 * hidden)),
        TensorType(dtype, (4 * hidden,)),
        TensorType(I32, (batch,)) if "l" in given else None,
        state if "h" in given else None,
        state if "c" in given else None,
    ]


def _gru(sizes: tuple[int, ...], dtype: DType, given: str) -> list[TensorType | None]:
    """Return the inputs of a DynamicGRUV2; `given` names optional ones: b, s (biases), l, h."""
    steps, batch, width, hidden = sizes
    bias = TensorType(dtype, (3 * hidden,))
    return [
        TensorType(dtype, (steps, batch, width)),
        TensorType(dtype, (width, 3 * hidden)),
        TensorType(dtype, (hidden, 3 * hidden)),
        bias if "b" in given else None,
        bias if "s" in given else None,
        TensorType(I32, (batch,)) if "l" in given else None,
        TensorType(dtype, (1, batch, hidden)) if "h" in given else None,
    ]


def _results(sizes: tuple[int, ...], dtype: DType, count: int) -> list[TensorType]:
    """Return as many results of each step."""
    steps, batch, _, hidden = sizes
    return [TensorType(dtype, (steps, batch, hidden))] * count


LSTMS = [(F16, "hc"), (F32, ""), (BF16, "h"), (F32, "lhc")]
GRUS = [(F16, "bsh"), (F32, ""), (BF16, "slh"), (F32, "bl")]
TURNS = sampled([0], [1])
"""Whether the first kind runs forward, or the second."""


@pytest.mark.parametrize("turn", TURNS)
def test_layers_of_lstm(add_node: AddNode, verified: Verified, turn: int) -> None:
    graph = Graph("lstm", Phase.TYPED)
    for number, (dtype, given) in enumerate(LSTMS):
        direction = ("UNIDIRECTIONAL", "REDIRECTIONAL")[(number + turn) % 2]
        attributes: dict[str, AttrValue] = {"direction": direction}
        attributes["forget_bias"] = 0.5 if "c" in given else 0.0
        for sizes in SIZES:
            inputs, outputs = _lstm(sizes, dtype, given), _results(sizes, dtype, 3)
            add_node(graph, "DynamicRNN", inputs, outputs, attributes)
    checked = verified(graph)
    assert len(checked) == len(LSTMS) * len(SIZES)
    assert wrong(checked) == []


@pytest.mark.parametrize("turn", TURNS)
def test_layers_of_gru(add_node: AddNode, verified: Verified, turn: int) -> None:
    graph = Graph("gru", Phase.TYPED)
    for number, (dtype, given) in enumerate(GRUS):
        after = (number + turn) % 2 == 0
        direction = "UNIDIRECTIONAL" if number < 2 else "REDIRECTIONAL"
        for sizes in SIZES:
            inputs, outputs = _gru(sizes, dtype, given), _results(sizes, dtype, 2)
            attributes: dict[str, AttrValue] = {"direction": direction, "reset_after": after}
            add_node(graph, "DynamicGRUV2", inputs, outputs, attributes)
    checked = verified(graph)
    assert len(checked) == len(GRUS) * len(SIZES)
    assert wrong(checked) == []


@pytest.mark.sweep
def test_units_beyond_a_buffer(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("chunks", Phase.TYPED)
    for dtype in (F16, F32):
        inputs, outputs = _lstm(CHUNKED, dtype, "hc"), _results(CHUNKED, dtype, 3)
        add_node(graph, "DynamicRNN", inputs, outputs)
        inputs, outputs = _gru(CHUNKED, dtype, "bsh"), _results(CHUNKED, dtype, 2)
        add_node(graph, "DynamicGRUV2", inputs, outputs, {"reset_after": dtype is F32})
    assert wrong(verified(graph)) == []
