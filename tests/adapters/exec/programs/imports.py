"""A program that gets the class of sessions in one of many ways."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np


def found(way: str) -> Any:
    """Return the class."""
    if way == "alias":
        import onnxruntime as rt

        return rt.InferenceSession
    if way == "name":
        from onnxruntime import InferenceSession as Session

        return Session
    if way == "module":
        from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession

        return InferenceSession
    if way == "importlib":
        return importlib.import_module("onnxruntime").InferenceSession
    if way == "star":
        names: dict[str, Any] = {}
        exec("from onnxruntime import *", names)  # noqa: S102
        return names["InferenceSession"]
    module = __import__("onnxruntime.capi.onnxruntime_inference_collection")
    importlib.reload(sys.modules["onnxruntime.capi.onnxruntime_inference_collection"])
    importlib.reload(module)
    return module.InferenceSession


model, way = sys.argv[1:]
session = found(way)(model)
sys.stdout.write(f"{session.run(None, {'x': np.ones((1, 3, 8, 8), np.float32)})[0].shape}\n")
