"""Graphs whose parts wait for one another: inference is bounded, and right past the bound."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.diag.codes import BAD_MODEL, BAD_TENSOR
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.typing import infer, inference_model
from atc_py.onnx_graph.typing.type_rules import Override, Question, Refinement, type_rule
from tests.onnx_graph import onnx_files
from tests.onnx_graph.onnx_files import FLOAT, INT64, fails, model, source, without_rules

node = helper.make_node
COUNT = 40


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of nodes of each inference with data propagation on a whole graph."""
    sizes: list[int] = []
    original = inference_model.infer_shapes

    def counted(model: onnx.ModelProto | bytes, **options: bool) -> onnx.ModelProto:
        if isinstance(model, bytes) and options.get("data_prop"):
            sizes.append(len(onnx.ModelProto.FromString(model).graph.node))
        inferred: onnx.ModelProto = original(model, **options)
        return inferred

    monkeypatch.setattr(infer, "infer_shapes", counted)
    return sizes


def pool(x: str, y: str) -> onnx.NodeProto:
    """Return a pool that onnx's inference gets wrong: 4 windows where there are 3."""
    attributes: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}
    return node("MaxPool", [x], [y], pads=[1, 1, 1, 1], **attributes)


def test_corrections_side_by_side_take_one_more_inference(runs: list[int], tmp_path: Path) -> None:
    names = [f"y{at}" for at in range(COUNT)]
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 1, 9, 9])}
    proto = model([pool("x", name) for name in names], inputs, names)
    outputs = source(proto, tmp_path).outputs
    assert {value.shape for value in outputs} == {(1, 1, 4, 4)}
    assert len(runs) <= 2


def test_chain_past_the_bound_is_inferred_node_by_node(
    runs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atc_py.onnx_graph.graph.VISITS", 0)
    nodes = []
    for at in range(COUNT):  # each Slice waits until the window before it is known to be sound
        nodes += [
            node("LpPool", [f"v{at}"], [f"p{at}"], kernel_shape=[3, 3], pads=[1] * 4),
            node("Slice", [f"p{at}", "starts", "ends"], [f"v{at + 1}"]),
        ]
    weights = {"starts": np.array([0]), "ends": np.array([9])}
    proto = model(nodes, {"v0": (FLOAT, [1, 1, 9, 9])}, [f"v{COUNT}"], weights)
    assert source(proto, tmp_path).outputs[0].shape == (1, 1, 9, 9)
    assert len(runs) == 16


@pytest.fixture
def no_rules_of_sine() -> Iterator[None]:
    """Rules that a test adds for Sin are gone after it."""
    with without_rules("Sin"):
        yield


@pytest.mark.usefixtures("no_rules_of_sine")
@pytest.mark.parametrize("count", [1, COUNT])
def test_types_that_never_settle_end_inference(count: int, runs: list[int], tmp_path: Path) -> None:
    @type_rule("Sin")
    def _doubles(asked: Question) -> Override:
        return Override(asked.outputs(ValueType(TensorProto.DOUBLE, (2, 3))))

    @type_rule("Sin")
    def _halves(asked: Question) -> Refinement:
        return Refinement(asked.outputs(ValueType(TensorProto.FLOAT16, (2, 3))))

    nodes = [node("Sin", [f"v{at}"], [f"v{at + 1}"]) for at in range(count)]
    found = source(model(nodes, {"v0": (FLOAT, [2, 3])}, [f"v{count}"]), tmp_path)
    assert found.outputs[0].shape == (2, 3)
    assert len(runs) == count + 1  # a run settles a node, or nothing settles any more


@pytest.mark.parametrize("count", range(3))
def test_int8_by_float_weights_has_one_type_whatever_follows(
    count: int, runs: list[int], tmp_path: Path
) -> None:
    nodes = [node("ConvTranspose", ["x", "w"], ["v0"], auto_pad="SAME_UPPER", strides=[2, 2])]
    nodes += [node("Relu", [f"v{at}"], [f"v{at + 1}"]) for at in range(count)]
    inputs: onnx_files.Ports = {"x": (TensorProto.INT8, [1, 3, 8, 8])}
    weights = {"w": np.ones((3, 4, 2, 2), np.float32)}
    found = source(model(nodes, inputs, [f"v{count}"], weights), tmp_path).outputs[0]
    assert (found.shape, found.element) == ((1, 4, 16, 16), "float32")
    assert len(runs) <= 2


def test_branches_past_the_bound_carry_types_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atc_py.onnx_graph.folding.if_branches._FOLDINGS", 2)
    nodes = []
    for at in range(COUNT):
        graphs = {
            name: helper.make_graph(
                [node(op, [f"v{at}"], [f"{op}{at}"])],
                name,
                [],
                [helper.make_tensor_value_info(f"{op}{at}", FLOAT, None)],
            )
            for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))
        }
        nodes += [node("If", ["c"], [f"r{at}"], **graphs), node("Abs", [f"r{at}"], [f"v{at + 1}"])]
    inputs: onnx_files.Ports = {"v0": (FLOAT, [2, 3]), "c": (TensorProto.BOOL, [])}
    proto = model(nodes, inputs, [f"v{COUNT}"])
    assert source(proto, tmp_path).outputs[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ([7], "data of shape 2x3 cannot be reshaped to [7]"),
        ([-1, 4], "data of shape 2x3 cannot be reshaped to [-1, 4]"),
        ([2**62, 2**62, 4], "data of shape 2x3 cannot be reshaped"),
        ([-1, -1], "may have one -1"),
        ([-2, -3], "may have one -1"),
        ([1, 2, 3, 0], "keeps an axis that 2x3 does not have"),
    ],
)
def test_reshape_that_always_fails_is_refused(shape: list[int], said: str, tmp_path: Path) -> None:
    weights = {"s": np.array(shape)}
    proto = model([node("Reshape", ["x", "s"], ["y"])], {"x": (FLOAT, [2, 3])}, ["y"], weights)
    assert said in str(fails(lambda: source(proto, tmp_path), BAD_MODEL))


