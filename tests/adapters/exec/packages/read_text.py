"""Reads lines and a page of rendered text with the package rapidocr-onnxruntime; prints the text."""

from __future__ import annotations

import json
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

LINES = (
    "Matrix multiplication 4096",
    "The quick brown fox jumps",
    "over the lazy dog, twice.",
    "Invoice No. 20417-B",
    "Total: $1,284.50",
    "float16 has 11 bits",
    "Ascend 310P3",
    "compiled on 2024-05-17",
)


def drawn(lines: tuple[str, ...], size: int) -> np.ndarray:
    """Return an image of lines, one below the other."""
    font = ImageFont.load_default(size)
    height = 2 * size
    image = Image.new("RGB", (26 * size, height * len(lines) + size), "white")
    draw = ImageDraw.Draw(image)
    for at, line in enumerate(lines):
        draw.text((size, at * height + size // 2), line, fill="black", font=font)
    return np.asarray(image)


def main() -> None:
    """Read."""
    read = RapidOCR()
    found = []
    for line in LINES:
        texts, _ = read(
            drawn((line,), 32)[:64, : 32 * 2 + 17 * len(line)], use_det=False, use_cls=False
        )
        found.append([each[0] for each in texts or ()])
    page, _ = read(drawn(LINES, 32))
    sys.stdout.write(json.dumps([found, [each[1] for each in page or ()]], indent=1) + "\n")


main()
