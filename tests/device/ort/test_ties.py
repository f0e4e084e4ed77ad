"""Sums at a tie: rounded either way where float32 leaves it open, and nowhere else."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, MemoryModel, ModelBuilder, run_model
from tests.device.ort import ties

TIE, LOST, CLEAR = 2.0**-11, 2.0**-24, 2.0**-12
"""Half of what separates 1 from the next float16, what float32 may lose beside 1, and less than half."""


def code_of_sums(*terms: float) -> tuple[MemoryModel, dict[str, Array]]:
    """Return a model of a transposed convolution whose sum becomes a code of 2^-10, and its data."""
    builder = ModelBuilder()
    data = np.array(terms, np.float16).reshape(1, -1, 1, 1)
    inputs = [
        builder.input("x", "float16", data.shape),
        builder.constant(np.ones((len(terms), 1, 1, 1), np.float16)),
    ]
    (total,) = builder.node(
        "Conv2DTransposeD",
        inputs,
        [("float16", (1, 1, 1, 1))],
        {
            "strides": [1, 1, 1, 1],
            "dilations": [1, 1, 1, 1],
            "pads": [0, 0, 0, 0],
            "output_padding": [0, 0, 0, 0],
            "input_size": [1, 1, 1, 1],
            "groups": 1,
        },
    )
    (code,) = builder.node(
        "AscendQuant", [total], [("int8", (1, 1, 1, 1))], {"scale": 1024.0, "offset": -1024.0}
    )
    builder.output("code", code)
    return builder.build(), {"x": data}


@pytest.mark.parametrize(
    ("terms", "least", "largest"),
    [
        ((1.0, TIE, -LOST), 1.0, 1 + 2 * TIE),
        ((1.0, TIE, LOST), 1.0, 1 + 2 * TIE),
        ((1.0, CLEAR), 1.0, 1.0),
        ((1.0, TIE, CLEAR), 1 + 2 * TIE, 1 + 2 * TIE),
        ((1.0, -1.0, LOST), -5 * LOST, 7 * LOST),
    ],
)
def test_float16_of_sums_is_open_near_ties_alone(
    terms: tuple[float, ...], least: float, largest: float
) -> None:
    model, feeds = code_of_sums(*terms)
    node = model.description.nodes[0]
    weights = np.ones((len(terms), 1, 1, 1), np.float16)
    low, high = ties.float16_sums(node, [feeds["x"], weights], weights[:1])
    assert (low.item(), high.item()) == (least, largest)


class _Neighbor:
    """onnxruntime that rounds every sum to the next float16."""

    def __init__(self, *_: object) -> None:
        pass

    def observe(self, feeds: dict[str, Array]) -> dict[int, Array]:
        exact = feeds["x"].astype(np.float64).sum()
        return {2: np.nextafter(np.float16(exact), np.float16(2)).reshape(1, 1, 1, 1)}


@pytest.mark.parametrize(("terms", "moved"), [((1.0, TIE), 1), ((1.0, CLEAR), 0)])
def test_code_follows_a_sum_at_a_tie_alone(
    terms: tuple[float, ...], moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, feeds = code_of_sums(*terms)
    expected = run_model(model, feeds)["code"]
    monkeypatch.setattr(ties, "OrtModel", _Neighbor)
    found = ties.run_at_ties(model, feeds)["code"]
    assert found.dtype == DType.INT8.numpy
    assert found - expected == moved
