"""ScaledMaskedSoftmax on the simulator: what a masked element counts as, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator
from tests.device.nodes import refusal

F16, F32 = DType.FLOAT16, DType.FLOAT32
MASK = np.array([[True, False, False, True], [True] * 4, [False] * 4])


def masked_softmax(x: Array, mask: Array, attributes: Attributes | None = None) -> Array:
    """Return the result, in the dtype of x."""
    types = [(DType.from_numpy(x.dtype), x.shape)]
    (y,) = run_operator("ScaledMaskedSoftmax", [x, mask], types, attributes)
    return y


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_masked_elements_get_nothing_and_masked_rows_are_uniform(dtype: type) -> None:
    x: Array = np.array([[9, 1, 2, 9], [1, 2, 3, 4], [1, 2, 3, 4]], dtype)
    y = masked_softmax(x, MASK, {"scale": 0.5})
    powers = np.exp(np.array([[1, 2, 3, 4]]) / 2)
    expected = np.stack([
        [0, 1 / (1 + np.exp(0.5)), 1 / (1 + np.exp(-0.5)), 0],
        [0.25] * 4,
        powers[0] / powers.sum(),
    ])  # fmt: skip
    np.testing.assert_allclose(y, expected, rtol=2.0**-11 if dtype == np.float16 else 1e-6)
    assert np.array_equal(y == 0, [[True, False, False, True], [False] * 4, [False] * 4])


def test_float16_scores_are_scaled_in_float32() -> None:
    """Check products of 65504 and 3: they do not overflow, and the result is rounded once."""
    x = np.array([[65504, 65504, -65504]], np.float16)
    y = masked_softmax(x, np.zeros((1, 3), bool), {"scale": 3.0})
    np.testing.assert_array_equal(y, np.array([[0.5, 0.5, 0]], np.float16))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_counts_only_where_nothing_hides_it(number: float) -> None:
    x = np.tile(np.array([number, 1, 2, number], np.float32), (2, 1))
    hidden = masked_softmax(x, MASK[:2])
    assert not np.isnan(hidden).any()
    np.testing.assert_allclose(hidden[1], 0.25)
    shown = masked_softmax(x, np.zeros((1, 4), bool))
    assert np.isnan(shown).all() == (number != -np.inf)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (2, 1, 1), (2, 3, 4)])
def test_masks_are_broadcast_to_the_scores(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(2)
    x, mask = random.normal(size=(2, 3, 4)).astype(np.float32), random.random(shape) < 0.5
    whole = np.broadcast_to(mask, x.shape).copy()
    np.testing.assert_array_equal(masked_softmax(x, np.asarray(mask)), masked_softmax(x, whole))


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 3)])
def test_nothing_gives_nothing(shape: tuple[int, ...]) -> None:
    assert masked_softmax(np.zeros(shape, np.float32), np.zeros(shape[-1:], bool)).shape == shape


REFUSALS: dict[str, tuple[Array, Array, Attributes, str]] = {
    "no float": (np.zeros(4, np.int32), np.zeros(4, bool), {}, "the kernel computes floats"),
    "no bool": (np.zeros(4, np.float32), np.zeros(4, np.uint8), {}, "mask must be bool"),
    "no axis": (np.zeros((), np.float32), np.zeros((), bool), {}, "x must have an axis"),
    "larger mask": (
        np.zeros((1, 4), np.float32), np.zeros((3, 4), bool), {}, "mask must be broadcast to"),
    "other mask": (np.zeros(4, np.float32), np.zeros(3, bool), {}, "4"),
    "mask to be made": (
        np.zeros(4, np.float32), np.zeros(4, bool), {"fixed_triu_mask": True}, "fixed_triu_mask"),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSALS)
def test_node_is_refused(reason: str) -> None:
    x, mask, attributes, message = REFUSALS[reason]
    types = [(DType.from_numpy(x.dtype), x.shape)]
    assert message in refusal("ScaledMaskedSoftmax", [x, mask], types, attributes)
