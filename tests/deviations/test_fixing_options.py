"""`--for cann`: applied on request alone, named by the check, at opsets that the parser has."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import atc_py
from atc_py.cli.main import cli
from atc_py.diag import AtcError
from atc_py.diag.codes import REFUSED_BY_PARSER
from tests.end_to_end import one_node_model

X = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
SELU = {"alpha": 1.5}
ATC_FAILED = 255


def saved(folder: Path, op: str, opset: int, **attributes: Any) -> Path:
    path = folder / "model.onnx"
    onnx.save(one_node_model(op, {"x0": X}, opset, **attributes), path)
    return path


def parser_findings(path: Path, **options: object) -> list[str]:
    (model,) = atc_py.check_models(path, **options).models  # type: ignore[arg-type]
    return [each.rule for each in model.findings if each.certainty]


def test_rules_for_cann_apply_on_request_alone(tmp_path: Path) -> None:
    path = saved(tmp_path, "Selu", 13, **SELU)
    assert atc_py.fix_model(path, dry_run=True, seeds=0).rewrites == ()
    (found,) = atc_py.fix_model(path, dry_run=True, seeds=0, for_cann=True).rewrites
    assert found.rules == ("selu-as-elu",)


def test_check_and_fix_name_rule_and_option(tmp_path: Path) -> None:
    path = saved(tmp_path, "Selu", 13, **SELU)
    shown = CliRunner().invoke(cli, ["check", str(path)]).output
    assert "fixed by: atc-py fix --for cann (selu-as-elu)" in shown
    target = tmp_path / "out.onnx"
    done = CliRunner().invoke(cli, ["fix", str(path), "--for", "cann", "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert not parser_findings(target)


def test_what_no_rule_removes_stays_in_the_report(tmp_path: Path) -> None:
    path = saved(tmp_path, "Multinomial", 13, sample_size=2)
    done = CliRunner().invoke(cli, ["fix", str(path), "--for", "cann", "--seeds", "0"])
    assert done.exit_code == 1
    assert "sample_size" in done.output


def test_a_model_is_stated_at_an_opset_that_the_parser_has(tmp_path: Path) -> None:
    path, fixed = saved(tmp_path, "Sigmoid", 20), tmp_path / "fixed.onnx"
    options = {"operator_list": "cann-9.0"}
    for cann, newest in ((9, 18), (5, 15)):
        assert parser_findings(path, cann=cann, **options) == ["parser/opset"]
        done = atc_py.fix_model(path, fixed, for_cann=True, cann=cann, operator_list="cann-9.0")
        assert done.left == ()
        assert done.opset == (20, newest)
        assert not parser_findings(fixed, cann=cann, **options)


def exported() -> onnx.ModelProto:
    """What torch writes at opset 20: operators that no listed opset has in common, and allowzero."""
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [4, -1])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [3], [1, 2, 3])
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"], allowzero=1),
        helper.make_node("LayerNormalization", ["r", "scale"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 3])
    graph = helper.make_graph(nodes, "g", [x], [y], [shape, axes, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_operators_without_a_listed_opset_in_common_are_stated_where_the_parser_has_all(
    tmp_path: Path,
) -> None:
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(exported(), path)
    (found,) = atc_py.check_models(path).models[0].findings[:1]
    assert (found.rule, found.place.node) == ("parser/opset", None)
    assert found.help.en.startswith("everything else is supported; ")
    done = atc_py.fix_model(path, fixed, for_cann=True)
    assert (done.opset, done.left) == ((20, 18), ())
    assert not parser_findings(fixed)


def test_allowzero_is_dropped_where_no_dim_is_zero(tmp_path: Path) -> None:
    model = exported()
    del model.graph.node[1]
    model.graph.node[1].input[0] = "r"
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert atc_py.fix_model(path, fixed, for_cann=True).opset == (20, 12)
    assert not onnx.load(fixed).graph.node[0].attribute


def test_atc_fails_where_check_says_that_its_parser_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # atc writes its report there
    path, out = saved(tmp_path, "Sigmoid", 20), tmp_path / "m"
    atc_py.convert(path, tmp_path / "taken.om")
    words = [f"--model={path}", "--framework=5", "--soc_version=Ascend310P3", f"--output={out}"]
    done = CliRunner().invoke(cli, ["atc", *words])
    assert done.exit_code == ATC_FAILED
    assert "E13010" in done.output


def test_operators_that_the_parser_does_not_have_are_rewritten(tmp_path: Path) -> None:
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    scale = {"scale": np.ones(4, np.float32)}
    onnx.save(one_node_model("LayerNormalization", {"x0": X}, 17, constants=scale), path)
    options = {"operator_list": "cann-9.0", "cann": 5}
    done = atc_py.fix_model(path, fixed, for_cann=True, operator_list="cann-9.0", cann=5)
    assert done.left == ()
    assert "layer-norm-as-steps" in done.rewrites[0].rules
    assert not parser_findings(fixed, **options)


def test_convert_compiles_the_new_form(tmp_path: Path) -> None:
    path = saved(tmp_path, "Selu", 13, **SELU)
    made = []
    for semantics in ("onnx", "cann"):
        done = atc_py.convert(
            path, tmp_path / f"{semantics}.om", fix={"for_cann": True}, semantics=semantics
        )
        made.append(done.output.read_bytes())
    assert made[0] == made[1]


def test_a_node_has_the_deviations_of_the_list_that_took_it(tmp_path: Path) -> None:
    # base has a form for a Conv of volumes, too, and refuses its rank.
    path = tmp_path / "model.onnx"
    volume = np.ones((1, 2, 4, 4, 4), np.float32)
    filters = {"w": np.ones((1, 2, 3, 3, 3), np.float32)}
    model = one_node_model(
        "Conv", {"x0": volume}, 13, constants=filters, auto_pad="SAME_UPPER", kernel_shape=[3, 3, 3]
    )
    onnx.save(model, path)
    assert parser_findings(path) == ["Conv/cann/same-padding-of-volumes-refused"]
    with pytest.raises(AtcError) as caught:
        atc_py.convert(path, tmp_path / "model.om", semantics="cann", soc="Ascend910B3")
    assert [each.code for each in caught.value.diagnostics] == [REFUSED_BY_PARSER]
