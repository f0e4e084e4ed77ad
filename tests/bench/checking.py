"""`check` of a deep network beside onnx.checker with shape inference, whole processes."""

import sys
from pathlib import Path

from tests.bench.measuring import MIB, ROUNDS, cheapest, measure, say, say_costs

ONNX = """
import sys, onnx
onnx.checker.check_model(sys.argv[1], full_check=True)
"""


def checking(path: Path) -> None:
    """Measure the whole-process check of one model by both, in turn."""
    size = path.stat().st_size
    commands = {
        "atc-py": [sys.executable, "-m", "atc_py", "check", str(path), "--fail-on", "error"],
        "onnx.checker": [sys.executable, "-c", ONNX, str(path)],
    }
    costs = {
        tool: cheapest(measure(command) for _ in range(ROUNDS))
        for tool, command in commands.items()
    }
    say(f"check {path.stem}: {size / MIB:.0f} MiB, whole process, best of {ROUNDS}")
    say_costs(costs, size)
