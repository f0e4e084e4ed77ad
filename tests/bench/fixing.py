"""`fix` beside `check`: processor time of whole processes, for models with and without rewrites."""

import sys
import tempfile
from pathlib import Path

from tests.bench.measuring import ROUNDS, cheapest, measure, say
from tests.bench.networks import MODELS
from tests.bench.targets import geometric_mean, note

IDLE = (
    "espcn_opset12", "gru_asr_opset13", "lstm_cls_opset11", "mobilenetv2_opset13",
    "resnet_mini_opset9", "swin_mini_opset13", "unet_opset13", "yolo_csp_opset11",
)  # fmt: skip
"""Shared networks that no rule changes."""

REWRITTEN = ("bert_mini_opset11", "bert_mini_opset13", "vit_mini_opset13")
"""Shared networks that rules change; the fixed model is proved on random data and on the simulator."""


def fixing() -> None:
    """Print a line for each network."""
    if not all((MODELS / name / "model.onnx").exists() for name in (*IDLE, *REWRITTEN)):
        say("fix: the shared models are not there")
        return
    for names, what in ((IDLE, "fix with nothing to fix"), (REWRITTEN, "fix that rewrites")):
        say(f"{what} beside check, processor time, best of {ROUNDS}")
        mean = geometric_mean([_ratio(MODELS / name / "model.onnx") for name in names])
        note(f"{what} / check, geometric mean", mean)


def _ratio(path: Path) -> float:
    """Print the line of a network; return the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", str(Path(folder) / "fixed.onnx")] if path.parent.name in REWRITTEN else []
        check, fix = (
            cheapest(
                measure([sys.executable, "-m", "atc_py", command, str(path), *rest])
                for _ in range(ROUNDS)
            ).processor
            for command, rest in (("check", []), ("fix", output))
        )
    say(f"  {path.parent.name:22} {check:7.2f} {fix:7.2f} {fix / check:7.2f}")
    return fix / check


if __name__ == "__main__":
    fixing()
