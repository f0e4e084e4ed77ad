"""The biggest wins of a model whose reasons are known, and what the passes are said to have found."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.compare.summary import SummaryOptions, summary_of
from atc_py.report.page.document import summary_document
from atc_py.report.page.wins import Win, biggest_wins
from atc_py.results.summary import ModelSummary

_RANDOM = np.random.default_rng(0)
NORMS = "fuse-conv-batch-norm"


def normalized_sums(*, after: str) -> onnx.ModelProto:
    """Return batch norms of large images after `Concat`, which keeps them apart, or after `Conv`."""
    dims = [1, 64, 128, 128]
    vectors = {f"b{at}": _RANDOM.uniform(0.5, 1, 64).astype(np.float32) for at in range(4)}
    if after == "Concat":
        half = [1, 32, 128, 128]
        nodes = [helper.make_node("Concat", ["x", "z"], ["c"], "joined", axis=1)]
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, half) for n in "xz"]
    else:
        vectors["w"] = _RANDOM.standard_normal((64, 64, 1, 1)).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "layer")]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    nodes += [
        helper.make_node("BatchNormalization", ["c", "b0", "b1", "b2", "b3"], ["n"], "norm"),
        helper.make_node("MaxPool", ["n"], ["y"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in vectors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def looked_at(model: onnx.ModelProto, folder: Path) -> ModelSummary:
    """Return what is known of a model without a comparison."""
    onnx.save(model, folder / "net.onnx")
    return summary_of(folder / "net.onnx", SummaryOptions(compares=False))


def wins_of(done: ModelSummary) -> list[Win]:
    """Return the biggest wins."""
    assert done.profile is not None
    assert done.compiled is not None
    return biggest_wins(done.profile.costs[0], done.compiled.report)


def test_batch_norm_after_concat_is_named_with_the_reason_of_its_pass(tmp_path: Path) -> None:
    done = looked_at(normalized_sums(after="Concat"), tmp_path)
    (win,) = [each for each in wins_of(done) if each.pass_name == NORMS]
    assert done.profile is not None
    cost = done.profile.costs[0]
    (kernel,) = [each for each in cost.kernels if each.name == win.node]
    share = kernel.cost.expected / cost.in_kernels
    assert kernel.op.startswith("BN")
    assert win.share == pytest.approx(share)
    english, chinese = win.text.en, win.text.zh
    assert english.startswith(f"{kernel.op} after ConcatD takes {share:.1%}: not fused by ")
    assert "must compute" in english
    assert english.endswith("found ConcatD")
    assert "ConcatD 之后的" in chinese
    assert "必须由" in chinese


def test_batch_norm_that_is_folded_is_no_win(tmp_path: Path) -> None:
    done = looked_at(normalized_sums(after="Conv"), tmp_path)
    assert not [each for each in wins_of(done) if each.pass_name == NORMS]


def test_kernel_of_several_operators_is_not_said_to_be_unfused(tmp_path: Path) -> None:
    done = looked_at(normalized_sums(after="Concat"), tmp_path)
    assert done.profile is not None
    cost = done.profile.costs[0]
    fused = {each.name for each in cost.kernels if "+" in each.op}
    assert not [each for each in wins_of(done) if each.pass_name and each.node in fused]


def test_page_lists_what_each_pass_found(tmp_path: Path) -> None:
    document: dict[str, Any] = summary_document(
        looked_at(normalized_sums(after="Concat"), tmp_path)
    )
    rows = {row[0]: row for row in document["fusions"]}
    matched, rewritten, at, why = rows[NORMS][2:]
    assert (matched, rewritten) == (0, 0)
    assert at in {row[0] for row in document["compiled"]["nodes"]}
    assert "found ConcatD" in why[0]
    assert "实际为 ConcatD" in why[1]
