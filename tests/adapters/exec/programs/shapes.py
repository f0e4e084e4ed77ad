"""A program that runs a model with open dims on two batches, and in every way there is."""

from __future__ import annotations

import sys
import threading

import numpy as np
import onnxruntime as ort

session = ort.InferenceSession(sys.argv[1])
assert session.get_inputs()[0].shape == ["batch", 3, 8, 8]
one, two = (np.ones((count, 3, 8, 8), np.float32) for count in (1, 2))
expected = session.run(None, {"x": one})[0]

binding = session.io_binding()
binding.bind_cpu_input("x", two)
binding.bind_output("y")
session.run_with_iobinding(binding)
assert binding.copy_outputs_to_cpu()[0].shape == (2, 4, 8, 8)

(value,) = session.run_with_ort_values(["y"], {"x": ort.OrtValue.ortvalue_from_numpy(one)})
assert isinstance(value, ort.OrtValue)
assert np.array_equal(value.numpy(), expected)

done = threading.Event()
got: list[tuple[list[np.ndarray], str]] = []


def put(found: list[np.ndarray], _: object, error: str) -> None:
    """Keep what a run called back with."""
    got.append((found, error))
    done.set()


session.run_async(None, {"x": one}, put, 0)
assert done.wait(30)
assert np.array_equal(got[0][0][0], expected)
assert got[0][1] == ""
