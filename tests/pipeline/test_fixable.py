"""Naming of the rules that remove errors: what it costs beside the check itself."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.check.evaluate import check_view
from atc_py.fix import engine
from atc_py.onnx_graph.folding import folded as fold_module
from atc_py.onnx_graph.reading import onnx_file


def activations(path: Path, operator: str = "HardSwish") -> Path:
    """Write a row of three activations."""
    names = ["x", "a", "b", "y"]
    nodes = [helper.make_node(operator, [names[at]], [names[at + 1]], f"n{at}") for at in range(3)]
    graph = helper.make_graph(
        nodes,
        "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opset = helper.make_opsetid("", 14)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_a_refused_model_is_folded_and_checked_once_more_for_its_new_form_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = activations(tmp_path / "m.onnx")
    folds, checks = [], []

    def fold(*args: object) -> object:
        folds.append(args)
        return fold_module.fold_with_branches(*args)  # type: ignore[arg-type]

    def check(*args: object) -> object:
        checks.append(args)
        return check_view(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(onnx_file, "fold_with_branches", fold)
    monkeypatch.setattr(engine, "fold_with_branches", fold)
    monkeypatch.setattr(engine, "check_view", check)
    (found,) = atc_py.check_models(model, operator_list="base").models
    assert all(each.fixed_by == ("function-body",) for each in found.findings if each.fixed_by)
    assert sum(bool(each.fixed_by) for each in found.findings) == 3
    assert (len(folds), len(checks)) == (2, 1)


@pytest.mark.parametrize(("operator", "loaded"), [("Relu", False), ("HardSwish", True)])
def test_rules_are_imported_where_something_is_refused(
    tmp_path: Path, operator: str, *, loaded: bool
) -> None:
    model = activations(tmp_path / "m.onnx", operator)
    code = (
        "import sys, atc_py; "
        f"atc_py.check_models({str(model)!r}, operator_list='base'); "
        "print(any(name.startswith('atc_py.fix.rules.') for name in sys.modules), "
        "'atc_py.fix.engine' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(loaded), str(loaded)]
