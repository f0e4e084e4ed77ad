"""Models that a session keeps: the last few, within a bound of memory."""

import gc
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py import AtcError, InferenceSession
from tests.adapters.session.models import expected, layer, rows

OPEN = layer().SerializeToString()


def shapes_of(session: Any) -> list[int]:
    """Return the batches that are compiled now."""
    return [each["x"][0] for each in session.kept]


def run(session: Any, count: int) -> None:
    """Run a batch of that size."""
    (found,) = session.run(None, {"x": rows(count)})
    np.testing.assert_array_equal(found, expected(rows(count)))


def test_shapes_used_longest_ago_are_dropped() -> None:
    session = InferenceSession(OPEN, keep=2)
    for count in (1, 2, 1, 3, 1, 2):
        run(session, count)
    assert shapes_of(session) == [1, 2]
    assert [each.shapes["x"][0] for each in session.compilations] == [1, 2, 3, 2]
    assert session.runs == 6


def test_memory_bounds_what_is_kept() -> None:
    session = InferenceSession(OPEN, keep=100, keep_memory="2M")
    for count in (10_000, 20_000, 30_000, 40_000, 400_000, 50_000):
        run(session, count)
        sizes = {each.shapes["x"][0]: each.nbytes for each in session.compilations}
        held = sum(sizes[each] for each in shapes_of(session))
        assert held <= 2 << 20 or shapes_of(session) == [count]
    assert shapes_of(session) == [50_000]
    assert sizes[50_000] > 50_000 * 3 * 4


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"keep": 0}, "keep must be a whole number from 1"),
        ({"keep": "2"}, "keep must be a whole number from 1"),
        ({"keep_memory": "lots"}, "not a valid memory size"),
    ],
)
def test_bound_that_makes_no_sense_is_refused(option: dict[str, Any], text: str) -> None:
    with pytest.raises(AtcError, match=text) as caught:
        InferenceSession(OPEN, **option)
    assert caught.value.diagnostics[0].code.id == "ATC1001"


def test_model_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    session = InferenceSession(tmp_path / "model.onnx")
    monkeypatch.setattr("atc_py.onnx_graph.reading.read.open_model_file", None)
    (tmp_path / "model.onnx").unlink()
    for count in (1, 2):
        run(session, count)


def test_file_that_changed_is_refused(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    session = InferenceSession(tmp_path / "model.onnx")
    run(session, 1)
    onnx.save(layer(doc_string="longer"), tmp_path / "model.onnx")
    run(session, 1)
    with pytest.raises(AtcError, match="has changed since the session was made"):
        run(session, 2)


def external(folder: Path) -> bytes:
    """Write the weights of a model into `folder`; return the model's bytes."""
    model = layer()
    weights = numpy_helper.to_array(model.graph.initializer[0])
    (folder / "weights.bin").write_bytes(weights.tobytes())
    del model.graph.initializer[0]
    tensor = TensorProto(name="b", data_type=TensorProto.FLOAT, dims=[3])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    model.graph.initializer.append(tensor)
    data: bytes = model.SerializeToString()
    return data


def test_bytes_have_their_weights_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = external(tmp_path)
    with pytest.raises(AtcError, match=r"weights\.bin"):
        InferenceSession(data)
    monkeypatch.chdir(tmp_path)
    session = InferenceSession(data)
    run(session, 2)
    (tmp_path / "weights.bin").write_bytes(bytes(13))
    with pytest.raises(AtcError, match="has changed since the session was made"):
        run(session, 3)


def test_weights_beside_a_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(external(tmp_path))
    run(InferenceSession(tmp_path / "model.onnx"), 2)


def test_shapes_that_do_not_compile_fail_again_at_once() -> None:
    session = InferenceSession(OPEN)
    data = np.zeros((0, 3), np.float32)
    for _ in range(2):
        with pytest.raises(AtcError, match="dims must be at least 1"):
            session.run(None, {"x": data})
    assert session.compilations == ()
    run(session, 1)


def open_product() -> bytes:
    """Return `y = x @ x` with both dims open: only square shapes make sense."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        "square",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "M"])],
    )
    imports = [helper.make_opsetid("", 13)]
    data: bytes = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    return data


def test_shapes_that_the_model_does_not_have_are_refused() -> None:
    session = InferenceSession(open_product())
    with pytest.raises(AtcError):
        session.run(None, {"x": np.ones((2, 3), np.float32)})
    (found,) = session.run(None, {"x": np.eye(2, dtype=np.float32)})
    np.testing.assert_array_equal(found, np.eye(2))


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session = InferenceSession(OPEN)
    for count in (1, 2):
        run(session, count)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(AtcError):
        run(session, 0)
    assert list(tmp_path.iterdir()) == []


def test_dropped_session_releases_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # sessions of other tests release theirs now
    closed: list[Any] = []
    monkeypatch.setattr(
        "atc_py.pipeline.running.model.Model.close", lambda model: closed.append(model)
    )  # noqa: PLW0108  (a method)
    session = InferenceSession(OPEN)
    run(session, 1)
    run(session, 2)
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    assert len(closed) == 2


def test_closed_session_does_not_run() -> None:
    with InferenceSession(OPEN) as session:
        run(session, 1)
    session.close()
    for count in (1, 2):
        with pytest.raises(AtcError, match="the session is closed") as caught:
            run(session, count)
        assert caught.value.diagnostics[0].code.id == "ATC7002"


def test_threads_run_at_once() -> None:
    session = InferenceSession(OPEN, keep=2)
    faults: list[Exception] = []

    def work(first: int) -> None:
        try:
            for step in range(6):
                run(session, 1 + (first + step) % 3)
        except Exception as error:  # noqa: BLE001  (shown by the test)
            faults.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert session.runs == 24
    assert len(session.kept) == 2


def test_threads_compile_for_one_set_of_shapes_once() -> None:
    session = InferenceSession(OPEN)
    threads = [threading.Thread(target=run, args=(session, 2)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(session.compilations) == 1
    assert session.runs == 4
