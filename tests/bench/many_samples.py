"""Memory and time of a comparison over many samples of an OCR line reader."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.bench.measuring import measure, say
from tests.quantizing.text_lines import READER, text_lines
from tests.trained.wheels import extract, is_cached

MOST_BYTES = 600_000_000
"""Bytes that the whole process may take."""


SAMPLES = 1000


def measured(count: int, folder: Path) -> tuple[float, int]:
    """Return seconds and bytes of a comparison over `count` lines, in a process of its own."""
    reader = extract(READER.wheel, READER.member, folder)
    samples = folder / "lines.npy"
    shape = (count, 3, 48, 320)
    lines = np.lib.format.open_memmap(samples, "w+", np.float32, shape)
    for at in range(count):
        lines[at] = text_lines([at])[0].picture[0]
    lines.flush()
    del lines
    command = [sys.executable, "-m", "atc_py", "compare", str(reader), "--input-shape"]
    command += ["x:1,3,48,320", "--samples", str(samples), "--soc", "Ascend310P3"]
    cost = measure(command)
    return cost.seconds, cost.peak


def many_samples(count: int = SAMPLES) -> None:
    """Print time and memory, where the reader's wheel is there."""
    if not is_cached(READER.wheel):
        say("comparison over many samples: the wheel of the reader is not there, `make trained`")
        return
    with tempfile.TemporaryDirectory() as folder:
        seconds, most = measured(count, Path(folder))
    figures = f"{seconds:.0f} s, {most / 1e6:.0f} MB of {MOST_BYTES / 1e6:.0f}"
    say(f"comparison over {count} samples of the reader of text lines: {figures}")


if __name__ == "__main__":
    many_samples(*map(int, sys.argv[1:]))
