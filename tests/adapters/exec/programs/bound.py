"""A program that feeds a model two values in turn."""

from __future__ import annotations

import sys

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1])
data = np.ones((1, 8), np.float32)
found = [
    float(session.run(None, {"x": data, "k": np.full(1, value, np.float32)})[0][0, 0])
    for value in (2, 3, 2, 3)
]
sys.stdout.write(f"{found}\n")
