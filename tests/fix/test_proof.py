"""The proof: rules that are wrong anywhere are caught, and rules that are right are not accused."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.proof import whole_models
from atc_py.compare.proof.final_regions import TwinValues
from atc_py.compare.proof.quantizer_steps import is_step_apart
from atc_py.compare.proof.region_data import DataSet, Kinds, data_sets
from atc_py.compare.proof.region_inputs import DrawnInput, _indexed
from atc_py.compare.proof.region_proof import RegionProof, RegionTest, _elements_within
from atc_py.compare.proof.result_gap import defined_elements
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.diag import AtcError
from atc_py.diag.codes import FIX_DIFFERS, REFERENCE_FAILED
from atc_py.fix.context import RuleContext
from atc_py.fix.range_rules import Range
from atc_py.fix.rule import Exactness, FixRule, load_rules
from atc_py.fix.tidy.known_equalities import Reshaped
from atc_py.fix.tidy.tidying import Twin
from atc_py.ir import DenseConst
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.running.piece import ENGINES, NotRunError, Piece
from atc_py.report.fix.words import headline
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.onnx_graph.running.pieces import piece

Apply = Callable[[RuleContext], Sequence[str]]

pytestmark = pytest.mark.usefixtures("base_list")

node = helper.make_node


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def use_rule(
    monkeypatch: pytest.MonkeyPatch,
    apply: Apply,
    exactness: Exactness = Exactness.EQUAL,
    operator: str = "Mish",
    called: str = "tried",
) -> None:
    """Make `apply` the one rule for an operator."""
    known = load_rules()
    words, case = known["window-1d"].words, known["window-1d"].example
    for name, rule in [*known.items()]:
        if operator in rule.operators:
            monkeypatch.delitem(known, name)
    rule = FixRule(called, frozenset({operator}), exactness, words, case, None, (), apply)
    monkeypatch.setitem(known, called, rule)


def save(
    nodes: Sequence[onnx.NodeProto], dims: Sequence[int | str] = (2, 6), **constants: Any
) -> str:
    """Write a model of opset 18 from x to y, float32."""
    graph = helper.make_graph(
        list(nodes),
        "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
        [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), "m.onnx")
    return "m.onnx"


def refusal(model: str, **options: Any) -> AtcError:
    """Return the error of fixing `model`; nothing is written."""
    before = sorted(path_names())
    with pytest.raises(AtcError) as caught:
        atc_py.fix_model(model, **options)
    assert sorted(path_names()) == before
    assert {each.code for each in caught.value.diagnostics} == {FIX_DIFFERS}
    assert caught.value.exit_code == 4
    return caught.value


def path_names() -> list[str]:
    """Return the names in the current folder."""
    return [each.name for each in Path().iterdir()]


def wrong_at(value: float) -> Apply:
    """Return a rule that is right but for elements of one value."""

    def apply(ctx: RuleContext) -> Sequence[str]:
        (right,) = ctx.body()
        there = ctx.op("Equal", ctx.name(0), ctx.scalar(value))
        return [ctx.op("Where", there, ctx.scalar(7.0), right)]

    return apply


def wrong_everywhere(ctx: RuleContext) -> Sequence[str]:
    """Return another function of the input."""
    return [ctx.op("Relu", ctx.name(0))]


def right(ctx: RuleContext) -> Sequence[str]:
    """Return ONNX's own definition."""
    return ctx.body()


YES = np.ones((), np.bool_)
MISH = [node("Mish", ["x"], ["y"], "mish")]


@pytest.mark.parametrize("exactness", [Exactness.EQUAL, Exactness.REORDERED])
def test_a_rule_that_is_wrong_everywhere_is_a_bug_report(
    monkeypatch: pytest.MonkeyPatch, exactness: Exactness
) -> None:
    use_rule(monkeypatch, wrong_everywhere, exactness)
    (found,) = refusal(save(MISH)).diagnostics
    assert found.place is not None
    assert (found.place.node, found.place.node_name, found.place.op_type) == (0, "mish", "Mish")
    assert "rule tried" in found.message
    assert "this is a bug in atc-py, and nothing was written" in found.message
    assert "--skip tried" in (found.help or "")


