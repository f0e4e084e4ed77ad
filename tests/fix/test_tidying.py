"""Tidying: forms that rules wrote side by side share what leads into and out of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.fix import engine
from atc_py.fix.tidy.known_equalities import Narrowed, Squeezed
from atc_py.fix.tidy.transparent_operators import carried
from atc_py.onnx_graph.source import SourceNode
from atc_py.results.fixing import Fixing
from atc_py.tensor.dtypes import DType
from tests.check.bound_nodes import tensor

pytestmark = pytest.mark.usefixtures("base_list")

node = helper.make_node
RNG = np.random.default_rng(3)


def weights(*dims: int) -> NDArray[np.float32]:
    return RNG.normal(size=dims).astype(np.float32)


CONSTANTS: Mapping[str, NDArray[Any]] = {
    "w3": weights(4, 4, 3),
    "w8": weights(4, 8, 1),
    "bias": weights(4, 1),
    "half": np.array(0.5, np.float32),
    "scale": np.ones(4, np.float32),
    "mean": weights(4),
    "pads": np.array([0, 0, 1, 0, 0, 2]),
    "slope": weights(4, 1),
    "starts": np.array([1]),
    "ends": np.array([9]),
    "axis": np.array([-1]),
}


def fix(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, ...]],
    **options: Any,
) -> tuple[Fixing, onnx.GraphProto]:
    """Write and fix a model of `nodes`, from inputs to y; return the record and what was written."""
    element = options.pop("element", TensorProto.FLOAT)
    constants = {**CONSTANTS, **options.pop("constants", {})}
    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        list(nodes),
        "m",
        [helper.make_tensor_value_info(name, element, dims) for name, dims in inputs.items()],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(each, name) for name, each in constants.items() if name in used],
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path / "m.onnx")
    done = atc_py.fix_model(path / "m.onnx", path / "fixed.onnx", **options)
    assert not done.left
    assert all(each.error < 1e-5 for each in done.outputs.values())
    assert all(each.difference is not None for each in done.rewrites)
    return done, onnx.load(path / "fixed.onnx").graph


def counts(graph: onnx.GraphProto, *operators: str) -> list[int]:
    found = Counter(each.op_type for each in graph.node)
    return [found[each] for each in operators]


CONV = node("Conv", ["x", "w3"], ["a"], "conv", pads=[1, 1])
END = node("Conv", ["b", "w3"], ["y"], "end")


@pytest.mark.parametrize(
    "between",
    [
        [node("Relu", ["a"], ["b"])],
        [node("Clip", ["a", "", "half"], ["b"])],
        [node("Add", ["a", "bias"], ["b"])],
        [node("PRelu", ["a", "slope"], ["b"])],
        [node("Add", ["a", "x"], ["b"])],
        [node("BatchNormalization", ["a", "scale", "mean", "mean", "scale"], ["b"])],
        [node("MaxPool", ["a"], ["b"], kernel_shape=[2], pads=[1, 0])],
        [node("AveragePool", ["a"], ["b"], kernel_shape=[3], strides=[2])],
        [node("Pad", ["a", "pads"], ["b"])],
        [node("Slice", ["a", "starts", "ends", "axis"], ["b"])],
        [node("Softmax", ["a"], ["b"], axis=-1)],
        [node("Softmax", ["a"], ["b"], axis=1)],
        [node("ReduceMean", ["a"], ["m"], axes=[2]), node("Sub", ["a", "m"], ["b"])],
        [node("Concat", ["a", "x"], ["c"], axis=1), node("Conv", ["c", "w8"], ["b"], "mid")],
        [node("Split", ["a"], ["c", "d"], axis=2), node("Mul", ["c", "d"], ["b"])],
        [node("Transpose", ["a"], ["c"], perm=[0, 2, 1]), node("Transpose", ["c"], ["d"], perm=[0, 2, 1]),
         node("Sigmoid", ["d"], ["b"])],
    ],
    ids=lambda each: "-".join(one.op_type for one in each),
)  # fmt: skip
def test_a_region_of_signals_is_entered_once_and_left_once(
    between: list[onnx.NodeProto], tmp_path: Path
) -> None:
    _, graph = fix(tmp_path, [CONV, *between, END], {"x": (1, 4, 16)})
    assert counts(graph, "Unsqueeze", "Squeeze") == [1, 1]


def test_a_constant_that_needs_no_other_dims_stays_itself(tmp_path: Path) -> None:
    _, graph = fix(tmp_path, [CONV, node("Mul", ["a", "half"], ["b"]), END], {"x": (1, 4, 16)})
    assert [each.name for each in graph.initializer if each.name.startswith("half")] == ["half"]


def test_what_the_file_has_stays(tmp_path: Path) -> None:
    """Pairs of the file itself stay, and so do nodes that lead to no other form."""
    axis = {"one": np.array([2])}
    nodes = [
        node("Unsqueeze", ["x", "one"], ["u"]),
        node("Squeeze", ["u", "one"], ["s"]),
        node("Conv", ["s", "w3"], ["a"], "conv"),
        node("Relu", ["a"], ["b"], "relu"),
        node("Unsqueeze", ["b", "one"], ["v"]),
        node("Squeeze", ["v", "one"], ["y"]),
    ]
    _, graph = fix(tmp_path, nodes, {"x": (1, 4, 16)}, constants=axis)
    assert counts(graph, "Unsqueeze", "Squeeze") == [3, 3]
    assert {"u", "s", "a", "b", "v", "y"} <= {name for each in graph.node for name in each.output}


def test_a_chain_of_narrowed_integers_is_cast_once_each_way(tmp_path: Path) -> None:
    nodes = [
        node("Sub", ["x", "one"], ["a"]),
        node("Reshape", ["a", "flat"], ["b"]),
        node("Max", ["b", "two"], ["c"]),
        node("Mul", ["c", "c"], ["y"]),
    ]
    numbers = {"one": np.array([1]), "two": np.array([2]), "flat": np.array([6])}
    options = {"element": TensorProto.INT64, "constants": numbers, "ranges": {"x": (0, 99)}}
    done, graph = fix(tmp_path, nodes, {"x": (2, 3)}, **options)
    assert counts(graph, "Cast") == [2]
    assert all(each.differing == 0 for each in done.outputs.values())


def test_results_that_others_read_are_still_there(tmp_path: Path) -> None:
    nodes = [
        CONV,
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "w3"], ["c"]),
        node("GlobalAveragePool", ["c"], ["g"]),
        node("MatMul", ["g", "row"], ["h"]),
        node("ReduceSum", ["b"], ["s"], keepdims=0),
        node("Add", ["h", "s"], ["y"]),
    ]
    _, graph = fix(tmp_path, nodes, {"x": (1, 4, 16)}, constants={"row": weights(1, 3)})
    assert counts(graph, "Unsqueeze") == [1]
    assert "b" in {name for each in graph.node for name in each.output}


def test_a_form_that_the_list_refuses_is_not_tidied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that the list takes as it is stays so where its twin is refused."""
    refusals = engine.Fixer._refused

    def refuse_images(self: Any, model: Any, checked: Any) -> Any:
        yield from refusals(self, model, checked)
        for each in model.nodes:
            if each.op_type == "Relu" and len(each.inputs[0].dims) > 3:
                yield each

    monkeypatch.setattr(engine.Fixer, "_refused", refuse_images)
    _, graph = fix(tmp_path, [CONV, node("Relu", ["a"], ["b"]), END], {"x": (1, 4, 16)})
    assert counts(graph, "Unsqueeze", "Squeeze") == [2, 2]


def test_constants_beside_narrow_twins_are_those_that_int32_holds() -> None:
    twins = Narrowed(DType.INT64)
    ends = np.array([-(2**31), 2**31 - 1])
    for held in (ends, ends[:0]):
        operand = twins.operand(held, 1)
        assert operand is not None
        assert operand.tolist() == held.tolist()
    assert twins.operand(ends + 1, 1) is None
    assert twins.operand(ends - 1, 1) is None


def test_operators_of_other_domains_are_not_carried() -> None:
    for domain, is_carried in (("", True), ("own", False)):
        relu = SourceNode(0, "n", "Relu", domain, 13, 13, (tensor(2, 1, 3),), (tensor(2, 1, 3),))
        assert (carried(relu, Squeezed(1)) is not None) is is_carried
