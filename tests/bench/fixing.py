"""`fix` of models that have nothing to fix, beside `check`: processor time of whole processes."""

import sys

from tests.bench.measuring import ROUNDS, cheapest, measure, say
from tests.bench.networks import MODELS
from tests.bench.targets import geometric_mean, note

IDLE = (
    "espcn_opset12", "gru_asr_opset13", "lstm_cls_opset11", "mobilenetv2_opset13",
    "resnet_mini_opset9", "swin_mini_opset13", "unet_opset13", "yolo_csp_opset11",
)  # fmt: skip
"""Shared networks that no rule changes."""


def fixing() -> None:
    """Print a line for each network."""
    paths = [MODELS / name / "model.onnx" for name in IDLE]
    if not all(path.exists() for path in paths):
        say("fix: the shared models are not there")
        return
    say(f"fix with nothing to fix beside check, processor time, best of {ROUNDS}")
    ratios = []
    for path in paths:
        check, fix = (
            cheapest(
                measure([sys.executable, "-m", "atc_py", command, str(path)]) for _ in range(ROUNDS)
            ).processor
            for command in ("check", "fix")
        )
        ratios.append(fix / check)
        say(f"  {path.parent.name:22} {check:7.2f} {fix:7.2f} {ratios[-1]:7.2f}")
    note("fix with nothing to fix / check, geometric mean", geometric_mean(ratios))


if __name__ == "__main__":
    fixing()
