"""Small networks on rows that are picked at run time: none, one, some, all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.graph import Net
from tests.sampling import alternating

Array = npt.NDArray[Any]

ROWS, WIDTH = 8, 6
COUNTS = (3, 0, 1, 8)


class Selection(Net):
    """A net with table `x` [8, 6], the positions `at` [n] where `keep` is not 0, and `rows`."""

    def __init__(self, opset: int) -> None:
        super().__init__("selection", opset)
        self.x = self.input("x", np.float32, [ROWS, WIDTH])
        self.keep = self.input("keep", np.float32, [ROWS])
        self.at = self.squeeze(self.op("NonZero", self.keep), 0)
        self.rows = self.op("Gather", self.x, self.at, axis=0)

    def boxes(self) -> str:
        """Return the rows as corners within a map of 8 by 8."""
        corners = self.op("Slice", self.rows, self.longs(0), self.longs(4), self.longs(1))
        near = self.op("Clip", self.op("Abs", corners), self.const(0.0), self.const(2.0))
        return self.op("Mul", near, self.const([1.0, 1.0, 3.0, 3.0]))

    def roi_align(self) -> str:
        """Return features of a region for each row, all of them in the first map."""
        maps = self.weights(1, 2, 8, 8)
        first = self.op("Mul", self.op("Cast", self.at, to=6), self.const(0, np.int32))
        image = self.op("Cast", first, to=7)
        sizes = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
        return self.op("RoiAlign", maps, self.boxes(), image, **sizes)

    def box_head(self) -> str:
        """Return averages of a convolution in each region: a second stage of a detector."""
        features = self.conv_bn_relu(self.roi_align(), (2, 4), 3)
        return self.op("Flatten", self.op("GlobalAveragePool", features))

    def sorted_rows(self) -> str:
        """Return the rows by their largest elements: as many as there are."""
        largest = self.op("ReduceMax", self.rows, axes=[1], keepdims=0)
        count = self.op("Reshape", self.op("Shape", self.at), self.longs(1))
        _, order = self.ops("TopK", largest, count, count=2, axis=0)
        return self.op("Gather", self.rows, order, axis=0)

    def self_attention(self) -> str:
        """Return softmax of the products of all rows with each other, times the rows."""
        products = self.op("MatMul", self.rows, self.op("Transpose", self.rows, perm=[1, 0]))
        return self.op("MatMul", self.op("Softmax", products, axis=1), self.rows)

    def branches(self) -> str:
        """Return the rows through a layer where there are more than two, else the whole table."""
        count = self.squeeze(self.op("Cast", self.op("Shape", self.at), to=1), 0)
        many, few = self.branch("many"), self.branch("few")
        many.output("many_rows", many.linear(self.rows, WIDTH, WIDTH), np.float32, ["n", WIDTH])
        few.output("few_rows", few.op("Neg", self.x), np.float32, [ROWS, WIDTH])
        return self.choose(self.op("Greater", count, self.const(2.0)), many, few)


FLOAT_FORMS: dict[str, tuple[Callable[[Selection], str], list[int | str]]] = {
    "column": (lambda s: s.op("Gather", s.rows, s.const(2, np.int64), axis=1), ["n"]),
    "classifier": (
        lambda s: s.op("Gemm", s.rows, s.weights(5, WIDTH), s.weights(5), transB=1),
        ["n", 5],
    ),
    "gemm with a column": (
        lambda s: s.op(
            "Gemm", s.rows, s.weights(WIDTH, 5), s.op("ReduceMean", s.rows, axes=[1]), beta=0.5
        ),
        ["n", 5],
    ),
    "layer norm": (lambda s: s.layer_norm(s.linear(s.rows, WIDTH, 4), 4), ["n", 4]),
    "log softmax": (lambda s: s.op("LogSoftmax", s.rows, axis=1), ["n", WIDTH]),
    "view": (lambda s: s.view(s.rows, s.dim(s.rows, 0), 3, 2), ["n", 3, 2]),
    "concat": (lambda s: s.op("Concat", s.rows, s.x, axis=0), ["n", WIDTH]),
    "scatter": (
        lambda s: s.op("ScatterND", s.x, s.unsqueeze(s.at, 1), s.op("Neg", s.rows)),
        [ROWS, WIDTH],
    ),
    "regions": (Selection.roi_align, ["n", 2, 2, 2]),
    "box head": (Selection.box_head, ["n", 4]),
    "slopes by channel": (lambda s: s.op("PRelu", s.rows, s.weights(WIDTH)), ["n", WIDTH]),
    "one slope": (lambda s: s.op("PRelu", s.rows, s.weights(1)), ["n", WIDTH]),
    "sorted": (Selection.sorted_rows, ["n", WIDTH]),
    "attention": (Selection.self_attention, ["n", WIDTH]),
    "branches": (Selection.branches, ["n", WIDTH]),
}
"""What is made of the rows, and its shape."""


def feeds(count: int) -> dict[str, Array]:
    """Return a table, and `count` rows of it to keep.

    Numbers are multiples of 1/64, so that float16 holds the regions that are made of them.
    """
    random = np.random.default_rng(count)
    keep = np.zeros(ROWS, np.float32)
    keep[random.permutation(ROWS)[:count]] = 1
    x = random.standard_normal((ROWS, WIDTH)) + np.arange(ROWS)[:, None]
    return {"x": (np.round(x * 64) / 64).astype(np.float32), "keep": keep}


@pytest.mark.parametrize("name", FLOAT_FORMS)
@pytest.mark.parametrize(("opset", "mode"), alternating([11, 13], FLOAT16_MODES))
def test_network_on_selected_rows_agrees_with_onnxruntime(
    name: str, opset: int, mode: str, tmp_path: Path
) -> None:
    net = Selection(opset)
    build, shape = FLOAT_FORMS[name]
    net.output("y", build(net), np.float32, shape)
    expect_agreement(net.model(), [feeds(count) for count in COUNTS], mode, tmp_path)


@pytest.mark.parametrize("opset", [11, 13])
def test_pairs_of_positions_agree_with_onnxruntime(opset: int, tmp_path: Path) -> None:
    """Check Unsqueeze of int64 and Concat, as stacking two vectors of indices exports."""
    net = Selection(opset)
    later = net.op("Add", net.at, net.const(1, np.int64))
    pairs = net.op("Concat", net.unsqueeze(net.at, 1), net.unsqueeze(later, 1), axis=1)
    net.output("pairs", pairs, np.int64, ["n", 2])
    runs = [feeds(count) for count in COUNTS]
    expect_agreement(net.model(), runs, "force_fp16", tmp_path)
