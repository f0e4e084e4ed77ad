"""A program that starts Python itself: with its environment, or with one that it makes."""

from __future__ import annotations

import os
import subprocess
import sys

CHILD = """
import numpy, onnxruntime, sys
session = onnxruntime.InferenceSession(sys.argv[1])
print(session.run(None, {"x": numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape)
"""

model, way = sys.argv[1:]
command = [sys.executable, "-c", CHILD, model]
kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH"}}
if way == "inherited":
    subprocess.run(command, check=True)
elif way == "own":
    subprocess.run(command, check=True, env=kept)
elif way == "changed":
    os.environ["PYTHONPATH"] = os.pathsep.join(["elsewhere", os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True)
elif way == "shell":
    sys.exit(os.system(" ".join(map(repr, command)).replace("\\n", "\n")) >> 8)  # noqa: S605
elif way == "spawned":
    sys.exit(os.spawnve(os.P_WAIT, sys.executable, command, kept))  # noqa: S606
else:
    os.execv(sys.executable, command)  # noqa: S606
