"""`make demo`: a real ResNet-50 from ONNX file to simulated NPU, one command at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx

MODEL = "light_resnet50"
SHAPE = (1, 3, 224, 224)
INPUT = "gpu_0/data_0"


def main() -> int:
    """Convert, show, run, compare; the exit status of the first command that fails."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    data = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    write_input(out / "image.npy")
    om, half = out / f"{MODEL}.om", out / f"{MODEL}_float16.om"
    model, expected = str(data / f"{MODEL}.onnx"), str(data / f"{MODEL}_output_0.pb")
    image = f"{INPUT}={out / 'image.npy'}"
    status = 0
    for lines, command in (
        (
            (
                "The onnx package ships a ResNet-50 and the output that it must give for one input.",
                "1. Compile it in the model's own float32; batch normalization goes into the weights.",
                "   (Its weights are made by ConstantOfShape nodes, so the ONNX file is small.)",
            ),
            ("convert", model, "-o", str(om), "--precision-mode", "must_keep_origin_dtype"),
        ),
        (
            ("2. Look into the offline model; any unzip opens it, too.",),
            ("info", str(om)),
        ),
        (
            (
                "3. Run it on the simulated NPU and compare with the output that onnx ships.",
                "   Its 1000 classes are equally likely, because the shipped weights are all alike;",
                "   the tests do the same with random weights against onnxruntime.",
            ),
            ("run", str(om), "--input", image, "--expect", expected, "--profile"),
        ),
        (
            (
                "4. The same in float16, what force_fp16 (the default) makes of it on an NPU. With",
                "   these made-up weights values grow past 65504, the largest float16: the run says",
                "   so before any board does. Trained weights keep values small, see docs.",
            ),
            ("convert", model, "-o", str(half)),
        ),
        ((), ("run", str(half), "--input", image)),
    ):
        status = status or run(lines, *command)
    if status == 0:
        say(f"Done: {om} holds the compiled model. Next: atc-py convert YOUR_MODEL.onnx")
    return status


def write_input(path: Path) -> None:
    """Write the input for which onnx ships the output: 0 to 1 in equal steps."""
    count = int(np.prod(SHAPE))
    np.save(path, (np.arange(count).reshape(SHAPE) / count).astype(np.float32))


def run(lines: tuple[str, ...], *args: str) -> int:
    """Say what comes, show an atc-py command and run it."""
    say(*lines, f"$ atc-py {' '.join(args)}")
    return subprocess.run([sys.executable, "-m", "atc_py", *args], check=False).returncode  # noqa: S603


def say(*lines: str) -> None:
    """Print lines after an empty one."""
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