@pytest.mark.parametrize("shape", [[6], [-1], [0, -1], [3, 2], [1, 6], [2, 3, 1]])
def test_reshape_that_fits_is_let_through(shape: list[int], tmp_path: Path) -> None:
    weights = {"s": np.array(shape)}
    proto = model([node("Reshape", ["x", "s"], ["y"])], {"x": (FLOAT, [2, 3])}, ["y"], weights)
    assert np.prod(source(proto, tmp_path).outputs[0].shape) == 6


def test_input_larger_than_any_tensor_is_refused(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [2**40])}
    proto = model([node("Relu", ["x"], ["y"])], inputs, ["y"])
    assert "tensors have at most" in str(fails(lambda: source(proto, tmp_path), BAD_TENSOR))


def test_result_larger_than_any_tensor_is_refused(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [2**20, 1]), "z": (FLOAT, [2**20])}
    proto = model([node("Add", ["x", "z"], ["y"])], inputs, ["y"])
    assert "1048576x1048576" in str(fails(lambda: source(proto, tmp_path), BAD_TENSOR))


def test_branch_that_wants_inputs_is_refused(tmp_path: Path) -> None:
    branches = {
        name: helper.make_graph(
            [node("Relu", ["x"], [name])],
            name,
            [helper.make_tensor_value_info("x", FLOAT, [2])],
            [helper.make_tensor_value_info(name, FLOAT, [2])],
        )
        for name in ("then_branch", "else_branch")
    }
    inputs: onnx_files.Ports = {"x": (FLOAT, [2]), "c": (TensorProto.BOOL, [])}
    proto = model([node("If", ["c"], ["y"], **branches)], inputs, ["y"])
    error = fails(lambda: source(proto, tmp_path), BAD_MODEL, BAD_MODEL)
    assert "takes no inputs" in str(error)


def test_expand_to_negative_dims_is_refused(tmp_path: Path) -> None:
    weights = {"s": np.array([1, -1])}
    proto = model([node("Expand", ["x", "s"], ["y"])], {"x": (FLOAT, [1, 3])}, ["y"], weights)
    with pytest.raises(Exception, match=r"would have the dims \[1, -1\]"):
        source(proto, tmp_path)


def test_file_may_import_any_number_of_domains(tmp_path: Path) -> None:
    domains = {"": 13, **{f"own{at}": 1 for at in range(2000)}}
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 2]), "i": (INT64, [1, 2])}
    proto = model([node("Relu", ["x"], ["y"])], inputs, ["y"], opsets=domains)
    assert source(proto, tmp_path).outputs[0].shape == (1, 2)
