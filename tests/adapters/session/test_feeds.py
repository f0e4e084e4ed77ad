"""Data that programs feed: taken as onnxruntime takes it, else refused with a code."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from atc_py import AtcError, InferenceSession
from tests.adapters.session.models import expected, layer, rows

STATIC = layer((2, 3)).SerializeToString()
OPEN = layer().SerializeToString()


@pytest.fixture(scope="module")
def sessions() -> dict[str, Any]:
    return {
        "static": InferenceSession(STATIC),
        "open": InferenceSession(OPEN),
        "other": onnxruntime.InferenceSession(STATIC, providers=["CPUExecutionProvider"]),
    }


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x,
        lambda x: x.tolist(),
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        onnxruntime.OrtValue.ortvalue_from_numpy,
    ],
    ids=["array", "list", "columns", "strides", "OrtValue"],
)
def test_data_is_taken_as_onnxruntime_takes_it(
    sessions: dict[str, Any], made: Callable[[Any], Any]
) -> None:
    for name in ("static", "open", "other"):
        (found,) = sessions[name].run(None, {"x": made(rows(2))})
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected(rows(2)))


def test_bytes_in_the_other_order_are_swapped(sessions: dict[str, Any]) -> None:
    (found,) = sessions["static"].run(None, {"x": rows(2).astype(">f4")})
    np.testing.assert_array_equal(found, expected(rows(2)))


def test_whole_numbers_in_a_list_become_floats(sessions: dict[str, Any]) -> None:
    for name in ("static", "other"):
        (found,) = sessions[name].run(None, {"x": [[1, 2, 3], [4, 5, 6]]})
        np.testing.assert_array_equal(found, [[2, 0, 3.5], [5, 3, 6.5]])


@pytest.mark.parametrize(
    ("feed", "code", "kind", "text"),
    [
        ({}, "ATC1006", ValueError, "no data was given for input 'x'"),
        ({"y": rows(2)}, "ATC1006", ValueError, "no data was given for input 'x'"),
        ({"x": rows(2), "q": rows(2)}, "ATC1007", InvalidArgument, "no input 'q'"),
        ({"x": rows(2), "b": rows(1)[0]}, "ATC1007", InvalidArgument, "no input 'b'"),
        ({"x": rows(2).astype(np.float64)}, "ATC1007", InvalidArgument, "found tensor(double)"),
        ({"x": rows(2).astype(np.complex64)}, "ATC1007", InvalidArgument, "tensor(complex64)"),
        ({"x": rows(2)[0]}, "ATC1007", InvalidArgument, "found tensor(float) [3]"),
        ({"x": rows(2).T.copy()}, "ATC1007", InvalidArgument, "found tensor(float) [3, 2]"),
        ({"x": np.float32(1)}, "ATC1007", InvalidArgument, "found float32"),
        ({"x": 1.0}, "ATC1007", InvalidArgument, "found float"),
        ({"x": None}, "ATC1007", InvalidArgument, "found NoneType"),
        ({"x": "text"}, "ATC1007", InvalidArgument, "found str"),
        ({"x": [[1.0], [2.0, 3.0]]}, "ATC1007", InvalidArgument, "found list"),
        ({"x": [["a", "b", "c"]]}, "ATC1007", InvalidArgument, "found list"),
        ([rows(2)], "ATC1007", TypeError, "must map names to arrays, found list"),
    ],
)
def test_bad_data_is_refused(
    sessions: dict[str, Any], feed: Any, code: str, kind: type[Exception], text: str
) -> None:
    for name in ("static", "open"):
        with pytest.raises(AtcError) as caught:
            sessions[name].run(None, feed)
        assert [each.code.id for each in caught.value.diagnostics] == [code]
        assert isinstance(caught.value, kind)
        assert text in str(caught.value)
    with pytest.raises(Exception):  # noqa: B017, PT011  (onnxruntime's own classes)
        sessions["other"].run(None, feed)


def test_all_faults_are_reported_at_once() -> None:
    model = layer((2, 3))
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2]))
    session = InferenceSession(model.SerializeToString())
    with pytest.raises(AtcError) as caught:
        session.run(None, {"x": rows(1), "z": rows(1), "q": 1})
    assert len(caught.value.diagnostics) == 3


@pytest.mark.parametrize(
    ("names", "code", "kind"),
    [(["nope"], "ATC1022", InvalidArgument), ("y", "ATC1001", TypeError)],
)
def test_unknown_output_is_refused(
    sessions: dict[str, Any], names: Any, code: str, kind: type[Exception]
) -> None:
    with pytest.raises(AtcError) as caught:
        sessions["static"].run(names, {"x": rows(2)})
    assert caught.value.diagnostics[0].code.id == code
    assert isinstance(caught.value, kind)


def test_outputs_come_in_the_order_of_their_names() -> None:
    model = layer((2, 3))
    model.graph.output.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 3]))
    session = InferenceSession(model.SerializeToString())
    feed = {"x": rows(2)}
    for names in (None, [], ["y", "s"], ("y", "s")):
        first, second = session.run(names, feed)
        np.testing.assert_array_equal(first, np.maximum(second, 0))
    second, first, again = session.run(["s", "y", "s"], feed)
    np.testing.assert_array_equal(first, np.maximum(second, 0))
    np.testing.assert_array_equal(again, second)


def test_one_element_may_be_fed_to_a_scalar_input() -> None:
    session = InferenceSession(layer(()).SerializeToString())
    for data in (np.array(2, np.float32), np.array([2], np.float32), [2.0]):
        (found,) = session.run(None, {"x": data})
        np.testing.assert_array_equal(found, [3, 0, 2.5])


def test_input_without_a_rank_takes_any_shape() -> None:
    model = layer()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    session = InferenceSession(model.SerializeToString())
    for shape in ((3,), (2, 3), (2, 2, 3)):
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        np.testing.assert_array_equal(session.run(None, {"x": data})[0], expected(data))


def test_override_of_an_initializer_is_refused() -> None:
    model = layer((2, 3))
    model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [3]))
    session = InferenceSession(model.SerializeToString())
    assert [each.name for each in session.get_overridable_initializers()] == ["b"]
    with pytest.raises(AtcError, match="an initializer, and a constant in the compiled model"):
        session.run(None, {"x": rows(2), "b": np.zeros(3, np.float32)})


def test_terminated_run_is_refused(sessions: dict[str, Any]) -> None:
    options = onnxruntime.RunOptions()
    sessions["static"].run(None, {"x": rows(2)}, options)
    options.terminate = True
    with pytest.raises(AtcError, match="terminated by its own options"):
        sessions["static"].run(None, {"x": rows(2)}, options)


def test_errors_go_to_another_process(sessions: dict[str, Any]) -> None:
    with pytest.raises(AtcError) as caught:
        sessions["static"].run(None, {})
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  (it is this test's own)
    assert again.diagnostics == caught.value.diagnostics
    assert isinstance(again, ValueError)
    with pytest.raises(AtcError) as refused:
        InferenceSession(b"no model")
    again = pickle.loads(pickle.dumps(refused.value))  # noqa: S301
    assert str(again) == str(refused.value)
