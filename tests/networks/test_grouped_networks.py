"""Grouped convolutions, one launch on the SoCs of CANN: the same numbers as split ones, byte by byte."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from tests.device.stored_models import assert_same_bits

BATCH, CHANNELS, SIDE, FILTERS = 2, 40, 9, 60
GROUPS = 5


def grouped_model(path: Path) -> None:
    """Write Conv of 5 groups, Relu, Conv of a group for each channel."""
    generator = np.random.default_rng(7)
    shapes = {"w": (FILTERS, CHANNELS // GROUPS, 3, 3), "b": (FILTERS,), "d": (FILTERS, 1, 3, 3)}
    weights = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    pads = [1, 1, 1, 1]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", group=GROUPS, pads=pads),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "d"], ["y"], name="deep", group=FILTERS, pads=pads),
    ]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, count, SIDE, SIDE])
        for name, count in (("x", CHANNELS), ("y", FILTERS))
    )
    graph = helper.make_graph(nodes, "grouped", [x], [y], weights)
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310", "Ascend310B1", "Ascend910B3"])
def test_groups_take_one_launch_and_keep_their_numbers(soc: str, tmp_path: Path) -> None:
    """Check Conv2D with groups on FRACTAL_Z(G), as CANN has it, against one for each group."""
    source = tmp_path / "grouped.onnx"
    grouped_model(source)
    split = atc_py.convert(source, tmp_path / "split.om", precision_mode="force_fp16")
    done = atc_py.convert(source, tmp_path / "whole.om", soc=soc, precision_mode="force_fp16")
    operators = Counter(done.facts.target_operators)
    assert (operators["Conv2D"], operators["SplitVD"], operators["ConcatD"]) == (1, 0, 0)
    assert done.facts.launches < split.facts.launches
    x = np.random.default_rng(1).standard_normal((BATCH, CHANNELS, SIDE, SIDE)).astype(np.float32)
    with (
        atc_py.load(tmp_path / "split.om") as one,
        atc_py.load(tmp_path / "whole.om") as other,
        atc_py.load(tmp_path / "whole.om", storage="exact") as exact,
    ):
        kinds = [tensor.storage for tensor in other.description.tensors if tensor.storage]
        assert {each.groups for each in kinds if each.format == "FRACTAL_Z"} == {GROUPS, FILTERS}
        whole = other.run({"x": x})
        assert_same_bits(whole, one.run({"x": x}))
        assert_same_bits(exact.run({"x": x}), whole)
