"""Constant folding: chains, what must not be read or made, and what must be left alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from atc_py.diag.codes import FOLD_TOO_LARGE
from atc_py.ir import ConstData, SplatConst
from atc_py.onnx_graph.folding import fold
from atc_py.onnx_graph.folding.evaluate import evaluate
from atc_py.onnx_graph.reading.mapped import MappedConst
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel
from atc_py.onnx_graph.typing import infer, inference_model
from atc_py.system.memory_limit import limited_memory
from tests.onnx_graph import onnx_files

node = helper.make_node
INT64 = onnx_files.INT64
FLOAT = onnx_files.FLOAT


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def constant(name: str, array: np.ndarray) -> onnx.NodeProto:
    return node("Constant", [], [name], value=numpy_helper.from_array(array))


def operators(model: SourceModel) -> list[str]:
    return [each.op_type for each in model.nodes]


def result(
    nodes: Sequence[onnx.NodeProto],
    weights: dict[str, np.ndarray],
    folder: Path,
    opset: int = 13,
) -> ConstData | None:
    """Return the value that `k` folds to, in a graph that adds it to an input."""
    cast = node("Cast", ["k"], ["f"], to=FLOAT)
    proto = onnx_files.model([*nodes, cast], {"x": (FLOAT, [1])}, ["f", "k"], weights, {"": opset})
    return onnx_files.source(proto, folder).outputs[1].const


def test_shape_chain_folds_to_a_reshape_with_constant_shape(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        constant("zero", np.array(0)),
        node("Gather", ["s", "zero"], ["n"]),
        constant("axes", ints(0)),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        constant("rest", ints(-1)),
        node("Concat", ["n1", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["r"]),
        node("Relu", ["r"], ["y"]),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, ["N", 3, 4])}, ["y"])
    model = onnx_files.source(proto, tmp_path, {"x": (2, 3, 4)})
    assert operators(model) == ["Reshape", "Relu"]
    shape = model.nodes[0].inputs[1]
    assert shape is not None
    assert shape.const is not None
    assert shape.const.numpy().tolist() == [2, -1]
    assert model.outputs[0].shape == (2, 12)
    assert (model.file_nodes, [each.index for each in model.nodes]) == (9, [7, 8])


def test_folding_and_inference_take_turns(tmp_path: Path) -> None:
    nodes = []
    for at in range(5):
        nodes += [
            node("Shape", [f"v{at}"], [f"s{at}"]),
            node("Mod", [f"s{at}", "three"], [f"m{at}"]),
            node("Add", [f"m{at}", "one"], [f"n{at}"]),
            node("Expand", ["x", f"n{at}"], [f"v{at + 1}"]),
        ]
    inputs = {"v0": (FLOAT, [4, 5]), "x": (FLOAT, [1, 1])}
    weights = {"three": ints(3), "one": ints(1)}
    model = onnx_files.source(onnx_files.model(nodes, inputs, ["v5"], weights), tmp_path)
    assert operators(model) == ["Expand"]
    assert model.outputs[0].shape == (3, 1)


def test_size_and_partial_shape_fold(tmp_path: Path) -> None:
    nodes = [
        node("Size", ["x"], ["size"]),
        node("Shape", ["x"], ["part"], start=-2, end=2),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 3, 4])}, ["size", "part"], opsets={"": 15})
    model = onnx_files.source(proto, tmp_path)
    consts = [value.const for value in model.outputs]
    assert [const.numpy().tolist() for const in consts if const] == [24, [3]]
    assert model.nodes == ()


@pytest.mark.parametrize(
    ("attribute", "values", "dtype"),
    [
        ({"value_float": 1.5}, 1.5, np.float32),
        ({"value_floats": [1.5, 2.5]}, [1.5, 2.5], np.float32),
        ({"value_int": 7}, 7, np.int64),
        ({"value_ints": [7, 8]}, [7, 8], np.int64),
    ],
)
def test_constant_folds_in_all_its_forms(
    attribute: dict[str, Any], values: object, dtype: type, tmp_path: Path
) -> None:
    const = result([node("Constant", [], ["k"], **attribute)], {}, tmp_path)
    assert const is not None
    assert const.numpy().tolist() == values
    assert const.dtype.numpy == dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (None, np.float32),
        (np.array([7], np.int8), np.int8),
        (np.array([1.5], np.float16), np.float16),
        (np.array([True]), np.bool_),
        (np.array([2**63], np.uint64), np.uint64),
    ],
)
def test_constant_of_shape_repeats_its_value(
    value: np.ndarray | None, dtype: type, tmp_path: Path
) -> None:
    attributes = {} if value is None else {"value": numpy_helper.from_array(value)}
    const = result(
        [node("ConstantOfShape", ["s"], ["k"], **attributes)], {"s": ints(2, 3)}, tmp_path
    )
    assert isinstance(const, SplatConst)
    assert const.numpy().dtype == dtype
    assert np.array_equal(const.numpy(), np.full((2, 3), 0 if value is None else value[0], dtype))


def huge(shape: Sequence[int]) -> onnx.ModelProto:
    nodes = [node("ConstantOfShape", ["s"], ["k"], "fill"), node("Add", ["x", "k"], ["y"], "sum")]
    return onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], {"s": ints(*shape)})


def test_repeated_value_up_to_the_limit_takes_no_memory(tmp_path: Path) -> None:
    model = onnx_files.source(huge([2**15, 2**15]), tmp_path)
    assert model.outputs[0].shape == (2**15, 2**15)
    assert isinstance(model.nodes[0].inputs[1] and model.nodes[0].inputs[1].const, SplatConst)


@pytest.mark.parametrize("shape", [[2**15, 2**15 + 1], [2**62, 2**62, 2**62]])
def test_repeated_value_beyond_the_limit_is_refused(shape: list[int], tmp_path: Path) -> None:
    proto = huge(shape)
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), FOLD_TOO_LARGE)
    (finding,) = error.diagnostics
    assert "x".join(map(str, shape)) in finding.message
    assert str(2**32) in finding.message
    assert finding.place is not None
    assert (finding.place.node, finding.place.node_name) == (0, "fill")


def test_constant_beyond_the_limit_is_refused_before_it_is_made(tmp_path: Path) -> None:
    nodes = [
        node("Expand", ["k", "s"], ["e"], "wide"),
        node("Tile", ["k", "s1"], ["t"], "tile"),
        node("Add", ["x", "e"], ["y"]),
        node("Add", ["x", "t"], ["z"]),
    ]
    weights = {"k": np.ones(2, np.float32), "s": ints(2**20, 2**20, 2), "s1": ints(2**40)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y", "z"], weights)
    path = onnx_files.save(proto, tmp_path)
    file = read_model(path)
    error = onnx_files.fails(lambda: file.fold({}), FOLD_TOO_LARGE, FOLD_TOO_LARGE)
    assert "1048576x1048576x2" in error.diagnostics[0].message
    assert str(256 * 2**20) in error.diagnostics[0].message


def test_limit_is_taken_from_the_caller(tmp_path: Path) -> None:
    nodes = [node("Expand", ["k", "s"], ["e"]), node("Add", ["x", "e"], ["y"])]
    weights = {"k": np.ones(1, np.float32), "s": ints(10)}
    file = read_model(
        onnx_files.save(onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights), tmp_path)
    )
    assert [each.op_type for each in file.fold({}, limit=40).source.nodes] == ["Add"]
    onnx_files.fails(lambda: file.fold({}, limit=39), FOLD_TOO_LARGE)


def test_node_with_large_inputs_is_left_alone(tmp_path: Path) -> None:
    nodes = [node("Neg", ["w"], ["k"]), node("Add", ["x", "k"], ["y"])]
    weights = {"w": np.ones(100, np.float32)}
    file = read_model(
        onnx_files.save(onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights), tmp_path)
    )
    assert [each.op_type for each in file.fold({}, limit=399).source.nodes] == ["Neg", "Add"]
    assert [each.op_type for each in file.fold({}, limit=400).source.nodes] == ["Add"]


def test_large_constant_that_nothing_needs_is_not_an_error(tmp_path: Path) -> None:
    nodes = [
        node("ConstantOfShape", ["s"], ["huge"]),
        node("Expand", ["x", "s"], ["unused"]),
        node("Expand", ["one", "s"], ["asked"]),
        node("Shape", ["asked"], ["shape"]),
        node("Cast", ["shape"], ["f"], to=FLOAT),
        node("Add", ["x", "f"], ["y"]),
    ]
    weights = {"s": ints(2**20, 2**20), "one": np.ones(1, np.float32)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights)
    assert operators(onnx_files.source(proto, tmp_path)) == ["Add"]


@pytest.mark.parametrize(
    "operator", ["RandomNormal", "RandomUniform", "RandomUniformLike", "Bernoulli", "Dropout"]
)
def test_random_nodes_are_left_alone(operator: str, tmp_path: Path) -> None:
    like = operator not in {"RandomNormal", "RandomUniform"}
    attributes: dict[str, Any] = {} if like else {"shape": [3]}
    weights = {"w": np.full(3, 0.5, np.float32)} if like else {}
    nodes = [
        node(operator, list(weights), ["r"], **attributes),
        node("Add", ["x", "r"], ["y"]),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights, {"": 15})
    assert operators(onnx_files.source(proto, tmp_path)) == [operator, "Add"]


def test_softmax_of_an_old_opset_is_left_alone(tmp_path: Path) -> None:
    nodes = [node("Softmax", ["w"], ["k"], axis=1), node("Add", ["x", "k"], ["y"])]
    weights = {"w": np.ones((2, 3, 4), np.float32)}
    inputs = {"x": (FLOAT, [1])}
    old = onnx_files.model(nodes, inputs, ["y"], weights, {"": 11})
    new = onnx_files.model(nodes, inputs, ["y"], weights, {"": 13})
    assert operators(onnx_files.source(old, tmp_path)) == ["Softmax", "Add"]
    assert operators(onnx_files.source(new, tmp_path)) == ["Add"]


def test_codes_of_zeros_alone_are_left_alone(tmp_path: Path) -> None:
    nodes = [
        node("DynamicQuantizeLinear", ["w"], ["q", "step", "zero"]),
        node("Add", ["x", "step"], ["y"]),
    ]
    for value, left in ((0.0, ["DynamicQuantizeLinear", "Add"]), (2.0, ["Add"])):
        weights = {"w": np.full(3, value, np.float32)}
        proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights, {"": 13})
        assert operators(onnx_files.source(proto, tmp_path)) == left


def test_pool_whose_window_overhangs_is_left_alone(tmp_path: Path) -> None:
    nodes = [
        node("LpPool", ["w"], ["k"], kernel_shape=[2], strides=[2], ceil_mode=1),
        node("Add", ["x", "k"], ["y"]),
    ]
    weights = {"w": np.arange(5, dtype=np.float32).reshape(1, 1, 5)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights, {"": 18})
    assert operators(onnx_files.source(proto, tmp_path)) == ["LpPool", "Add"]


def test_operator_of_another_domain_is_left_alone(tmp_path: Path) -> None:
    nodes = [node("Identity", ["w"], ["k"], domain="own"), node("Add", ["x", "k"], ["y"])]
    weights = {"w": np.ones(3, np.float32)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights, {"": 13, "own": 2})
    views = read_model(onnx_files.save(proto, tmp_path)).fold({}).source.nodes
    assert [(each.op_type, each.domain, each.opset, each.since_version) for each in views] == [
        ("Identity", "own", 2, 1),
        ("Add", "", 13, 13),
    ]


def test_node_that_the_reference_refuses_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [node("Neg", ["w"], ["k"]), node("Add", ["x", "k"], ["y"])]
    weights = {"w": np.ones(3, np.float32)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights)

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no such operator")

    monkeypatch.setattr("onnx.reference.ReferenceEvaluator", refuse)
    assert operators(onnx_files.source(proto, tmp_path)) == ["Neg", "Add"]


def test_result_of_a_type_that_was_not_promised_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [node("Neg", ["w"], ["k"]), node("Add", ["x", "k"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], {"w": np.ones(3, np.float32)})
    for array in (np.ones(3), np.ones(4, np.float32)):
        monkeypatch.setattr("atc_py.onnx_graph.folding.fold.evaluate", lambda *_, a=array: {"k": a})
        assert operators(onnx_files.source(proto, tmp_path)) == ["Neg", "Add"]


def test_views_of_a_weight_are_not_read_when_folded(tmp_path: Path) -> None:
    array = np.arange(6000, dtype=np.float32).reshape(2, 3, 1000)
    nodes = [
        node("Identity", ["w"], ["a"]),
        node("Reshape", ["a", "s"], ["b"]),
        node("Unsqueeze", ["b", "axes"], ["c"]),
        node("Squeeze", ["c", "axes"], ["d"]),
        node("Transpose", ["d"], ["e"], perm=[1, 0]),
        node("Flatten", ["e"], ["f"], axis=0),
        node("Add", ["x", "f"], ["y"]),
    ]
    weights = {"w": array, "s": ints(0, -1), "axes": ints(0)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights)
    path = onnx_files.save(proto, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("atc_py.onnx_graph.reading.mapped.MappedConst.numpy", None)
        (add,) = read_model(path).fold({}).to_source().nodes
    value = add.inputs[1]
    assert value is not None
    assert value.const is not None
    assert value.shape == (1, 6000)
    assert np.array_equal(value.const.numpy(), array.reshape(2, 3000).T.reshape(1, 6000))


def test_large_constant_node_stays_in_the_file(tmp_path: Path) -> None:
    array = np.arange(5000, dtype=np.float32)
    nodes = [constant("k", array), node("Add", ["x", "k"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"])
    model = onnx_files.source(proto, tmp_path)
    value = model.nodes[0].inputs[1]
    assert value is not None
    assert isinstance(value.const, MappedConst)
    assert np.array_equal(value.const.numpy(), array)
    assert model.weight_bytes == 20000


@pytest.mark.parametrize(
    ("shape", "indices", "axis", "values"),
    [
        ((1, 9), [[1, -1]], 1, [[1, 8]]),
        ((3, 4), [[0, -1, 2]], 0, [[0, 9, 10]]),
        ((3, 4), [[0], [1]], 1, [[0], [5]]),
    ],
)
def test_gather_elements_folds(
    shape: tuple[int, ...],
    indices: list[list[int]],
    axis: int,
    values: list[list[int]],
    tmp_path: Path,
) -> None:
    nodes = [node("GatherElements", ["d", "i"], ["k"], axis=axis)]
    weights = {
        "d": np.arange(np.prod(shape), dtype=np.float32).reshape(shape),
        "i": np.array(indices),
    }
    const = result(nodes, weights, tmp_path)
    assert const is not None
    assert const.numpy().tolist() == values


def test_gather_elements_out_of_range_is_left_alone(tmp_path: Path) -> None:
    nodes = [node("GatherElements", ["d", "i"], ["k"], axis=1)]
    weights = {"d": np.ones((1, 3), np.float32), "i": np.array([[3]])}
    assert result(nodes, weights, tmp_path) is None


@pytest.mark.parametrize(("step", "values"), [(2, [1, 3]), (0, None)])
def test_range_in_steps_of_nothing_is_left_alone(
    step: int, values: list[int] | None, tmp_path: Path
) -> None:
    weights = {"start": np.array(1), "limit": np.array(5), "step": np.array(step)}
    const = result([node("Range", list(weights), ["k"])], weights, tmp_path)
    assert (None if const is None else const.numpy().tolist()) == values


def test_if_with_known_condition_is_replaced_by_its_branch(tmp_path: Path) -> None:
    inner = [node("Mul", ["x", "two"], ["m"], "inner")]
    weight = numpy_helper.from_array(np.full(1, 2, np.float32), "two")
    then = helper.make_graph(inner, "then", [], [onnx.ValueInfoProto(name="m")], [weight])
    other = helper.make_graph(
        [node("Neg", ["x"], ["n"])], "else", [], [onnx.ValueInfoProto(name="n")]
    )
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Equal", ["s", "three"], ["same"]),
        node("If", ["same"], ["r"], then_branch=then, else_branch=other),
        node("Relu", ["r"], ["y"]),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, ["N"])}, ["y"], {"three": ints(3)})
    path = onnx_files.save(proto, tmp_path)
    taken = read_model(path).fold({"x": (3,)}).to_source()
    assert operators(taken) == ["Mul", "Identity", "Relu"]
    assert [each.index for each in taken.nodes] == [2, 2, 3]
    assert taken.outputs[0].shape == (3,)
    assert operators(read_model(path).fold({"x": (4,)}).to_source()) == ["Neg", "Identity", "Relu"]


def test_reference_is_imported_only_when_it_is_needed() -> None:
    import subprocess
    import sys

    script = (
        "import sys; from pathlib import Path; from atc_py.onnx_graph.reading.read import read_model\n"
        "read_model(Path(sys.argv[1])).fold({}).to_source()\n"
        "print('onnx.reference' in sys.modules)"
    )
    path = onnx_files.LIGHT / "light_resnet50.onnx"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("value", "dtype", "to"),
    [
        (np.nan, np.float32, onnx.TensorProto.INT32),
        (3e9, np.float32, onnx.TensorProto.INT32),
        (-1.0, np.float32, onnx.TensorProto.UINT8),
        (2.0**63, np.float64, INT64),
    ],
)
def test_cast_beyond_the_range_of_integers_is_left_alone(
    value: float, dtype: type, to: int, tmp_path: Path
) -> None:
    weights: dict[str, np.ndarray] = {"w": np.array([value, 1], dtype)}
    assert result([node("Cast", ["w"], ["k"], to=to)], weights, tmp_path) is None


def test_cast_within_the_range_of_integers_folds(tmp_path: Path) -> None:
    weights: dict[str, np.ndarray] = {"w": np.array([-128.9, 127.9, -0.5])}
    nodes = [node("Cast", ["w"], ["k"], to=onnx.TensorProto.INT8)]
    const = result(nodes, weights, tmp_path)
    assert const is not None
    assert const.numpy().tolist() == [-128, 127, 0]


def bucketed(chosen: np.ndarray) -> list[onnx.NodeProto]:
    """Return nodes that cast logarithms of positions, and choose from them and the positions."""
    return [
        constant("at", np.arange(4, dtype=np.float32)),
        node("Log", ["at"], ["log"]),
        node("Cast", ["log"], ["cast"], to=INT64),
        constant("eight", ints(8)),
        node("Add", ["cast", "eight"], ["far"]),
        constant("near", ints(0, 1, 2, 3)),
        constant("is_near", chosen),
        node("Where", ["is_near", "near", "far"], ["k"]),
    ]


def test_where_that_hides_an_undefined_cast_folds(tmp_path: Path) -> None:
    found = result(bucketed(np.array([True, False, True, False])), {}, tmp_path)
    assert found is not None
    assert found.numpy().tolist() == [0, 8, 2, 9]


def test_where_that_shows_an_undefined_cast_stays(tmp_path: Path) -> None:
    assert result(bucketed(np.array([False, True, True, True])), {}, tmp_path) is None


def test_where_of_shapes_that_do_not_broadcast_stays(tmp_path: Path) -> None:
    nodes = bucketed(np.ones(3, np.bool_))
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["k"], {}, {"": 13})
    (path := tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert read_model(path).inputs


def test_chain_of_computed_reshapes_takes_onnx_one_run_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links, runs = 6, []
    nodes, value = [], "x"
    for at in range(links):
        dims, half, target, result = (f"{name}{at}" for name in ("dims", "half", "target", "y"))
        nodes += [
            node("Shape", [value], [dims]),
            node("Gather", [dims, "last"], [f"{dims}l"]),
            node("Div", [f"{dims}l", "two"], [half]),  # no shape for onnx, which follows others
            node("Concat", ["rest", half], [target], axis=0),
            node("Reshape", [value, target], [result]),
        ]
        value = result
    weights = {"last": ints(1), "two": ints(2), "rest": ints(-1)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [4, 256])}, [value], weights, {"": 13})
    original = inference_model.infer_shapes

    def counted(*arguments: Any, **options: Any) -> onnx.ModelProto:
        runs.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(infer, "infer_shapes", counted)
    (found,) = onnx_files.source(proto, tmp_path).outputs
    assert found.shape == (256, 4)
    assert len(runs) <= links + 2


# Small results ------------------------------------------------------------------------------------


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the operators that ONNX's reference computes."""
    operators: list[str] = []

    def counted(node: Any, *rest: Any) -> Any:
        operators.append(node.op_type)
        return evaluate(node, *rest)

    monkeypatch.setattr(fold, "evaluate", counted)
    return operators


