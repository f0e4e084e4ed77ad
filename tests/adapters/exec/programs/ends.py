"""A program that runs a model, and then ends in one of many ways, or waits for a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import onnxruntime as ort

model, way = sys.argv[1:3]
session = ort.InferenceSession(model)
session.run(
    None, {session.get_inputs()[0].name: np.ones(session.get_inputs()[0].shape, np.float32)}
)
if way == "exit":
    sys.exit(int(sys.argv[3]))
if way == "_exit":
    os._exit(int(sys.argv[3]))
if way == "killed":
    time.sleep(0.05)  # the record of the run is written when it has cost less than 5 % of the time
    os.kill(os.getpid(), int(sys.argv[3]))
if way == "raises":
    raise ValueError("of the program's own")
if way == "handles":
    signal.signal(int(sys.argv[3]), lambda *_: sys.exit(33))
sys.stdout.write("ready\n")
sys.stdout.flush()
threading.Event().wait(60)
