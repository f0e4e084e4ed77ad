"""Sessions: made of paths, bytes and offline models, run like onnxruntime's."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py import AtcError, InferenceSession
from atc_py.system.structs import replace
from tests.adapters.session.models import expected, layer, rows


def test_model_runs_for_each_set_of_shapes() -> None:
    session = InferenceSession(layer().SerializeToString())
    assert list(session.compilations) == []
    for count in (1, 4, 1):
        (made,) = session.run(None, {"x": rows(count)})
        np.testing.assert_array_equal(made, expected(rows(count)))
    assert [each.shapes for each in session.compilations] == [{"x": (1, 3)}, {"x": (4, 3)}]
    assert session.kept == ({"x": (4, 3)}, {"x": (1, 3)})
    assert session.runs == 3
    assert session.run_seconds > 0
    assert all(each.seconds > 0 and each.nbytes > 0 for each in session.compilations)


def test_model_without_open_dims_compiles_at_once(tmp_path: Path) -> None:
    onnx.save(layer((2, 3)), tmp_path / "model.onnx")
    session = InferenceSession(tmp_path / "model.onnx")
    assert len(session.compilations) == 1
    (made,) = session.run(["y"], {"x": rows(2)})
    np.testing.assert_array_equal(made, expected(rows(2)))


def test_offline_model_runs_as_it_is(tmp_path: Path) -> None:
    onnx.save(layer((2, 3)), tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    data = (tmp_path / "model.om").read_bytes()
    for given in (str(tmp_path / "model.om"), data):
        session = InferenceSession(given)
        (made,) = session.run([], {"x": rows(2)})
        np.testing.assert_array_equal(made, expected(rows(2)))
        assert [str(each) for each in session.get_inputs()] == [
            "NodeArg(name='x', type='tensor(float)', shape=[2, 3])"
        ]
        assert session.get_modelmeta().custom_metadata_map["precision_mode"] == "force_fp16"


def test_refused_model_is_refused_by_the_constructor() -> None:
    model = layer()
    model.graph.node[0].op_type = "Nonsense"
    with pytest.raises(AtcError, match="Nonsense"):
        InferenceSession(model.SerializeToString())


def test_every_finding_of_a_refused_model_is_reported() -> None:
    model = layer()
    for node in model.graph.node:
        node.op_type = "Mish"
        del node.input[1:]
    model.opset_import[0].version = 18
    with pytest.raises(AtcError) as caught:
        InferenceSession(model.SerializeToString())
    places = {each.place.node for each in caught.value.diagnostics if each.place}
    assert places == {0, 1}


def test_errors_that_a_choice_of_dims_refutes_refuse_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_findings(known: Any, *_: object) -> Any:
        return replace(known.checked.check, findings=(), faults=())

    monkeypatch.setattr("atc_py.pipeline.open_model_report.open_check", without_findings)
    model = layer()
    model.graph.node[0].op_type = "Nonsense"
    session = InferenceSession(model.SerializeToString())
    with pytest.raises(AtcError, match="Nonsense"):
        session.run(None, {"x": rows(1)})


def test_session_does_not_need_onnxruntime(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "import numpy, atc_py\n"
        "session = atc_py.InferenceSession(sys.argv[1])\n"
        "feed = {'x': numpy.ones((2, 3), numpy.float32)}\n"
        "print(session.run_with_ort_values(None, feed)[0].numpy().tolist())\n"
        "try: session.run(['z'], feed)\n"
        "except atc_py.AtcError as error: print(type(error) is atc_py.AtcError)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.onnx")],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "[[2.0, 0.0, 1.5], [2.0, 0.0, 1.5]]\nTrue\n"
