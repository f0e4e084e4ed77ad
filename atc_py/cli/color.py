"""Severities in color, on terminals, or as NO_COLOR and FORCE_COLOR say."""

import os
import re
from typing import TextIO

from atc_py.text import Text
from atc_py.text.language import spoken

_HEAD = re.compile(r"^(?:atc-py: )?(?P<level>[\w ]+)\[ATC\d{4}(?: [\w-]+)?\]", re.MULTILINE)
"""The beginning of a finding: `error[ATC2001 file-not-found]`."""

_RED, _YELLOW, _CYAN = "1;31", "1;33", "36"
_STYLES = {
    Text("error", context="level"): _RED,
    Text("warning"): _YELLOW,
    Text("unknown"): _YELLOW,
    Text("parser"): _YELLOW,
    Text("list"): _YELLOW,
    Text("accuracy"): _YELLOW,
    Text("rewrite"): _CYAN,
    Text("aicpu"): _CYAN,
    Text("note"): _CYAN,
}
"""Styles by level, as reports word it; a test compares them with the levels."""


def colored(text: str, stream: TextIO) -> str:
    """Return `text` with the head of each finding in color, where `stream` wants color.

    Nothing else of it is changed, so names from files have no part in it.
    """
    if "[ATC" not in text or not wants_color(stream):
        return text
    return _HEAD.sub(_styled, text)


def wants_color(stream: TextIO) -> bool:
    """Return True if what is written to `stream` may have color.

    NO_COLOR that is not empty forbids it, FORCE_COLOR that is not empty asks for it; otherwise a
    terminal has it that is not `dumb`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _styled(head: re.Match[str]) -> str:
    """Return the head in the color of its level."""
    style = next((style for text, style in _STYLES.items() if spoken(text) == head["level"]), None)
    return head[0] if style is None else f"\x1b[{style}m{head[0]}\x1b[0m"
