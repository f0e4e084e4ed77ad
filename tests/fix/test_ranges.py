"""Ranges of integers hold for every value of random graphs, and reasons name what lacks a range."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.diag import BAD_OPTION, AtcError
from atc_py.fix.range_rules import Range, _times
from atc_py.fix.ranges import Ranges
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.fix_rules import value_ranges
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.sampling import rounds

DIMS = (3, 4)
BOTH = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Less", "Equal", "Pow")
ALONE = (
    "Neg",
    "Abs",
    "Sign",
    "CumSum",
    "ReduceSum",
    "ReduceMax",
    "ReduceProd",
    "Clip",
    "Transpose",
)
OTHERS = (
    "Where",
    "ArgMax",
    "TopK",
    "Cast",
    "Gather",
    "Pad",
    "Slice",
    "ScatterND",
    "BitShift",
    "Float",
)
WAYS = (*BOTH, *ALONE, *OTHERS)


class Drawn:
    """A random graph of operators on int64.

    Attributes:
        nodes: producers first.
        consts: constants by name.
        values: names of tensors of the dims.
        results: names of all results.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.consts: dict[str, np.ndarray] = {}
        self.values = ["a", "b"]
        self.results: list[str] = []

    def const(self, value: Any, dtype: Any = np.int64) -> str:
        name = f"c{len(self.consts)}"
        self.consts[name] = np.asarray(value, dtype)
        return name

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        names = [f"t{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        self.results += names
        return names

    def grow(self) -> None:
        """Add one operator; results of the dims can be operands of later ones."""
        rng = self.rng
        op = str(rng.choice(WAYS))
        x, y = (str(each) for each in rng.choice(self.values, 2))
        if rng.integers(3) == 0:
            y = self.const(rng.integers(-9, 10, (4,)))
        if op in {"Div", "Mod"}:
            y = self.const(rng.choice([-7, -1, 1, 3, 50], (4,)))
        if op == "Pow":
            y = self.const(rng.integers(0, 4, (4,)))
        if op in {"Less", "Equal"}:
            (flag,) = self.node(op, x, y)
            self.values += self.node("Cast", flag, to=7)
        elif op in BOTH:
            more = {"fmod": int(rng.integers(2))} if op == "Mod" else {}
            self.values += self.node(op, x, y, **more)
        elif op in ALONE:
            self.alone(op, x)
        else:
            self.others(op, x, y)

    def alone(self, op: str, x: str) -> None:
        """Add an operator with one operand."""
        rng = self.rng
        if op in {"Neg", "Abs", "Sign"}:
            self.values += self.node(op, x)
        elif op == "CumSum":
            flags = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
            self.values += self.node(op, x, self.const(int(rng.integers(2))), **flags)
        elif op == "ReduceSum":
            (total,) = self.node(op, x, self.const([int(rng.integers(2))]))
            self.values += self.node("Expand", total, self.const(DIMS))
        elif op in {"ReduceMax", "ReduceProd"}:
            (total,) = self.node(op, x, axes=[int(rng.integers(2))])
            self.values += self.node("Expand", total, self.const(DIMS))
        elif op == "Clip":
            low, high = (int(each) for each in rng.integers(-99, 99, 2))
            self.values += self.node(op, x, self.const(low), self.const(high))
        else:
            (turned,) = self.node("Transpose", x)
            self.values += self.node("Reshape", turned, self.const(DIMS))

    def others(self, op: str, x: str, y: str) -> None:
        """Add an operator of any other kind."""
        rng = self.rng
        if op == "Where":
            (flag,) = self.node("Greater", x, y)
            self.values += self.node(op, flag, x, y)
        elif op == "ArgMax":
            (place,) = self.node(op, x, axis=1)
            self.values += self.node("Expand", place, self.const(DIMS))
        elif op == "TopK":
            _, places = self.node(op, x, self.const([4]), outputs=2)
            self.values.append(places)
        elif op == "Cast":
            (small,) = self.node(op, x, to=int(rng.choice([6, 9])))
            self.values += self.node(op, small, to=7)
        elif op == "Gather":
            self.values += self.node(op, x, self.const(rng.integers(-3, 3, (3,))))
        elif op == "Pad":
            (wide,) = self.node(op, x, self.const([1, 0, 0, 0]), self.const(int(rng.integers(9))))
            self.values += self.node("Slice", wide, self.const([0]), self.const([3]))
        elif op == "Slice":
            last = self.const([-9])
            parts = (self.const([-1]), last, self.const([1]), self.const([-1]))
            self.values += self.node(op, x, *parts)
        elif op == "ScatterND":
            self.values += self.node(op, x, self.const([[1, 2]]), self.const([77]))
        elif op == "Float":
            self.values.append(self.through_floats(x, y))
        else:
            (unsigned,) = self.node("Cast", self.node("Abs", x)[0], to=13)
            shifts = self.const(rng.integers(0, 5, (4,)), np.uint64)
            way = "LEFT" if rng.integers(2) else "RIGHT"
            (moved,) = self.node(op, unsigned, shifts, direction=way)
            self.values += self.node("Cast", moved, to=7)

    def through_floats(self, x: str, y: str) -> str:
        """Add a ratio or a product of floats, which becomes an integer again."""
        rng = self.rng
        (limited,) = self.node("Clip", x, self.const(-9999), self.const(9999))
        (real,) = self.node("Cast", limited, to=1)
        by = self.const(rng.choice([-2.5, 1.0, 3.0, 160.0], (4,)), np.float32)
        if rng.integers(2):
            (less,) = self.node("Clip", y, self.const(-999), self.const(999))
            (by,) = self.node("Cast", less, to=1)
        (real,) = self.node(str(rng.choice(["Mul", "Add", "Sub"])), real, by)
        half = self.const(rng.choice([-7.5, 0.5, 2.0, 30.0]), np.float32)
        way = str(rng.choice(["Div", "Mul", "Add"]))
        divisor = self.const(rng.choice([-7.5, 1.5, 2.0, 30.0]), np.float32)
        (real,) = self.node(way, real, divisor if way == "Div" else half)
        if rng.integers(2):
            (real,) = self.node(str(rng.choice(["Floor", "Ceil", "Round", "Sigmoid"])), real)
        return self.node("Cast", real, to=7)[0]


@pytest.mark.parametrize("seed", rounds(12, 2000))
def test_no_value_is_outside_its_range(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 11])
    drawn = Drawn(rng)
    for _ in range(int(rng.integers(3, 14))):
        drawn.grow()
    bounds = {name: Range(*sorted(int(each) for each in rng.integers(-60, 60, 2))) for name in "ab"}
    graph = helper.make_graph(
        drawn.nodes,
        "integers",
        [helper.make_tensor_value_info(name, 7, DIMS) for name in "ab"],
        [onnx.ValueInfoProto(name=name) for name in drawn.results],
        [onnx.numpy_helper.from_array(value, name) for name, value in drawn.consts.items()],
    )
    opsets = [helper.make_opsetid("", 13)]
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8)
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    folded = read_model(path).fold({}).graph
    ranges = Ranges(folded, bounds)
    known = {each.name: each for node in folded.nodes for each in node.outputs if each is not None}
    for _ in range(4):
        feeds = {
            name: rng.choice([low, high, *rng.integers(low, high, 9, endpoint=True)], DIMS)
            for name, (low, high) in bounds.items()
        }
        for name, value in run_with_onnxruntime(model, feeds).items():
            if name not in known:
                continue
            found = ranges.of(known[name])
            if value.dtype.kind == "f":
                assert found is None
                continue
            assert found is not None
            assert found.low <= value.min(), (name, found)
            assert value.max() <= found.high, (name, found)


