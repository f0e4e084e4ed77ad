"""`atc-py fix`, `--fix` of other commands, and what they say of bad input."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag.codes import BAD_OPTION, FIX_DIFFERS, FIX_NOT_SETTLED
from atc_py.fix import rule
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import Exactness, FixRule
from tests.cli.conftest import Result
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.fix.draws import all_draws

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")

node = helper.make_node


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def write(nodes: Sequence[onnx.NodeProto], path: str = "m.onnx", **constants: Any) -> Path:
    """Write a model from x, 1x3x16 in float32, to y."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16])]
    graph = helper.make_graph(
        list(nodes),
        "m",
        inputs,
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return Path(path)


def signals() -> Path:
    """Write a model with a 1-D convolution and a 1-D pool, which the list refuses."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 3)).astype(np.float32)
    pool = node("MaxPool", ["r"], ["y"], "pool", kernel_shape=[2], strides=[2])
    return write(
        [node("Conv", ["x", "w"], ["c"], "conv"), node("Relu", ["c"], ["r"]), pool], w=weights
    )


def test_a_refused_model_is_written_in_listed_operators(atc: Atc) -> None:
    model = signals()
    done = atc("fix", model)
    assert done.status == 0, done.err
    assert "window-1d" in done.out
    fixed = Path("m.fixed.onnx")
    assert atc("check", fixed).status == 0
    written = onnx.load(fixed)
    onnx.checker.check_model(written, full_check=True)
    original = onnx.load(model)
    assert [each.name for each in written.graph.input] == ["x"]
    assert [each.name for each in written.graph.output] == ["y"]
    feeds = {"x": np.random.default_rng(1).standard_normal((1, 3, 16)).astype(np.float32)}
    (found,) = run_with_onnxruntime(written, feeds).values()
    (wanted,) = run_with_onnxruntime(original, feeds).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_record_is_one_json_document(atc: Atc) -> None:
    done = json.loads(atc("fix", signals(), "--json").out)
    assert done["errors"]["before"] > 0
    assert done["errors"]["after"] == 0
    first = done["rewrites"][0]
    assert (first["operator"], first["name"]) == ("Conv", "conv")
    assert first["rules"] == ["window-1d"]
    assert first["after"] == ["Unsqueeze", "Conv"]
    assert first["difference"]["elements"] > 0
    assert done["proof"]["outputs"]["y"]["error"] < 1e-5


def test_a_dry_run_writes_nothing(atc: Atc) -> None:
    done = atc("fix", signals(), "--dry-run")
    assert done.status == 0
    assert [*Path().iterdir()] == [Path("m.onnx")]


def test_what_no_rule_removes_is_named_with_its_conditions(atc: Atc) -> None:
    conv = signals()
    done = atc("fix", conv, "--skip", "window-1d")
    assert done.status == 1
    assert "X of Conv must have rank 4" in done.out


def test_convert_and_compare_fix_in_memory(atc: Atc) -> None:
    model = signals()
    assert atc("convert", model).status == 1
    assert atc("convert", model, "--fix", "-o", "m.om").status == 0
    done = atc("compare", model, "--fix", "--format", "json")
    assert done.status == 0, done.err
    layers = json.loads(done.out)
    assert layers["outputs"]["y"]["cosine"] > 0.999
    assert atc("profile", model, "--fix").status == 0


def test_check_names_the_rules(atc: Atc) -> None:
    done = atc("check", signals(), "--format", "json")
    found = json.loads(done.out)["models"][0]["findings"]
    errors = [each for each in found if each["level"] == "error"]
    assert errors
    assert all(each["fixed_by"] == ["window-1d"] for each in errors)
    text = atc("check", signals()).out
    assert "Fix: `atc-py fix m.onnx --list base` removes 5 of 5 errors" in text


def test_bound_inputs_become_constants(atc: Atc) -> None:
    branches = {
        name: helper.make_graph([node(op, ["x"], ["b"])], name, [], [onnx.ValueInfoProto(name="b")])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    nodes = [
        node("Equal", ["rate", "high"], ["is_high"]),
        node("If", ["is_high"], ["y"], **branches),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("rate", TensorProto.INT64, []),
    ]
    high = numpy_helper.from_array(np.array(16000), "high")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph(nodes, "m", inputs, [output], [high])
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "m.onnx")
    done = atc("fix", "m.onnx", "--bind", "rate=16000")
    assert done.status == 0, done.err
    written = onnx.load("m.fixed.onnx").graph
    assert [each.name for each in written.input] == ["x"]
    assert {each.op_type for each in written.node} <= {"Identity", "Neg"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "window-2d"), "the nearest is window-1d"),
        (("--bind", "rate"), "is not NAME=VALUE"),
        (("--bind", "z=1"), "no input 'z'"),
        (("--bind", "x=one"), "no number"),
        (("--range", "x=1"), "is not NAME=LOW:HIGH"),
        (("--range", "1:2", "--range", "*=1:2"), "is not NAME=LOW:HIGH"),
        (("--range", "x=2:1"), "has no value"),
        (("-o", "m.onnx"), "is a file that is read"),
    ],
)
def test_bad_options_are_refused(atc: Atc, arguments: tuple[str, ...], words: str) -> None:
    done = atc("fix", signals(), *arguments)
    assert (done.status, BAD_OPTION.id in done.err) == (2, True), done.err
    assert words in done.err
    assert [*Path().iterdir()] == [Path("m.onnx")]


def test_rules_without_fix_have_no_effect_and_are_refused(atc: Atc) -> None:
    done = atc("convert", signals(), "--bind", "x=1")
    assert done.status == 2
    assert "--bind has no effect without --fix" in done.err


def lying(apply: Callable[[RuleContext], Sequence[str]], *operators: str) -> FixRule:
    """Return a rule that claims to be exact."""
    case = all_draws()["window-1d"](np.random.default_rng(0))
    words = rule.load_rules()["window-1d"].words
    return FixRule("lying", frozenset(operators), Exactness.EQUAL, words, case, None, (), apply)


def test_a_rule_that_changes_results_writes_nothing(
    atc: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply(ctx: RuleContext) -> Sequence[str]:
        return [ctx.op("Relu", ctx.name(0))]

    monkeypatch.setitem(rule.load_rules(), "lying", lying(apply, "Mish"))
    monkeypatch.delitem(rule.load_rules(), "function-body")
    graph = write([node("Abs", ["x"], ["y"])])
    model = onnx.load(graph)
    model.graph.node[0].op_type = "Mish"
    model.opset_import[0].version = 18
    onnx.save(model, graph)
    done = atc("fix", graph)
    assert (done.status, FIX_DIFFERS.id in done.err) == (4, True), done.err
    assert [*Path().iterdir()] == [Path("m.onnx")]


def test_rules_that_undo_each_other_end(atc: Atc, monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(ctx: RuleContext) -> Sequence[str]:
        return [ctx.op("Mish", ctx.name(0))]

    monkeypatch.setitem(rule.load_rules(), "lying", lying(apply, "Mish"))
    graph = write([node("Abs", ["x"], ["y"])])
    model = onnx.load(graph)
    model.graph.node[0].op_type = "Mish"
    model.opset_import[0].version = 18
    onnx.save(model, graph)
    done = atc("fix", graph)
    assert (done.status, FIX_NOT_SETTLED.id in done.err) == (4, True), done.err
    assert [*Path().iterdir()] == [Path("m.onnx")]


def test_the_python_interface_refuses_unknown_keywords() -> None:
    with pytest.raises(TypeError, match="seeds"):
        atc_py.fix_model(signals(), seed=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ranges"):
        atc_py.convert(signals(), fix={"range": {}})  # type: ignore[arg-type]


def test_the_record_names_new_nodes_assumptions_and_limits(atc: Atc) -> None:
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, [4]),
        helper.make_tensor_value_info("base", TensorProto.INT64, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16]),
    ]
    weights = numpy_helper.from_array(np.ones((4, 3, 3), np.float32), "w")
    nodes = [
        node("Sub", ["ids", "base"], ["y"], "shift"),
        node("Conv", ["x", "w"], ["z"], "conv"),
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in "yz"]
    graph = helper.make_graph(nodes, "m", inputs, outputs, [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), "m.onnx")
    done = json.loads(
        atc("fix", "m.onnx", "--range", "ids=0:30521", "--bind", "base=7", "--json").out
    )
    shift, conv = done["rewrites"]
    said = [each["en"] for each in shift["assumptions"]]
    assert said[:2] == ["base = 7", "ids in [0, 30521]"]
    assert len(said) > 2, "the condition of the rule"
    assert all("30521" not in each["en"] for each in conv["assumptions"])
    assert (shift["limit"], conv["limit"]) == (0.0, 1e-5)
    written = onnx.load("m.fixed.onnx").graph.node
    for each in (shift, conv):
        assert [new["operator"] for new in each["new"]] == each["after"]
        assert all(
            (written[new["position"]].name, written[new["position"]].op_type)
            == (new["name"], new["operator"])
            for new in each["new"]
        )
    assert done["verdicts"]["before"] == "error"
    assert done["verdicts"]["after"] != "error"
    assert (done["bound"], done["ranges"]) == ({"base": 7}, {"ids": [0, 30521]})


def test_each_finding_that_is_left_is_said_once(atc: Atc) -> None:
    onnx.save(one_node_model("Unique", {"x": np.ones((2, 3), np.float32)}, 11), "m.onnx")
    done = atc("fix", "m.onnx")
    assert done.status == 1
    assert done.err == ""
    assert done.out.count("Unique is not on the operator list") == 1
    assert done.out.count("ATC3001") == 1


def test_data_of_the_user_replace_random_data(atc: Atc) -> None:
    model = signals()
    image = np.random.default_rng(3).standard_normal((1, 3, 16)).astype(np.float32)
    np.save("x.npy", image)
    Path("data").mkdir()
    np.save("data/x.npy", image)
    for given in ("x.npy", "x=x.npy", "data"):
        done = json.loads(atc("fix", model, "--data", given, "--json").out)
        assert done["proof"]["data"] == [given]
        assert done["proof"]["seeds"] == [0]
        assert done["rewrites"][0]["shown"]["runs"] == 1
        Path("m.fixed.onnx").unlink()
    np.save("x.npy", image.astype(np.float64))
    np.save("z.npy", image)
    Path("empty").mkdir()
    for given in ("x.npy", "z=z.npy", "nowhere.npy", "empty"):
        refused = atc("fix", model, "--data", given)
        assert refused.status in {2, 3}
        assert "error[ATC" in refused.err
        assert not Path("m.fixed.onnx").exists()


def test_the_fixed_model_runs_in_the_precision_of_the_target(atc: Atc) -> None:
    done = json.loads(atc("fix", signals(), "--json").out)
    target = done["target"]
    assert (target["soc"], target["precision_mode"]) == ("sim", "force_fp16")
    assert 0.999 < target["outputs"]["y"]["cosine"] < 1
    assert 0 < target["outputs"]["y"]["error"] < 1e-2
    times = [each["microseconds"] for each in done["rewrites"]]
    assert all(each > 0 for each in times)
    assert sum(times) <= target["microseconds"]
    exact = json.loads(
        atc("fix", "m.onnx", "--precision-mode", "must_keep_origin_dtype", "--json").out
    )
    assert exact["target"]["outputs"]["y"]["error"] < 1e-5
    assert json.loads(atc("fix", "m.onnx", "--no-simulator", "--json").out)["target"] is None


def test_a_fixed_model_that_does_not_compile_is_reported(atc: Atc) -> None:
    unlisted = node("NonZero", ["x"], ["positions"], "positions")
    nodes = [unlisted, node("Mish", ["x"], ["y"])]
    model = onnx.load(write(nodes))
    model.opset_import[0].version = 18
    model.graph.output.append(onnx.ValueInfoProto(name="positions"))
    model.graph.node[0].op_type = "Unique"
    model.graph.node[0].output[:] = ["positions"]
    onnx.save(model, "m.onnx")
    done = atc("fix", "m.onnx", "--json")
    assert done.status == 1
    found = json.loads(done.out)
    assert found["target"]["outputs"] == {}
    assert found["target"]["failed"]
    assert Path("m.fixed.onnx").exists()