def quantized_mish(step: float) -> str:
    """Write Mish of integers, which moving the inputs does not show, and its codes as floats again."""
    nodes = [
        node("Cast", ["x"], ["f"], to=1),
        node("Mish", ["f"], ["m"], "mish"),
        node("QuantizeLinear", ["m", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    save(nodes, s=np.float32(step), z=np.int8(0))
    model = onnx.load("m.onnx")
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(model, "m.onnx")
    return "m.onnx"


def test_a_code_on_the_other_side_of_a_rounding_is_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rule keeps to its class; its results are the ones that a code of 2.5 falls to 3 for."""

    def apply(ctx: RuleContext) -> Sequence[str]:
        (result,) = ctx.body()
        return [ctx.op("Mul", result, ctx.scalar(1 + 5e-6))]

    use_rule(monkeypatch, apply, Exactness.REORDERED)
    step = float(np.tanh(np.log1p(np.e)) * (1 + 2e-6) / 2.5)
    done = atc_py.fix_model(quantized_mish(step), "f.onnx", ranges={"x": (1, 1)}, simulate=False)
    assert done.outputs["y"].differing == done.outputs["y"].elements
    assert done.outputs["y"].error > 0.1


@pytest.mark.parametrize("factor", [1.0, 1 + 5e-6])
def test_equal_bits_on_the_values_of_the_model_are_proof_enough(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """Outputs that differ by what is no rewrite's are a fault only where a rewrite changes values."""

    def apply(ctx: RuleContext) -> Sequence[str]:
        (result,) = ctx.body()
        large = ctx.op("Mul", result, ctx.scalar(1 + 5e-6))
        met = ctx.op("Mul", result, ctx.scalar(factor))
        return [ctx.op("Where", ctx.op("Less", result, ctx.scalar(100.0)), met, large)]

    use_rule(monkeypatch, apply, Exactness.REORDERED)

    def no_effects(
        _model: object, _proof: object, names: Sequence[str], *_: object
    ) -> dict[str, float]:
        return dict.fromkeys(names, 0.0)

    monkeypatch.setattr(whole_models, "_effects_of_rounding", no_effects)
    monkeypatch.setattr(whole_models, "_effects_of_steps", no_effects)
    nodes = [node("RandomUniformLike", ["m"], ["r"]), node("Add", ["m", "r"], ["y"])]
    save([node("Mish", ["x"], ["m"], "mish"), *nodes])
    if factor == 1:
        done = atc_py.fix_model("m.onnx", "f.onnx", simulate=False)
        assert done.outputs["y"].differing
    else:
        assert "this is a bug" in refusal("m.onnx", simulate=False).diagnostics[0].message


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 0.5, float("inf")])
def test_a_rule_that_is_wrong_at_one_value_is_caught(
    monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    use_rule(monkeypatch, wrong_at(value))
    refusal(save(MISH))


def test_a_rule_that_loses_large_values_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """tanh(log(1 + e^x)) as a quotient of squares: right, but infinity over infinity for large x."""

    def apply(ctx: RuleContext) -> Sequence[str]:
        one = ctx.scalar(1.0)
        sum_ = ctx.op("Add", ctx.op("Exp", ctx.name(0)), one)
        square = ctx.op("Mul", sum_, sum_)
        parts = [ctx.op("Sub", square, one), ctx.op("Add", square, one)]
        return [ctx.op("Mul", ctx.name(0), ctx.op("Div", *parts))]

    use_rule(monkeypatch, apply, Exactness.REORDERED)
    (found,) = refusal(save(MISH)).diagnostics
    assert "values" in found.message


def branches(op_type: str) -> dict[str, onnx.GraphProto]:
    """Return the branches of an If: the operator, and nothing."""
    return {
        name: helper.make_graph(
            [node(op, ["x"], [name])], name, [], [onnx.ValueInfoProto(name=name)]
        )
        for name, op in (("then_branch", op_type), ("else_branch", "Neg"))
    }


@pytest.mark.parametrize("apply", [wrong_everywhere, wrong_at(0.0)], ids=["everywhere", "at-zero"])
def test_a_rule_that_is_wrong_in_a_branch_is_caught(
    monkeypatch: pytest.MonkeyPatch, apply: Apply
) -> None:
    """The branch's result does not reach the output, and the original's run does not show it."""
    use_rule(monkeypatch, apply)
    nodes = [
        node("If", ["chosen"], ["b"], "choose", **branches("Mish")),
        node("Mul", ["b", "nothing"], ["none"]),
        node("Add", ["none", "x"], ["y"]),
    ]
    refusal(save(nodes, chosen=YES, nothing=np.zeros(1, np.float32)))


def test_a_node_of_a_branch_is_shown_on_drawn_data(monkeypatch: pytest.MonkeyPatch) -> None:
    use_rule(monkeypatch, right, Exactness.REORDERED)
    model = save([node("If", ["chosen"], ["y"], **branches("Mish"))], chosen=YES)
    (done,) = atc_py.fix_model(model).rewrites
    assert done.difference is not None
    assert (done.operator, done.shown.drawn > 3, done.shown.why.en) == ("Mish", True, "")


def test_each_step_of_a_chain_is_judged_by_its_own_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that claims to be equal is caught although the chain as a whole may differ."""

    def first(ctx: RuleContext) -> Sequence[str]:
        (result,) = ctx.body()
        other = ctx.op("HardSwish", ctx.name(0))
        return [ctx.op("Add", result, ctx.op("Sub", other, other))]

    def second(ctx: RuleContext) -> Sequence[str]:
        (result,) = ctx.body()
        return [ctx.op("Mul", result, ctx.scalar(1 + 1e-6))]

    use_rule(monkeypatch, second, Exactness.EQUAL, "HardSwish", "second")
    use_rule(monkeypatch, first, Exactness.REORDERED)
    (found,) = refusal(save(MISH)).diagnostics
    assert "rule second" in found.message


def test_results_outside_of_the_domain_are_no_false_alarm() -> None:
    """Where the node itself has no finite result, a form that has one is not accused."""
    before = piece([node("Log", ["x"], ["y"])])
    clipped = [node("Abs", ["x"], ["a"]), node("Log", ["a"], ["y"])]
    after = piece(clipped)
    test = RegionTest(("tried",), 1e-5, before, after, RegionProof())
    values = np.array([-1.0, 0.0, 2.0], np.float32)
    assert test.run(DataSet("values", {"x": values}), {})
    assert test.proof.wrong is None
    exact = RegionTest(("tried",), 0.0, before, after, RegionProof())
    exact.run(DataSet("values", {"x": values}), {})
    assert exact.proof.wrong is not None


def test_a_form_that_no_engine_runs_keeps_the_first_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form = piece([node("Abs", ["x"], ["y"])])
    test = RegionTest(("tried",), 0.0, form, form, RegionProof())

    def refuse(_piece: Piece, _feeds: object, engine: str) -> None:
        raise NotRunError(f"refused by {engine}")

    values = np.ones(2, np.float32)
    with monkeypatch.context() as patched:
        patched.setattr(Piece, "run", refuse)
        test.run_after(DataSet("values", {"x": values}), {"y": values}, ["onnxruntime"])
    assert next(iter(ENGINES)) in test.proof.why
    assert not test.proof.runs
    test.run_after(DataSet("values", {"x": values}), {"y": values}, ["onnxruntime"])
    assert (test.proof.why, test.proof.runs) == ("", 1)


def test_limit_of_a_class_is_the_largest_error() -> None:
    values = np.linspace(0.5, 1, 8, dtype=np.float32)
    for factor, wrong in ((1 + 0.9e-5, False), (1 + 1.2e-5, True)):
        nodes = [node("Mul", ["x", "f"], ["y"])]
        before, after = (
            piece(nodes, constants={"f": DenseConst(np.array(by, np.float32))})
            for by in (1.0, factor)
        )
        test = RegionTest(("tried",), 1e-5, before, after, RegionProof())
        test.run(DataSet("values", {"x": values}), {})
        assert (test.proof.wrong is not None) == wrong, factor


def test_differences_that_rounded_inputs_make_are_no_false_alarm() -> None:
    """(x - mean) of equal large values is 0 or a rounding of them, by the order of the sum."""

    def centered(mean: str, shift: float) -> Piece:
        nodes = [
            node("ReduceMean", ["x"], ["m"], axes=[1]),
            node("Add", ["m", "shift"], ["n"]),
            node("Sub", ["x", "n"], ["y"]),
        ]
        constants = {"shift": DenseConst(np.array(shift, np.float32))}
        return piece(nodes, (mean,), constants)

    values = np.full((1, 8), 1e4, np.float32)
    for shift, wrong in ((1e-3, False), (1.0, True)):
        test = RegionTest(("tried",), 1e-5, centered("y", 0.0), centered("y", shift), RegionProof())
        test.run(DataSet("equal values", {"x": values}), {})
        assert (test.proof.wrong is not None) == wrong


def test_differences_that_rounded_constants_make_are_no_false_alarm() -> None:
    """Codes are not rounded, but the scores that a constant makes of them are."""

    def scores(*factors: float) -> Piece:
        nodes, constants = [node("Cast", ["x"], ["v0"], to=TensorProto.FLOAT)], {}
        for at, factor in enumerate(factors):
            nodes.append(node("Mul", [f"v{at}", f"c{at}"], [f"v{at + 1}"]))
            constants[f"c{at}"] = DenseConst(np.array(factor, np.float32))
        nodes.append(node("Softmax", [f"v{len(factors)}"], ["y"]))
        return piece(nodes, constants=constants)

    codes = np.arange(1_000_000, 1_000_004, dtype=np.int32)[None]
    for factor, wrong in ((0.1 * (1 + 2**-23), False), (0.6, True)):
        test = RegionTest(("tried",), 1e-5, scores(0.1, 10), scores(factor, 10), RegionProof())
        test.run(DataSet("codes", {"x": codes}), {})
        assert (test.proof.wrong is not None) == wrong


def test_a_branch_is_not_tried_on_values_without_an_order() -> None:
    """ONNX does not say where NaN is among the elements that Hardmax compares."""
    branch = helper.make_graph(
        [node("Hardmax", ["x"], ["h"])], "branch", [], [onnx.ValueInfoProto(name="h")]
    )
    choice = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    model = onnx.load(save([choice], dims=(2, 3, 4)))
    model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    onnx.save(model, "m.onnx")
    done = atc_py.fix_model("m.onnx", operator_list="base")
    assert done.rewrites[0].rules == ("if-as-where", "hardmax-as-one-hot")
    assert not done.left


def test_run_with_other_dims_than_the_model_has_is_refused() -> None:
    file = read_model(Path(save([node("Relu", ["x"], ["y"])], dims=[5])))
    original = ReferenceModel(file)
    run = ReferenceRun(original, {"x": np.ones(5, np.float32)})
    twins = TwinValues(original, {"z": [Twin("x", Reshaped((2, 3), (6,)))]})
    with pytest.raises(AtcError) as caught:
        twins.value("z", run)
    (found,) = caught.value.diagnostics
    assert found.code is REFERENCE_FAILED
    assert "'x' has the dims 5" in found.message


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.FLOAT])
def test_steps_of_float16_are_no_false_alarm(dtype: int) -> None:
    """A step of float16 is near the difference of a model that is looked into."""
    nodes = [node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)]
    nodes += [node("GridSample", ["h", "h"], ["s"]), node("Exp", ["s"], ["e"])]
    nodes += [node("Mul", ["e", "e"], ["m"]), node("Cast", ["m"], ["y"], to=dtype)]
    model = onnx.load(save(nodes, dims=[1, 3, 3, 2]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", dtype, [1, 3, 3, 3]))
    onnx.save(model, "m.onnx")
    done = atc_py.fix_model("m.onnx", operator_list="base", seeds=6)
    assert not done.left
    assert done.outputs["y"].error > 1e-3


def test_no_rewrite_is_silently_unproved() -> None:
    model = save([node("Mish", ["x"], ["y"])], dims=["batch", 4])
    (rewrite,) = atc_py.fix_model(model).rewrites
    assert rewrite.difference is None
    assert "--input-shape" in rewrite.shown.why.en
    (rewrite,) = atc_py.fix_model(model, seeds=0).rewrites
    assert "--random 0" in rewrite.shown.why.en
    (rewrite,) = atc_py.fix_model(model, input_shape="x:2,4").rewrites
    assert rewrite.difference is not None
    assert rewrite.shown.runs == 3


def test_nan_on_both_sides_is_no_difference() -> None:
    nodes = [node("Sqrt", ["x"], ["a"]), node("Trilu", ["a"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    opset = helper.make_opsetid("", 14)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "model.onnx")
    (rewrite,) = atc_py.fix_model("model.onnx").rewrites
    assert rewrite.difference is not None
    assert (rewrite.difference.differing, rewrite.difference.error) == (0, 0.0)


def test_random_data_reach_what_their_bounds_allow() -> None:
    """Without bounds integers are small; with them they are anywhere between."""
    drawn = {
        "small": DrawnInput("small", DType.INT32, (999,)),
        "codes": DrawnInput("codes", DType.UINT8, (999,)),
        "words": DrawnInput("words", DType.INT64, (999,), Range(0, 30521)),
        "few": DrawnInput("few", DType.INT64, (999,), Range(-3, 4)),
    }
    kinds = Kinds(1e4, bounded=False, lowest=True, odd={})
    data = next(data_sets([*drawn.values()], [0], kinds)).feeds
    ends = {name: (int(data[name].min()), int(data[name].max())) for name in drawn}
    words = ends.pop("words")
    assert ends == {"small": (-16, 16), "codes": (0, 16), "few": (-3, 4)}
    assert words[0] < 1000
    assert 29000 < words[1] <= 30521


def test_proof_of_parts_has_the_largest_of_their_errors() -> None:
    for errors in ((1e-5, 1e-3), (1e-3, 1e-5)):
        proof, other = (RegionProof(error=error, elements=3, differing=1) for error in errors)
        proof.add(other)
        assert (proof.error, proof.elements, proof.differing) == (1e-3, 6, 2)


@pytest.mark.parametrize(("dtype", "limit"), [("int32", 0.0), ("bool", 0.0), ("float32", 1e-5)])
def test_two_engines_agree_on_integers_in_every_bit(dtype: str, limit: float) -> None:
    nodes = piece([node("Abs", ["x"], ["y"])])
    test = RegionTest(("tried",), 0.0, nodes, nodes, RegionProof())
    test._engines = ("onnxruntime", "onnx")
    assert test._limit(np.zeros(2, dtype)) == limit
    test._engines = ("onnxruntime", "onnxruntime")
    assert test._limit(np.zeros(2, dtype)) == 0.0


@pytest.mark.parametrize("op", ["Cast", "ReduceL1"])
def test_results_that_are_floats_are_defined_everywhere(op: str) -> None:
    (made,) = piece([node(op, ["x"], ["y"])]).nodes
    x = np.array([4.0, -1.0], np.float32)
    assert defined_elements([made], {"x": x}, x) is None
    assert defined_elements([made], {}, x.astype(np.int64)) is None


@pytest.mark.parametrize("op", ["Hardmax", "ArgMax", "Max"])
def test_nothing_is_defined_where_nan_is_put_in_order(op: str) -> None:
    (made,) = piece([node(op, ["x"], ["y"])]).nodes
    x = np.array([4.0, np.nan], np.float32)
    for result in (x, np.array([1], np.int64)):
        defined = defined_elements([made], {"x": x}, result)
        assert defined is not None
        assert defined.tolist() == [False] * result.size
    assert defined_elements([made], {"x": np.array([4, np.inf], np.float16)}, x) is None


@pytest.mark.parametrize(("op", "bounds"), [("Mish", None), ("Gather", (-4, 3))])
def test_indices_alone_have_bounds(op: str, bounds: tuple[int, int] | None) -> None:
    step: Any = SimpleNamespace(
        node=SimpleNamespace(op_type=op, input_names=("x", "i"), integer=lambda _name: 0),
        consts={},
        types={"x": SimpleNamespace(shape=(4, 2))},
    )
    assert _indexed(step, 1) == (None if bounds is None else Range(*bounds))


def test_outputs_that_are_infinite_on_the_target_are_said_and_fail(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["a"]),
        helper.make_node("Mul", ["a", "k"], ["b"]),
        helper.make_node("Sub", ["b", "b"], ["c"]),
        helper.make_node("Mish", ["x"], ["d"]),
        helper.make_node("Add", ["c", "d"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in "xy"]
    factor = numpy_helper.from_array(np.array(3000, np.float32), "k")
    graph = helper.make_graph(nodes, "odd", ends[:1], ends[1:], [factor])
    path = tmp_path / "odd.onnx"
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    done = atc_py.fix_model(path)
    assert (done.odd_outputs, done.is_sound, done.left) == (("y",), False, ())
    assert [each.code.name for each in done.diagnostics] == ["output-not-finite"]
    assert "in force_fp16 its outputs are infinite or NaN: y" in headline(done).en
    plain = atc_py.fix_model(path, precision_mode="must_keep_origin_dtype", soc="sim")
    assert plain.odd_outputs == ()


def test_elements_within_bounds_count_both_ends() -> None:
    kept = _elements_within(np.arange(-2, 3), (-1, 1))
    assert kept is not None
    assert kept.tolist() == [False, True, True, True, False]
    assert _elements_within(np.arange(-1, 2), (-1, 1)) is None
    assert _elements_within(np.arange(-2, 3), None) is None
    assert _elements_within(np.array([-2.5, 2.5]), (-1, 1)) is None


def test_results_are_a_step_apart_where_few_codes_moved_by_as_many_steps_as_nodes_round() -> None:
    nodes = piece([node("QuantizeLinear", ["x", "s"], ["y"])]).nodes
    wanted = np.zeros(64, np.int8)
    for moved, gap, apart in (
        (1, 1, True),
        (4, 1, True),
        (5, 1, False),
        (1, 2, False),
        (0, 0, False),
    ):
        value = np.where(np.arange(64) < moved, gap, 0).astype(np.int8)
        assert is_step_apart(nodes, value, wanted, gap) is apart
    assert not is_step_apart(nodes, wanted.astype(np.int32), wanted.astype(np.int32), 1)


@pytest.mark.parametrize(("weights", "wrong"), [((1.0, 1.0, -1.0), False), ((3.0, 0.0, 0.0), True)])
def test_sums_of_float16_whose_terms_overflow_are_not_compared(
    weights: tuple[float, ...], wrong: bool
) -> None:
    """1.0 + 1.0 - 1.0 of 4e4 is 4e4 as a whole, and infinite if the first two are added in float16."""
    x = np.full((1, 3), 4e4, np.float16)
    constants = {"w": DenseConst(np.array([[1], [1], [-1]], np.float16))}
    before = piece([node("MatMul", ["x", "w"], ["y"])], constants=constants)
    constants = {"w": DenseConst(np.array([[each] for each in weights], np.float16))}
    nodes = [
        node("Split", ["x"], ["a", "b", "c"], axis=1),
        node("Split", ["w"], ["u", "v", "t"], axis=0),
        node("MatMul", ["a", "u"], ["p"]),
        node("MatMul", ["b", "v"], ["q"]),
        node("MatMul", ["c", "t"], ["r"]),
        node("Add", ["p", "q"], ["s"]),
        node("Add", ["s", "r"], ["y"]),
    ]
    test = RegionTest(("tried",), 1e-5, before, piece(nodes, constants=constants), RegionProof())
    for size in (1.0, 1e-4) if wrong else (1.0,):
        test.run(DataSet("values", {"x": x * np.float16(size)}, own_scale=True), {})
    assert (test.proof.wrong is not None) == wrong
    assert test.proof.elements == (1 if wrong else 0)


def test_output_that_became_a_constant_is_compared(tmp_path: Path) -> None:
    x = np.ones((1, 2, 3, 3), np.float32)
    path, fixed = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(one_node_model("GlobalLpPool", {}, 17, constants={"x": x}, p=3), path)
    done = atc_py.fix_model(path, fixed, operator_list="base")
    ((name, gap),) = done.outputs.items()
    assert [each.name for each in onnx.load(fixed).graph.initializer] == [name]
    assert gap.elements == len(done.seeds) * 2
