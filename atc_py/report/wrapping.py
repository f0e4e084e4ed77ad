"""Text cut into lines by the columns that a terminal gives it; Chinese characters take two."""

import re
import unicodedata

WIDTH = 100
"""Columns of a line of text."""

_WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
)
_CLOSING = "，。；：、）”》」\uff1f\uff01"
_PIECE = rf"[ \n]+|[{_WIDE}][{_CLOSING}]*|[^ \n{_WIDE}]+[{_CLOSING}]*"
"""Spaces, a wide character, or a run of others; closing punctuation stays with what it closes."""

_OPENING = "（“《「"


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def cut(text: str, width: int = WIDTH) -> str:
    """`text` in at most `width` columns; a cut end becomes dots."""
    if columns(text) <= width:
        return text
    while columns(text) > width - 3:
        text = text[:-1]
    return f"{text.rstrip()}..."


def wrap(text: str, first: str = "", rest: str = "", width: int = WIDTH) -> list[str]:
    """Lines of at most `width` columns, unless a single word is longer.

    Args:
        text: running text; its spaces and line breaks are where lines may end.
        first: what stands before it in the first line.
        rest: what stands before it in the others.
        width: columns of a line.
    """
    lines: list[str] = []
    line, blank = first, ""
    has_words = False
    for piece in _pieces(text):
        if piece.isspace():
            blank = " "
            continue
        if has_words and columns(line + blank + piece) > width:
            lines.append(line)
            line, blank = rest, ""
        line += blank + piece if has_words else piece
        has_words, blank = True, ""
    return [*lines, line.rstrip()]


def _pieces(text: str) -> list[str]:
    """The pieces of which lines are made; an opening bracket keeps what it opens."""
    pieces: list[str] = []
    for piece in re.findall(_PIECE, text):
        if pieces and pieces[-1][-1] in _OPENING and not piece.isspace():
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces
