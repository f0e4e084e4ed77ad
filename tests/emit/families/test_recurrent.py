"""Recurrent layers on the host: every direction, state, length and chunk of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.emit.families.conftest import wrong

if TYPE_CHECKING:
    from tests.emit.conftest import AddNode
    from tests.emit.families.conftest import Verified

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


@pytest.mark.parametrize("direction", ["UNIDIRECTIONAL", "REDIRECTIONAL"])
def test_layers_of_lstm(add_node: AddNode, verified: Verified, direction: str) -> None:
    graph = Graph("lstm", Phase.TYPED)
    for dtype, given in ((F16, "hc"), (F32, ""), (BF16, "h"), (F32, "lhc")):
        for sizes in SIZES:
            attributes = {"direction": direction, "forget_bias": 0.5 if "c" in given else 0.0}
            inputs, outputs = _lstm(sizes, dtype, given), _results(sizes, dtype, 3)
            add_node(graph, "DynamicRNN", inputs, outputs, attributes)
    checked = verified(graph)
    assert len(checked) == 4 * len(SIZES)
    assert wrong(checked) == []


@pytest.mark.parametrize("after", [True, False])
def test_layers_of_gru(add_node: AddNode, verified: Verified, *, after: bool) -> None:
    graph = Graph("gru", Phase.TYPED)
    turned = "REDIRECTIONAL" if after else "UNIDIRECTIONAL"
    for dtype, given in ((F16, "bsh"), (F32, ""), (BF16, "slh"), (F32, "bl")):
        for sizes in SIZES:
            attributes = {"direction": turned, "reset_after": after}
            inputs, outputs = _gru(sizes, dtype, given), _results(sizes, dtype, 2)
            add_node(graph, "DynamicGRUV2", inputs, outputs, attributes)
    checked = verified(graph)
    assert len(checked) == 4 * len(SIZES)
    assert wrong(checked) == []


def test_units_beyond_a_buffer(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("chunks", Phase.TYPED)
    inputs, outputs = _gru(CHUNKED, F16, "bsh"), _results(CHUNKED, F16, 2)
    add_node(graph, "DynamicGRUV2", inputs, outputs, {"reset_after": False})
    assert wrong(verified(graph)) == []


@pytest.mark.sweep
def test_units_beyond_a_buffer_of_both_cells(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("chunks", Phase.TYPED)
    for dtype in (F16, F32):
        inputs, outputs = _lstm(CHUNKED, dtype, "hc"), _results(CHUNKED, dtype, 3)
        add_node(graph, "DynamicRNN", inputs, outputs)
        inputs, outputs = _gru(CHUNKED, dtype, "bsh"), _results(CHUNKED, dtype, 2)
        add_node(graph, "DynamicGRUV2", inputs, outputs)
    assert wrong(verified(graph)) == []
