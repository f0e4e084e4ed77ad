"""The text of `--size`: height and width of a network's input."""

from atc_py.diag import BAD_OPTION, Place
from atc_py.text import Text

_MOST = 4096 + 2 * 32
"""Rows or columns that AIPP makes at most: a picture and its borders."""


def parse_size(text: str) -> tuple[int, int]:
    """Height and width.

    Raises:
        AtcError: BAD_OPTION for a text that is not `H,W` with whole numbers in [1, 4160].
    """
    parts = [part.strip() for part in text.split(",")]
    plain = [part for part in parts if part.isascii() and part.isdigit() and len(part) <= 4]  # noqa: PLR2004
    if len(parts) == len(plain) == len("HW"):
        height, width = map(int, plain)
        if min(height, width) >= 1 and max(height, width) <= _MOST:
            return height, width
    raise BAD_OPTION.error(
        Text(
            "--size is height and width in [1, {most}], found {text}",
            most=_MOST,
            text=repr(text[:40]),
        ),
        place=Place(field="--size"),
        help=Text("write --size 224,224"),
    )
