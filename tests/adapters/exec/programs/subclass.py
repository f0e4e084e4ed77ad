"""A program that derives from the class of sessions, pickles its own, and asks for types."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_inference_collection import Session

MODEL = sys.argv[1]
FEEDS = {"x": np.ones((1, 3, 8, 8), np.float32)}


class PickableSession(ort.InferenceSession):  # type: ignore[misc]
    """A session that is pickled as the path of its model."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.path = path

    def __getstate__(self) -> dict[str, str]:
        return {"path": self.path}

    def __setstate__(self, values: dict[str, str]) -> None:
        self.__init__(values["path"])  # type: ignore[misc]


first = PickableSession(MODEL, providers=["CPUExecutionProvider"])
second = pickle.loads(pickle.dumps(first))  # noqa: S301
for session in (first, second, copy.copy(first)):
    assert isinstance(session, PickableSession)
    assert isinstance(session, ort.InferenceSession)
    assert isinstance(session, Session)
    assert session.run(["y"], FEEDS)[0].shape == (1, 4, 8, 8)

options = ort.SessionOptions()
options.intra_op_num_threads = 1
for session in (
    ort.InferenceSession(MODEL, options, ["CPUExecutionProvider"], [{}]),
    ort.InferenceSession(path_or_bytes=Path(MODEL).read_bytes(), sess_options=options),
    ort.InferenceSession(Path(MODEL), providers=[("CPUExecutionProvider", {})]),
):
    assert [each.name for each in session.get_inputs()] == ["x"]
    assert session.get_outputs()[0].name == "y"
    assert session.get_modelmeta().graph_name == "small"
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert isinstance(session.get_session_options(), ort.SessionOptions)
    session.run(None, FEEDS)
    try:
        pickle.dumps(session)
    except TypeError:
        pass
    else:
        raise AssertionError("a session is not pickled")

assert pickle.loads(pickle.dumps(ort.InferenceSession)) is ort.InferenceSession  # noqa: S301
assert "sess_options" in inspect.signature(ort.InferenceSession).parameters


def failure(work: Callable[[], object]) -> str:
    """Return the kind of error that work ends with."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  (onnxruntime's are of many kinds)
        return f"{type(error).__module__} {type(error).__name__}"
    return "none"


for bad in (
    {},
    {"x": np.ones((1, 3, 8), np.float32)},
    {"z": FEEDS["x"]},
    {"x": FEEDS["x"].astype(int)},
):
    sys.stdout.write(failure(partial(first.run, None, bad)) + "\n")
sys.stdout.write(failure(partial(ort.InferenceSession, "none.onnx")) + "\n")
