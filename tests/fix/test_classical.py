"""Pipelines of ai.onnx.ml, as scikit-learn's converters write them, become models that the device runs."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import atc_py
from atc_py.fix.rules.classical import ml_case
from tests.fix.draws.classical import grown, leaf_values


def pipeline(path: Path) -> Path:
    """Write a Scaler and a forest of two classes, for any number of samples."""
    rng = np.random.default_rng(5)
    nodes, leaves = grown(rng, 3, "BRANCH_LEQ")
    forest = ml_case(
        "TreeEnsembleClassifier", classlabels_int64s=[3, 9], **nodes,
        **leaf_values(rng, leaves, "class", 1, positive=True),
    )  # fmt: skip
    domain = forest.domain
    scaler = helper.make_node("Scaler", ["x"], ["s"], domain=domain, offset=[1.0], scale=[0.5])
    trees = helper.make_node(
        forest.op_type, ["s"], ["label", "scores"], domain=domain, **forest.attributes
    )
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [scaler, trees], "pipeline", [info("x", 1, ["N", 3])],
        [info("label", 7, ["N"]), info("scores", 1, ["N", 2])],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid(domain, 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_pipeline_of_any_number_of_samples_runs_on_the_device(tmp_path: Path) -> None:
    done = atc_py.fix_model(
        pipeline(tmp_path / "m.onnx"), tmp_path / "f.onnx", input_shape={"x": [6, 3]}
    )
    assert done.errors == (2, 0)
    assert {rule for each in done.rewrites for rule in each.rules} == {
        "scaler-as-product",
        "tree-classifier-as-products",
    }
    assert done.target is not None
    assert done.target.outputs["scores"].error < 1e-2
    assert done.target.outputs["label"].error == 0
