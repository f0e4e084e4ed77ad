"""Runs with bound inputs and outputs, with OrtValues, and in a thread of their own."""

import sys
import threading
from typing import Any

import numpy as np
import onnxruntime
import pytest

from atc_py import AtcError, InferenceSession
from atc_py.adapters.session.values import SessionValue
from tests.adapters.session.models import expected, layer, rows

OPEN = layer().SerializeToString()


@pytest.fixture(scope="module")
def session() -> Any:
    return InferenceSession(OPEN)


@pytest.fixture(params=["with onnxruntime", "without"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without":
        monkeypatch.delitem(sys.modules, "onnxruntime")
    return str(request.param)


def test_bound_arrays_run(session: Any, library: str) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    (made,) = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(made, expected(rows(2)))
    (value,) = binding.get_outputs()
    np.testing.assert_array_equal(value.numpy(), made)
    assert isinstance(value, SessionValue) == (library == "without")
    assert value.shape() == [2, 3]
    assert value.data_type() == "tensor(float)"
    assert value.element_type() == 1
    assert value.device_name() == "cpu"
    assert value.tensor_size_in_bytes() == 24
    assert value.is_tensor()
    assert value.has_value()
    assert not value.is_sparse_tensor()
    assert not value.is_tensor_sequence()
    if library == "without" or hasattr(value, "__array__"):  # onnxruntime's own lacks it in 1.23
        np.testing.assert_array_equal(np.asarray(value), made)


def test_outputs_feed_the_next_run(session: Any, library: str) -> None:
    del library
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_output("y", "cpu")
    session.run_with_iobinding(binding)
    binding.bind_ortvalue_input("x", binding.get_outputs()[0])
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected(expected(rows(2))))


def test_memory_is_read_and_written(session: Any) -> None:
    data, target = rows(2), np.zeros((2, 3), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, data.shape, data.ctypes.data)
    binding.bind_output("y", "cpu", 0, 1, target.shape, target.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, expected(data))
    data += 1
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, expected(data))


@pytest.mark.parametrize("made", [onnxruntime.OrtValue.ortvalue_from_numpy, SessionValue])
def test_value_gets_the_output(session: Any, made: Any) -> None:
    target = made(np.zeros((2, 3), np.float32))
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_ortvalue_output("y", target)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target.numpy(), expected(rows(2)))
    assert binding.get_outputs()[0] is target


def test_values_in_and_out(session: Any, library: str) -> None:
    value = SessionValue(rows(2))
    (made,) = session.run_with_ort_values(["y"], {"x": value})
    np.testing.assert_array_equal(made.numpy(), expected(rows(2)))
    if library == "with onnxruntime":
        value = onnxruntime.OrtValue.ortvalue_from_numpy(rows(2))
        (made,) = session.run_with_ort_values(None, {"x": value})
        np.testing.assert_array_equal(made.numpy(), expected(rows(2)))


def test_bindings_are_cleared(session: Any) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_output("y")
    binding.synchronize_inputs()
    binding.synchronize_outputs()
    binding.clear_binding_inputs()
    with pytest.raises(AtcError, match="no data was given"):
        session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []
    with pytest.raises(AtcError, match="no output is bound") as caught:
        session.run_with_iobinding(binding)
    assert isinstance(caught.value, RuntimeError)


def small(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("bind", "code", "text"),
    [
        (lambda b: b.bind_cpu_input("q", rows(1)), "ATC1022", "no input 'q'"),
        (lambda b: b.bind_output("q"), "ATC1022", "no output 'q'"),
        (lambda b: b.bind_output("y", "cuda"), "ATC1040", "memory of the device 'cuda'"),
        (lambda b: b.bind_input("x", "npu", 0, "f", (1,), 8), "ATC1040", "device 'npu'"),
        (lambda b: b.bind_input("x", "cpu", 0, "U3", (1,), 8), "ATC1007", "element type 'U3'"),
        (lambda b: b.bind_input("x", "cpu", 0, 99, (1,), 8), "ATC1007", "element type 99"),
        (lambda b: b.bind_input("x", "cpu", 0, 1, (1,), 0), "ATC1007", "address 0"),
        (lambda b: b.bind_input("x", "cpu", 0, 1, (-1,), 8), "ATC1007", "dims [-1]"),
        (lambda b: b.bind_output("y", buffer_ptr=8), "ATC1007", "needs element_type and shape"),
        (
            lambda b: b.bind_ortvalue_output("y", SessionValue(small((3,)))),
            "ATC1007",
            "is bound to float32 [3]",
        ),
        (
            lambda b: b.bind_ortvalue_output("y", SessionValue(small((2, 3), np.int32))),
            "ATC1007",
            "is bound to int32 [2, 3]",
        ),
    ],
)
def test_bad_binding_is_refused(session: Any, bind: Any, code: str, text: str) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))

    def bind_and_run() -> None:
        bind(binding)
        session.run_with_iobinding(binding)

    with pytest.raises(AtcError) as caught:
        bind_and_run()
    assert caught.value.diagnostics[0].code.id == code
    assert text in str(caught.value)


def test_run_in_a_thread_calls_back(session: Any) -> None:
    found: list[Any] = []
    done = threading.Event()

    def callback(results: Any, data: Any, message: str) -> None:
        found.append((results, data, message))
        done.set()

    session.run_async(["y"], {"x": rows(2)}, callback, "mine")
    assert done.wait(60)
    (results, data, message) = found.pop()
    np.testing.assert_array_equal(results[0], expected(rows(2)))
    assert (data, message) == ("mine", "")
    done.clear()
    session.run_async(["y"], {}, callback, None)
    assert done.wait(60)
    assert found[0][2].startswith("ATC1006")
