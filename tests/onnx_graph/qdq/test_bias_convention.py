"""How it is found out whether biases have the offset of the data in them, and how it is marked."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.onnx_graph.reading.onnx_file import MARK, bias_convention
from atc_py.onnx_graph.source import BiasSource
from atc_py.options.compile_options import QuantBias
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import layer_model, rewritten, words
from tests.onnx_graph.qdq.test_quantized_round_trips import quantized_network

FOLDED, UNFOLDED = QuantBias.FOLDED, QuantBias.UNFOLDED
node = helper.make_node


def deploy(producer: str = "", mark: str | None = None) -> onnx.ModelProto:
    """Return a model in the deploy form with metadata."""
    layer = node("MatMul", ["q", "w"], ["sum"])
    proto = layer_model(layer, {"w": np.ones((3, 2), np.int8)}, [2, 3], [0.5])
    proto.producer_name = producer
    if mark is not None:
        proto.metadata_props.add(key=MARK, value=mark)
    return proto


@pytest.mark.parametrize(
    ("proto", "form", "source"),
    [
        (deploy(), UNFOLDED, BiasSource.ASSUMED),
        (deploy("pytorch"), UNFOLDED, BiasSource.ASSUMED),
        (deploy("atc-py"), FOLDED, BiasSource.PRODUCER),
        (deploy("atc-py", "unfolded"), UNFOLDED, BiasSource.MARK),
        (deploy("other", "unfolded"), UNFOLDED, BiasSource.MARK),
        (deploy("other", "folded"), FOLDED, BiasSource.MARK),
        (deploy("other", "elsewhere"), UNFOLDED, BiasSource.ASSUMED),
        (deploy("atc-py", "elsewhere"), FOLDED, BiasSource.PRODUCER),
    ],
)
def test_the_file_says_it_as_far_as_it_can(
    proto: onnx.ModelProto, form: QuantBias, source: BiasSource
) -> None:
    found = bias_convention(proto)
    assert found is not None
    assert (found.form, found.source) == (form, source)
    for asked in QuantBias:
        reported = bias_convention(proto, asked)
        assert reported is not None
        assert (reported.form, reported.source) == (asked, BiasSource.OPTION)


def test_other_models_have_none() -> None:
    assert bias_convention(quantized_network(signed=True)) is None
    assert bias_convention(quantized_network(signed=True), FOLDED) is None


def test_it_is_found_in_branches_too() -> None:
    branches = {
        name: helper.make_graph(
            [node("AscendQuant", ["x"], [f"{name}/q"], scale=1.0, offset=0.0)],
            name,
            [],
            [onnx.ValueInfoProto(name=f"{name}/q")],
        )
        for name in ("then_branch", "else_branch")
    }
    nodes = [node("If", ["flag"], ["y"], "choice", **branches)]
    ports = {"x": (onnx_files.FLOAT, [2, 3]), "flag": (onnx.TensorProto.BOOL, [])}
    assert bias_convention(onnx_files.model(nodes, ports, ["y"])) is not None


def marks(proto: onnx.ModelProto) -> dict[str, str]:
    """Return the metadata."""
    return {each.key: each.value for each in proto.metadata_props}


def test_what_is_written_is_marked_and_what_goes_back_is_not(tmp_path: Path) -> None:
    first = quantized_network(signed=True)
    first.metadata_props.add(key="author", value="somebody")
    written = rewritten(first, tmp_path, "ascend", "first")
    assert marks(written) == {"author": "somebody", MARK: "unfolded"}
    assert written.producer_name == "atc-py"
    back = rewritten(written, tmp_path, "qdq", "written")
    assert marks(back) == {"author": "somebody"}


def mixed(mark: str) -> onnx.ModelProto:
    """Return a layer that is int8 already, and one in the QDQ form after it."""
    proto = deploy("other", mark)
    if mark == "folded":  # -3 is the offset of the data
        layer = proto.graph.node[1]
        layer.output[0] = "product"
        proto.graph.node.insert(2, node("Add", ["product", "b"], ["sum"]))
        bias = np.full(2, 3 * 3, np.int32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(bias, "b"))
    consts = {"s": np.float32(0.1), "z": np.int8(5), "v": np.ones((2, 4), np.int8)}
    proto.graph.node.extend(
        [
            node("QuantizeLinear", ["y", "s", "z"], ["p"]),
            node("DequantizeLinear", ["p", "s", "z"], ["r"]),
            node("DequantizeLinear", ["v", "s"], ["t"]),
            node("MatMul", ["r", "t"], ["last"]),
        ]
    )
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in consts.items()
    )
    proto.graph.output[0].name = "last"
    return proto


@pytest.mark.parametrize(("mark", "biases"), [("unfolded", 0), ("folded", 1)])
def test_new_layers_are_written_by_the_convention_of_those_that_are_there(
    mark: str, biases: int, tmp_path: Path
) -> None:
    found = rewritten(mixed(mark), tmp_path, "ascend")
    assert marks(found)[MARK] == mark
    operators = [each.op_type for each in found.graph.node]
    assert operators.count("AscendDequant") == 2
    assert operators.count("Add") == 2 * biases


def test_both_conventions_of_such_a_model_give_the_same(tmp_path: Path) -> None:
    data = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32) * 4
    found = {}
    for mark in ("unfolded", "folded"):
        proto = mixed(mark)
        for name, made in (("plain", proto), ("written", rewritten(proto, tmp_path, "ascend"))):
            path = onnx_files.save(made, tmp_path)
            atc_py.convert(path, tmp_path / "model.om")
            with atc_py.load(tmp_path / "model.om") as model:
                found[mark, name] = model.run({"x": data})["last"].tolist()
    assert len({str(each) for each in found.values()}) == 1
    assert np.abs(found["unfolded", "plain"]).max() > 0.5


def test_a_round_trip_unfolds_what_was_folded(tmp_path: Path) -> None:
    w = np.arange(12).reshape(4, 3).astype(np.int8)
    sums = w.astype(int).sum(axis=1)
    layer = node("Gemm", ["q", "w", "b"], ["sum"], transB=1)
    consts = {"w": w, "b": (7 - -3 * sums).astype(np.int32)}  # -3 is the offset of the data
    old = layer_model(layer, consts, [2, 3], [0.5])
    old.producer_name = "atc-py"
    back = rewritten(old, tmp_path, "qdq", "old")
    new = rewritten(back, tmp_path, "ascend", "back")
    held = {each.name: onnx.numpy_helper.to_array(each) for each in new.graph.initializer}
    (bias,) = (array for array in held.values() if array.dtype == np.int32)
    assert bias.tolist() == [7] * 4
    assert any((array == words([0.5])).all() for array in held.values() if array.dtype == np.uint64)
