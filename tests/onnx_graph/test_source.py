"""From file to source model: structure, types, diagnostics, and whole networks."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag.codes import (
    BAD_MODEL,
    BAD_TENSOR,
    NOT_ONNX,
    UNKNOWN_SHAPE,
    UNSUPPORTED_FORM,
)
from atc_py.ir import DenseConst
from atc_py.onnx_graph.reading.read import read_model
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import OpenShapeError
from tests.onnx_graph import onnx_files
from tests.sampling import some

node = helper.make_node
FLOAT = onnx_files.FLOAT
X = {"x": (FLOAT, [2, 3])}


def test_nodes_carry_what_the_file_says(tmp_path: Path) -> None:
    table = numpy_helper.from_array(np.arange(3, dtype=np.float32))
    nodes = [
        node("Own", ["x", "", "w"], ["a"], "n0", domain="own", i=3, f=0.5, s="hi", ints=[1, 2],
             floats=[0.5], strings=["a", "b"], table=table),
        node("Relu", ["a"], ["y"], domain="ai.onnx"),
    ]  # fmt: skip
    proto = onnx_files.model(nodes, X, ["y"], {"w": np.ones(2, np.int8)}, {"ai.onnx": 12, "own": 4})
    proto.graph.value_info.append(helper.make_tensor_value_info("a", FLOAT, [2, 3]))
    model = onnx_files.source(proto, tmp_path)
    assert model.opsets == {"": 12, "own": 4}
    assert (model.name, model.path, model.weight_bytes) == ("graph", tmp_path / "model.onnx", 2)
    own, relu = model.nodes
    assert (own.index, own.name, own.op_type) == (0, "n0", "Own")
    assert (own.domain, own.opset, own.since_version) == ("own", 4, 1)
    assert [value.name if value else None for value in own.inputs] == ["x", None, "w"]
    weight = own.inputs[2]
    assert weight is not None
    assert (weight.dtype, weight.shape) == (DType.INT8, (2,))
    attributes = dict(own.attributes)
    stored = attributes.pop("table")
    assert isinstance(stored, DenseConst)
    assert stored.numpy().tolist() == [0, 1, 2]
    assert attributes == {
        "i": 3, "f": 0.5, "s": "hi", "ints": (1, 2), "floats": (0.5,), "strings": ("a", "b"),
    }  # fmt: skip
    assert (relu.domain, relu.opset, relu.since_version) == ("", 12, 6)
    assert relu.inputs == own.outputs
    assert relu.outputs == model.outputs


def test_weight_bytes_count_constants_and_not_repeated_values(tmp_path: Path) -> None:
    nodes = [
        node("Constant", [], ["k"], value=numpy_helper.from_array(np.ones(3, np.float16))),
        node("ConstantOfShape", ["s"], ["z"]),
        node("Add", ["x", "z"], ["y"]),
        node("Relu", ["x"], ["dead"]),
    ]
    proto = onnx_files.model(nodes, X, ["y"], {"s": np.array([100, 2, 3])})
    assert onnx_files.source(proto, tmp_path).weight_bytes == 6 + 24


def test_nodes_out_of_order_are_sorted(tmp_path: Path) -> None:
    nodes = [node("Relu", ["a"], ["y"]), node("Neg", ["b"], ["a"]), node("Abs", ["x"], ["b"])]
    model = onnx_files.source(onnx_files.model(nodes, X, ["y"]), tmp_path)
    assert [(each.index, each.op_type) for each in model.nodes] == [
        (2, "Abs"),
        (1, "Neg"),
        (0, "Relu"),
    ]


def test_long_chain_out_of_order_is_sorted_without_recursion(tmp_path: Path) -> None:
    nodes = [node("Relu", [f"v{at}"], [f"v{at + 1}"]) for at in range(3000)]
    proto = onnx_files.model(nodes[::-1], {"v0": (FLOAT, [1])}, ["v3000"])
    assert len(onnx_files.source(proto, tmp_path).nodes) == 3000


def test_graph_input_and_constant_may_be_outputs(tmp_path: Path) -> None:
    nodes = [node("Identity", ["w"], ["k"])]
    proto = onnx_files.model(nodes, X, ["x", "k", "w"], {"w": np.ones(2, np.float32)})
    model = onnx_files.source(proto, tmp_path)
    assert model.outputs[0] is model.inputs[0]
    assert [value.const is None for value in model.outputs] == [True, False, False]


def test_optional_output_that_nobody_uses_is_absent(tmp_path: Path) -> None:
    nodes = [
        node("Dropout", ["x"], ["d", "mask"]),
        node("Split", ["d"], ["y", "rest"], axis=1),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 4])}, ["y"])
    dropout, split = onnx_files.source(proto, tmp_path).nodes
    assert [each and each.name for each in dropout.outputs] == ["d", None]
    assert [value.shape if value else None for value in split.outputs] == [(2, 2), (2, 2)]
    proto.graph.output.add(name="mask")
    assert len(onnx_files.source(proto, tmp_path).nodes[0].outputs) == 2


def test_stale_types_of_the_file_are_not_used(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, ["N", 3])}, ["y"])
    stale = helper.make_tensor_value_info("a", FLOAT, [1, 3])
    proto.graph.value_info.append(stale)
    proto.graph.output[0].type.CopyFrom(stale.type)
    model = onnx_files.source(proto, tmp_path, {"x": (8, 3)})
    assert [each.outputs[0].shape for each in model.nodes if each.outputs[0]] == [(8, 3), (8, 3)]


def broken(nodes: list[onnx.NodeProto], outputs: list[str], folder: Path) -> Path:
    weights = {"w": np.ones(3, np.float32)}
    return onnx_files.save(onnx_files.model(nodes, X, outputs, weights), folder)


def test_values_without_producer_are_all_reported(tmp_path: Path) -> None:
    path = broken([node("Add", ["x", "gone"], ["a"], "add"), node("Relu", ["lost"], ["y"])],
                  ["y", "never"], tmp_path)  # fmt: skip
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL, BAD_MODEL, BAD_MODEL)
    assert [finding.message for finding in error.diagnostics] == [
        "nothing produces its input 'gone'",
        "nothing produces its input 'lost'",
        "nothing produces the graph output 'never'",
    ]
    assert str(error.diagnostics[0].place) == f'{path}: node 0 "add" (Add)'


def test_value_missing_in_a_subgraph_is_reported(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [node("Add", ["x", "gone"], ["a"])], "g", [], [onnx.ValueInfoProto(name="a")]
    )
    path = broken([node("If", ["x"], ["y"], then_branch=graph, else_branch=graph)], ["y"], tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL)
    assert "'gone'" in str(error)


@pytest.mark.parametrize("name", ["a", "x", "w"])
def test_second_producer_is_reported(name: str, tmp_path: Path) -> None:
    path = broken([node("Relu", ["x"], ["a"]), node("Neg", ["x"], [name])], ["a"], tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL)
    assert f"it produces {name!r}, which" in str(error)


def test_names_declared_twice_are_reported(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Add", ["x", "w"], ["y"])], X, ["y"], {"w": np.ones(3)})
    proto.graph.initializer.append(proto.graph.initializer[0])
    proto.graph.input.append(proto.graph.input[0])
    path = onnx_files.save(proto, tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL, BAD_MODEL)
    assert "the input 'x' is declared 2 times" in str(error)
    assert "the initializer 'w' is declared 2 times" in str(error)


def test_input_without_a_name_is_reported(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], {**X, "": (FLOAT, [2])}, ["y"])
    error = onnx_files.fails(lambda: read_model(onnx_files.save(proto, tmp_path)), BAD_MODEL)
    assert "a tensor must have a name" in str(error)


def test_cycle_is_reported(tmp_path: Path) -> None:
    path = broken(
        [node("Relu", ["x"], ["y"]), node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"])],
        ["y"],
        tmp_path,
    )
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL)
    assert "cycle" in str(error)


def test_node_without_operator_is_reported(tmp_path: Path) -> None:
    path = broken([node("", ["x"], ["y"])], ["y"], tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_MODEL)


@pytest.mark.parametrize("versions", [[0], [-1], [2**40], [12, 13]])
def test_bad_opset_imports_are_refused(versions: list[int], tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"])
    proto.ClearField("opset_import")
    for version, domain in zip(versions, ["", "ai.onnx"], strict=False):
        proto.opset_import.add(domain=domain, version=version)
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_MODEL)


def test_attributes_without_plain_form_are_all_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "atc_py.onnx_graph.reading.read.broken_nodes", lambda _: {}
    )  # any name goes
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"])
    add = proto.graph.node[0].attribute.add
    add(name="type", type="TYPE_PROTO")
    add(name="undefined")
    add(name="ref", type="INT", ref_attr_name="outer")
    add(name="text", type="STRING", s=b"\xff")
    add(name="twice", type="INT", i=1)
    add(name="twice", type="INT", i=2)
    add(name="tensor", type="TENSOR").t.data_type = TensorProto.STRING
    add(name="graph", type="GRAPH")
    error = onnx_files.fails(
        lambda: onnx_files.source(proto, tmp_path),
        *([BAD_MODEL] * 5),
        BAD_TENSOR,
        UNSUPPORTED_FORM,
    )
    assert "the attribute 'type' is of type type_proto" in str(error)


def test_attribute_tensor_with_bad_data_is_reported(tmp_path: Path) -> None:
    bad = TensorProto(data_type=1, dims=[5], float_data=[1])
    nodes = [node("Constant", [], ["k"], value=bad), node("Add", ["x", "k"], ["y"])]
    path = onnx_files.save(onnx_files.model(nodes, X, ["y"]), tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_TENSOR)
    assert error.diagnostics[0].place is not None
    assert error.diagnostics[0].place.op_type == "Constant"


def test_shapes_that_contradict_each_other_are_all_reported(tmp_path: Path) -> None:
    nodes = [
        node("Add", ["x", "w"], ["a"], "add"),
        node("Relu", ["a"], ["y"]),
        node("MatMul", ["x", "x"], ["z"], "mul"),
    ]
    proto = onnx_files.model(nodes, X, ["y", "z"], {"w": np.ones(5, np.float32)})
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_MODEL, BAD_MODEL)
    places = [finding.place for finding in error.diagnostics]
    assert [place.node_name if place else None for place in places] == ["add", "mul"]
    assert "Incompatible dimensions" in error.diagnostics[0].message


def test_unknown_shapes_are_reported_where_they_begin(tmp_path: Path) -> None:
    nodes = [
        node("Reshape", ["x", "s"], ["a"], "first"),
        node("Cast", ["a"], ["b"], to=FLOAT),
        node("Own", ["x"], ["c"], "own", domain="own"),
        node("NonZero", ["x"], ["dead"]),
    ]
    nodes.insert(0, node("NonZero", ["x"], ["n"]))
    nodes.insert(1, node("Gather", ["n", "zero"], ["s"], axis=0))
    zero = {"zero": np.array(0)}
    proto = onnx_files.model(nodes, X, ["b", "c"], zero)
    error = onnx_files.fails(
        lambda: onnx_files.source(proto, tmp_path), UNKNOWN_SHAPE, UNKNOWN_SHAPE
    )
    first, own = error.diagnostics
    assert first.message == "the number of axes of its output 'a' is not known"
    assert "element type and shape of its output 'c'" in own.message
    assert "value_info" in str(own.help)


def test_dims_that_only_the_run_knows_are_open(tmp_path: Path) -> None:
    nodes = [node("NonZero", ["x"], ["a"]), node("Cast", ["a"], ["b"], to=FLOAT)]
    model = onnx_files.source(onnx_files.model(nodes, X, ["b"]), tmp_path)
    assert model.outputs[0].dims == (2, None)
    with pytest.raises(OpenShapeError, match="2x\\?"):
        _ = model.outputs[0].shape


def test_branches_of_if_are_graphs_of_their_own(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [node("Neg", ["x"], ["n"])], "g", [], [helper.make_tensor_value_info("n", FLOAT, None)]
    )
    nodes = [node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)]
    inputs = {**X, "c": (TensorProto.BOOL, [1])}
    proto = onnx_files.model(nodes, inputs, ["y"])
    folded = read_model(onnx_files.save(proto, tmp_path)).fold({})
    assert [each.op_type for each in folded.source.all_nodes] == ["If", "Neg", "Neg"]
    model = folded.to_source()
    (choice,) = model.nodes
    assert sorted(choice.branches) == ["else_branch", "then_branch"]
    for branch in choice.branches.values():
        (negated,) = branch.nodes
        assert negated.inputs == (model.inputs[0],)
        assert branch.outputs == negated.outputs


def test_loops_are_reported(tmp_path: Path) -> None:
    outputs = [helper.make_tensor_value_info("go", TensorProto.BOOL, [])]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    body = helper.make_graph([node("Identity", ["c"], ["go"])], "g", inputs, outputs)
    carried = helper.make_tensor_value_info("t", FLOAT, [2])
    body.node.append(node("Constant", [], ["t"], value_floats=[1.0, 2.0]))
    body.output.append(carried)
    proto = onnx_files.model(
        [node("Loop", ["", "c"], ["y"], body=body)], {"c": (TensorProto.BOOL, [])}, ["y"]
    )
    onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), UNSUPPORTED_FORM)


def test_operators_in_use_are_known_before_types_are_inferred(tmp_path: Path) -> None:
    nodes = [node("Own", ["x"], ["a"], "n0", domain="own"), node("Gelu", ["a"], ["y"])]
    path = onnx_files.save(onnx_files.model(nodes, X, ["y"]), tmp_path)
    views = read_model(path).fold({}).source.nodes
    assert [(n.index, n.name, n.op_type, n.opset, n.since_version) for n in views] == [
        (0, "n0", "Own", 0, 1),
        (1, "", "Gelu", 13, 1),
    ]


def test_functions_of_the_model_are_put_in(tmp_path: Path) -> None:
    imports = [helper.make_opsetid("", 13)]
    body = [node("Relu", ["p"], ["t"]), node("Neg", ["t"], ["q"])]
    function = helper.make_function("own", "Twist", ["p"], ["q"], body, imports)
    proto = onnx_files.model(
        [node("Twist", ["x"], ["y"], domain="own")], X, ["y"], opsets={"": 13, "own": 1}
    )
    proto.functions.append(function)
    model = onnx_files.source(proto, tmp_path)
    assert [each.op_type for each in model.nodes] == ["Relu", "Neg"]
    assert model.file_nodes == 1


def test_model_before_opsets_is_of_opset_one(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"], ir_version=2)
    proto.ClearField("opset_import")
    assert read_model(onnx_files.save(proto, tmp_path)).opsets == {"": 1}
    proto.ir_version = 3
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), NOT_ONNX)


@pytest.mark.parametrize(
    "path", some(sorted(onnx_files.LIGHT.glob("*.onnx")), 3), ids=lambda p: p.stem
)
def test_light_network_folds(path: Path) -> None:
    model = read_model(path).fold({}).to_source()
    assert not {each.op_type for each in model.nodes} & {"Constant", "ConstantOfShape", "Unsqueeze"}
    (image,) = model.inputs
    assert image.shape == (1, 3, 224, 224)
    assert len(model.outputs) == 1
    assert model.file_nodes > len(model.nodes) > 20


def test_all_light_networks_are_there() -> None:
    assert len(list(onnx_files.LIGHT.glob("*.onnx"))) == 9


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("resnet_mini_opset9", "Add Conv Flatten Gemm GlobalAveragePool MaxPool Relu"),
        ("unet_opset13", "Concat Conv ConvTranspose MaxPool Relu"),
        ("mobilenetv2_opset13", "Add Clip Conv Flatten Gemm GlobalAveragePool Pad"),
    ],
)
def test_exported_network_folds(name: str, operators: str) -> None:
    folder = onnx_files.SHARED / "models" / name
    if not folder.is_dir():
        pytest.skip("the exported networks are not here")
    model = read_model(folder / "model.onnx").fold({}).to_source()
    assert sorted({each.op_type for each in model.nodes}) == operators.split()
    pads = [each.inputs[1] for each in model.nodes if each.op_type == "Pad"]
    assert all(value and value.const and value.const.shape == (8,) for value in pads)
    with np.load(folder / "expected.npz") as expected:
        assert [value.shape for value in model.outputs] == [expected[k].shape for k in expected]


@pytest.mark.parametrize(
    "path",
    some(sorted((onnx_files.SHARED / "models").glob("*/model.onnx")), 2),
    ids=lambda p: p.parent.name,
)
def test_exported_network_computes_the_same_after_folding(path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    proto = rebuilt(path).SerializeToString()
    session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
    with np.load(path.with_name("inputs.npz")) as inputs:
        found = session.run(None, dict(inputs))
    with np.load(path.with_name("expected.npz")) as expected:
        for array, name in zip(found, expected, strict=True):
            np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-5)


def rebuilt(path: Path) -> onnx.ModelProto:
    """Return the folded model as an ONNX model again."""
    folded = read_model(path).fold({})
    source = folded.to_source()
    ports = {value.name: (onnx_type(value.required_dtype), value.shape) for value in source.inputs}
    weights = {name: const.numpy() for name, const in folded.graph.consts.items()}
    outputs = [value.name for value in source.outputs]
    nodes = [each.proto for each in folded.graph.nodes]
    proto = onnx_files.model(nodes, ports, outputs, weights, source.opsets)
    for port, value in zip(proto.graph.output, source.outputs, strict=True):
        type_ = helper.make_tensor_type_proto(onnx_type(value.required_dtype), value.shape)
        port.type.CopyFrom(type_)
    return proto


def onnx_type(dtype: DType) -> int:
    return int(helper.np_dtype_to_tensor_dtype(dtype.numpy))


def test_nodes_share_attributes_that_are_equal_and_nothing_changes_them(tmp_path: Path) -> None:
    alphas = (0.5, 0.25, 0.5)
    nodes = [
        helper.make_node("Elu", ["x"], [f"y{at}"], alpha=alpha) for at, alpha in enumerate(alphas)
    ]
    names = [f"y{at}" for at in range(3)]
    proto = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [2])}, names)
    found = [each.attributes for each in onnx_files.source(proto, tmp_path).nodes]
    assert [each["alpha"] for each in found] == list(alphas)
    assert found[0] is found[2]
    with pytest.raises(TypeError):
        found[0]["alpha"] = 1.0  # type: ignore[index]