def sums(first: np.ndarray, second: np.ndarray, folder: Path, *operators: str) -> list[Any]:
    """Return what nodes of the operators fold to, the last one with its inputs exchanged."""
    names = [("a", "b")] * (len(operators) - 1) + [("b", "a")]
    nodes = [
        node(op, each, [f"k{at}"])
        for at, (op, each) in enumerate(zip(operators, names, strict=True))
    ]
    outputs = [f"k{at}" for at in range(len(nodes))]
    proto = onnx_files.model(nodes, {}, outputs, {"a": first, "b": second})
    found = onnx_files.source(proto, folder).outputs
    return [each.const.numpy().tolist() for each in found if each.const is not None]


def test_equal_nodes_on_a_few_numbers_are_computed_once(
    evaluated: list[str], tmp_path: Path
) -> None:
    found = sums(ints(7, 8), ints(2, 3), tmp_path, "Sub", "Sub", "Mul", "Sub", "Sub")
    assert found == [[5, 5], [5, 5], [14, 24], [5, 5], [-5, -5]]
    assert evaluated == ["Sub", "Mul", "Sub"]


def test_equal_bytes_of_other_types_are_other_numbers(evaluated: list[str], tmp_path: Path) -> None:
    bits = np.array([1.0, 2.0], np.float32)
    nodes = [
        node("Add", ["a", "a"], ["k0"]),
        node("Add", ["b", "b"], ["k1"]),
        node("Add", ["c", "c"], ["k2"]),
    ]
    weights = {"a": bits, "b": bits.view(np.int32), "c": bits.reshape(2, 1)}
    found = onnx_files.source(
        onnx_files.model(nodes, {}, ["k0", "k1", "k2"], weights), tmp_path
    ).outputs
    assert [(each.element, each.shape) for each in found] == [
        ("float32", (2,)), ("int32", (2,)), ("float32", (2, 1)),
    ]  # fmt: skip
    assert evaluated == ["Add"] * 3


