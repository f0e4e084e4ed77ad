"""The Python interface is documented: examples run, `help` shows it, notebooks show results."""

import doctest
import inspect
import pydoc
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import CheckReport
from atc_py.report.notebook import result_html
from atc_py.results.layer_comparison import LayerComparison
from atc_py.system import notebook
from tests.cli.conftest import small_model
from tests.cli.test_faults_of_files import quantized

FUNCTIONS = [name for name in atc_py.__all__ if name != "__version__"]
EXAMPLES = ["", *FUNCTIONS, "Model.run", "LayerComparison"]


@pytest.fixture(autouse=True)
def _models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the files that examples name."""
    monkeypatch.chdir(tmp_path)
    model = small_model()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [1, 4, 8, 8]))
    onnx.save(model, "model.onnx")
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Mish", ["x"], ["y"], name="mish")],
        "refused",
        [info("x", 1, [2, 8])],
        [info("y", 1, [2, 8])],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "refused.onnx")
    quantized(tmp_path / "int8.onnx")


def named(path: str) -> Any:
    """Return the package, a name in it, or what `compare_model` returns."""
    if path == "LayerComparison":
        return LayerComparison
    found: Any = atc_py
    for part in path.split(".") if path else ():
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_of_docstrings_run(path: str) -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    text = inspect.getdoc(named(path)) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, path or "atc_py", None, 0)
    # Methods of Model have them, and the class of what compare_model returns.
    if path not in {"Model", "compare_model"}:
        assert test.examples
    assert not any(doctest.SKIP in each.options for each in test.examples)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=report.append)
    assert report == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_and_error_is_documented(name: str) -> None:
    found = named(name)
    if not inspect.isfunction(inspect.unwrap(found)):
        assert len((inspect.getdoc(found) or "").splitlines()) > 3
        return
    text = inspect.getdoc(found) or ""
    for parameter in inspect.signature(found).parameters:
        assert f"{parameter}:" in text, parameter
    assert "Raises:" in text


def test_help_names_everything_public() -> None:
    pages: Any = pydoc  # its stubs leave the functions that make pages out
    text = pages.plain(pages.render_doc(atc_py))
    for name in FUNCTIONS:
        assert f"    {name} " in text
    assert "Arrays are numpy's" in text


@pytest.mark.parametrize("kind", ["check", "comparison", "profile"])
def test_notebooks_show_results_as_tables(kind: str) -> None:
    result: Any
    if kind == "check":
        result = atc_py.check_models(["model.onnx", "refused.onnx"])
    elif kind == "comparison":
        result = atc_py.compare_model("model.onnx")
    else:
        result = atc_py.profile_model("model.onnx", ["Ascend310P3"])
    text = result._repr_html_()
    assert text.startswith('<div class="atc-py">')
    assert text.count("<pre>") == text.count("</pre>")
    words = {
        "check": "Mish is not on the operator list",
        "comparison": "Outputs",
        "profile": "Ascend310P3",
    }[kind]
    assert words in text
    if kind != "comparison":
        assert "<table>" in text


def test_names_of_models_are_text_in_notebooks() -> None:
    model = onnx.load("refused.onnx")
    model.graph.node[0].name = "<script>alert(1)</script>"
    onnx.save(model, "evil.onnx")
    text = atc_py.check_models("evil.onnx")._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_other_values_have_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="str has no report"):
        result_html("text")
    monkeypatch.setattr(notebook, "_renderers", [])
    assert CheckReport((), "", "")._repr_html_().startswith("<pre>CheckReport(")
