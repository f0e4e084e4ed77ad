"""Options of `convert` as keywords of a session."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py import AtcError, InferenceSession
from tests.adapters.session.models import expected, layer, rows


def scaled_by_input(operator: str = "Mish") -> bytes:
    """Return `y = operator(x) * k` with a batch that is open and an integer input `k`."""
    graph = helper.make_graph(
        [
            helper.make_node(operator, ["x"], ["m"]),
            helper.make_node("Cast", ["k"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["m", "f"], ["y"]),
        ],
        "scaled",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]),
            helper.make_tensor_value_info("k", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
    )
    imports = [helper.make_opsetid("", 18)]
    data: bytes = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    return data


def test_rules_fix_a_refused_model() -> None:
    data = scaled_by_input()
    with pytest.raises(AtcError, match="Mish"):
        InferenceSession(data)
    session = InferenceSession(data, fix={})
    other = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    for count in (1, 2):
        feeds = {"x": rows(count), "k": np.array(3)}
        np.testing.assert_allclose(
            session.run(None, feeds)[0], other.run(None, feeds)[0], rtol=0.01, atol=0.01
        )
    assert [each.shapes for each in session.compilations] == [{"x": (1, 3)}, {"x": (2, 3)}]


def test_bound_input_accepts_its_value_alone() -> None:
    session = InferenceSession(scaled_by_input("Relu"), fix={"bind": {"k": 3}})
    (found,) = session.run(None, {"x": rows(2), "k": np.array(3)})
    np.testing.assert_array_equal(found, 3 * np.maximum(rows(2), 0))
    assert [each.name for each in session.get_inputs()] == ["x", "k"]
    with pytest.raises(AtcError, match="input 'k' was fixed to 3") as caught:
        session.run(None, {"x": rows(2), "k": np.array(4)})
    assert caught.value.diagnostics[0].code.id == "ATC1007"


def test_given_dims_compile_at_once() -> None:
    session = InferenceSession(layer().SerializeToString(), input_shape="x:2,3")
    assert len(session.compilations) == 1
    assert session.get_inputs()[0].shape == [2, 3]
    assert session.get_outputs()[0].shape == [2, 3]
    np.testing.assert_array_equal(session.run(None, {"x": rows(2)})[0], expected(rows(2)))
    with pytest.raises(AtcError, match="must be"):
        session.run(None, {"x": rows(1)})


def test_dims_of_one_input_may_be_given() -> None:
    model = layer()
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["M"]))
    session = InferenceSession(model.SerializeToString(), input_shape={"z": (5,)})
    feeds = {"x": rows(2), "z": np.zeros(5, np.float32)}
    np.testing.assert_array_equal(session.run(None, feeds)[0], expected(rows(2)))
    assert session.kept == ({"x": (2, 3)},)


def test_options_change_what_is_computed(tmp_path: Path) -> None:
    """A session computes what `convert` with the same options and `load` compute, bit by bit."""
    data = layer((2, 3)).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(data)
    feeds = {"x": rows(2) + np.float32(2**-13)}
    results = []
    for mode in ("force_fp16", "must_keep_origin_dtype"):
        om = tmp_path / f"{mode}.om"
        atc_py.convert(tmp_path / "model.onnx", om, precision_mode=mode, soc="Ascend910B1")
        with atc_py.load(om) as model:
            wanted = model.run(feeds)["y"]
        session = InferenceSession(data, precision_mode=mode, soc="Ascend910B1")
        np.testing.assert_array_equal(session.run(None, feeds)[0], wanted)
        results.append(wanted)
    assert not np.array_equal(results[0], results[1])


def test_compiler_warns_in_the_record() -> None:
    session = InferenceSession(layer((2, 3)).SerializeToString(), soc="Ascend910_95")
    codes = [each.code.name for each in session.compilations[0].warnings]
    assert codes == ["former-soc-name"]
