"""Outputs that TopK orders are compared as sets of rows."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py

# Scores that float32 tells apart and float16 does not.
CLOSE = np.array([[0.5, 0.50001, 0.75, 0.50002, 0.1, 0.2]], np.float32)
MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
detect (float[1, 6] scores, float[6, 4] boxes) => (float[1, 5] best, float[1, 5, 4] rows)
<int64[1] k = {5}> {
  best, at = TopK <axis=1> (scores, k)
  rows = Gather <axis=0> (boxes, at)
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_order_of_nearly_equal_scores_is_no_error_of_an_output(model: Path) -> None:
    boxes = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    done = atc_py.compare_model(
        model, inputs={"scores": CLOSE, "boxes": boxes}, precision_mode="force_fp16"
    )
    figures = {name: done.layers[at].figures for name, at in done.outputs.items()}
    assert figures["rows"].distance < 1e-3
    assert [each.code.id for each in done.warnings] == ["ATC7100"] * 2


def test_other_rows_stay_an_error() -> None:
    """A row that the original does not have is not hidden by the order of the others."""
    from atc_py.compare.row_order import RowOrder

    order = RowOrder(frozenset({"rows", "best"}), frozenset({5}))
    wanted = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
    found = wanted[:, [1, 0, 2, 3, 4]].copy()
    found[0, 4] = 99
    best = np.array([[5, 4, 3, 2, 1]], np.float32)
    moved = order.moved(
        {"rows": found, "best": best[:, [1, 0, 2, 3, 4]]}, {"rows": wanted, "best": best}
    )
    np.testing.assert_array_equal(moved["rows"][0, :4], wanted[0, :4])
    np.testing.assert_array_equal(moved["best"], best)
    assert (moved["rows"][0, 4] == 99).all()
    assert order.moved({"rows": wanted}, {"rows": wanted}) == {}