def test_elements_of_an_unknown_rank_are_not_counted(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Op", ["x"], ["a"], domain="my"),
        helper.make_node("Size", ["a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "unknown",
        [helper.make_tensor_value_info("x", 7, [2, 3])],
        [onnx.ValueInfoProto(name="y")],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("my", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    folded = read_model(tmp_path / "m.onnx").fold({}).graph
    (size,) = (node for node in folded.nodes if node.op_type == "Size")
    (count,) = filter(None, size.outputs)
    assert Ranges(folded, {}).of(count) == Range(0, 2**31 - 1)


def test_products_have_a_range_where_no_matrix_is_added(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gemm", ["a", "b"], ["alone"]),
        helper.make_node("Gemm", ["a", "b", "c"], ["added"]),
        helper.make_node("Gemm", ["a", "b"], ["scaled"], alpha=2.0),
    ]
    inputs = {"a": (2, 3), "b": (3, 4), "c": (4,)}
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info(name, 7, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(node.output[0], 7, (2, 4)) for node in nodes],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    folded = read_model(tmp_path / "m.onnx").fold({}).graph
    ranges = Ranges(folded, {"a": Range(-2, 3), "b": Range(0, 5), "c": Range(0, 1)})
    results = [tensor for node in folded.nodes for tensor in node.outputs if tensor is not None]
    of_dtype = Range(-(2**63), 2**63 - 1)
    assert [ranges.of(each) for each in results] == [Range(-30, 45), of_dtype, of_dtype]


def left_of(model: onnx.ModelProto, tmp_path: Path, **options: Any) -> list[str]:
    """Return the reasons why rules do not fit what is left of a model."""
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    done = atc_py.fix_model(path, tmp_path / "fixed.onnx", **options)
    return [reason.en for each in done.left for _, reason in each.unfit]


def test_reason_names_the_inputs_that_lack_a_range(tmp_path: Path) -> None:
    """Also where nodes stand between; with the ranges that it asks for, the model is fixed."""
    ids = np.ones((2, 3), np.int64)
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["ids", "more"], ["sum"]),
            helper.make_node("Sub", ["sum", "one"], ["y"]),
        ],
        "two",
        [helper.make_tensor_value_info(name, 7, [2, 3]) for name in ("ids", "more")],
        [helper.make_tensor_value_info("y", 7, [2, 3])],
        [onnx.numpy_helper.from_array(ids, "one")],
    )
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    reasons = left_of(model, tmp_path)
    assert any("give --range more=LOW:HIGH --range ids=LOW:HIGH" in each for each in reasons)
    assert left_of(model, tmp_path, ranges={"ids": (0, 9), "more": (0, 9)}) == []
    far = {"ids": (0, 2**62), "more": (0, 2**62)}
    assert any(
        "its known bounds are wider" in each for each in left_of(model, tmp_path, ranges=far)
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_operator_without_a_kernel_on_one_soc_is_fixed(tmp_path: Path, dtype: type[Any]) -> None:
    """The list takes ArgMax of int32, Ascend310P3 has none: the form of the list would be refused."""
    data: npt.NDArray[Any] = np.array([[3, 9, 1], [7, 0, 7]], dtype)
    model, fixed = tmp_path / "m.onnx", tmp_path / "fixed.onnx"
    onnx.save(one_node_model("ArgMax", {"x": data}, 13, axis=1, keepdims=0), model)
    np.save(tmp_path / "x.npy", data)
    (check,) = atc_py.check_models(model, soc="Ascend310P3").models
    assert [each.fixed_by for each in check.findings] == [
        ("--range x=LOW:HIGH", "integers-as-float32")
    ]
    options: dict[str, Any]
    for options in ({"ranges": {"*": (0, 9)}}, {"data": [f"x={tmp_path / 'x.npy'}"]}):
        done = atc_py.fix_model(model, fixed, soc="Ascend310P3", **options)
        assert (done.errors, done.ranges) == ((1, 0), {"x": (0, 9)})
        atc_py.convert(fixed, tmp_path / "m.om", soc="Ascend310P3")


def test_sums_of_many_reach_as_many_times_as_far() -> None:
    """No element gives 0, which is among all sums."""
    pairs = {Range(2, 5): Range(0, 35), Range(-5, -2): Range(-35, 0), Range(-1, 3): Range(-7, 21)}
    assert {each: _times(each, 7) for each in pairs} == pairs


def test_range_of_one_number_has_a_value() -> None:
    assert value_ranges(["x=5:5", "y=-1:0", "2:3"]) == {"x": (5, 5), "y": (-1, 0), "*": (2, 3)}


def test_operator_that_may_wrap_around_is_not_narrowed(tmp_path: Path) -> None:
    """255 - 0 fits uint8 and int32; 0 - 255 wraps to 1, and is -255 in int32."""
    codes = np.zeros((2, 3), np.uint16)
    model = one_node_model("Sub", {"a": codes, "b": codes}, 14)
    assert any("--range b=LOW:HIGH" in each for each in left_of(model, tmp_path))
    apart = {"a": (200, 255), "b": (0, 99)}
    assert left_of(model, tmp_path, ranges=apart, seeds=0) == []


def test_bounds_and_values_are_taken_as_the_command_line_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(one_node_model("Relu", {"x": np.ones((2, 2), np.float32)}, 13), path)
    done = atc_py.fix_model(path, ranges=["x=0:9"], dry_run=True)  # type: ignore[arg-type]
    assert done.ranges == {"x": (0, 9)}
    for wrong in (["x=9:0"], {"x": (9, 0)}, {"x": "9"}, [("x", 0, 9)], "x"):
        with pytest.raises(AtcError) as caught:
            atc_py.fix_model(path, ranges=wrong, dry_run=True)  # type: ignore[arg-type]
        assert caught.value.diagnostics[0].code is BAD_OPTION
    assert atc_py.fix_model(path, bind=["x=1"], dry_run=True).bound == {"x": 1}  # type: ignore[arg-type]
