"""A program that forks: with a session of before, or one that the child makes."""

from __future__ import annotations

import os
import sys

import numpy as np
import onnxruntime as ort

MODEL, WAY = sys.argv[1:]
FEEDS = {"x": np.ones((1, 3, 8, 8), np.float32)}


def run(session: ort.InferenceSession) -> None:
    """Run and print."""
    sys.stdout.write(f"{session.run(None, FEEDS)[0].shape}\n")
    sys.stdout.flush()


session = ort.InferenceSession(MODEL) if WAY == "before" else None
if session is not None:
    run(session)
child = os.fork()
if child == 0:
    run(session or ort.InferenceSession(MODEL))
    os._exit(5)
_, status = os.waitpid(child, 0)
run(session or ort.InferenceSession(MODEL))
sys.exit(os.waitstatus_to_exitcode(status))