def test_attributes_tell_nodes_apart(evaluated: list[str], tmp_path: Path) -> None:
    nodes = [node("Concat", ["a", "a"], [f"k{at}"], axis=axis) for at, axis in enumerate((0, 1, 1))]
    weights = {"a": ints(1, 2).reshape(1, 2)}
    proto = onnx_files.model(nodes, {}, ["k0", "k1", "k2"], weights)
    found = onnx_files.source(proto, tmp_path).outputs
    read = [each.const.numpy().tolist() for each in found if each.const is not None]
    assert read == [[[1, 2], [1, 2]], [[1, 2, 1, 2]], [[1, 2, 1, 2]]]
    assert evaluated == ["Concat"] * 2


def test_results_of_many_numbers_are_not_kept(evaluated: list[str], tmp_path: Path) -> None:
    long = np.arange(200)
    assert len(sums(long, long, tmp_path, "Mul", "Mul", "Mul")) == 3
    assert evaluated == ["Mul"] * 3


def test_copies_that_computing_takes_count(tmp_path: Path) -> None:
    nodes = [
        node("ConstantOfShape", ["shape"], ["ones"]),
        node("TopK", ["ones", "count"], ["k", "i"]),
        node("Add", ["x", "k"], ["y"]),
    ]
    weights = {"shape": ints(2**22), "count": ints(1000)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights)
    file = read_model(onnx_files.save(proto, tmp_path))
    with limited_memory("32M"):
        error = onnx_files.fails(lambda: file.fold({}), FOLD_TOO_LARGE)
    assert "computing it takes about 128" in str(error)
