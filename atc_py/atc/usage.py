"""The usage that --help prints."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from atc_py.atc.options import GROUPS, Treatment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atc_py.atc.options import AtcOption

__all__ = ["usage_lines"]

_WIDTH = 100
_MARKS = {Treatment.DOES: "", Treatment.NO_MEANING: "(no effect) ", Treatment.REFUSED: "(refused) "}


def usage_lines() -> Iterator[str]:
    """Yield the usage: every option of atc, and what it does here."""
    yield "usage: atc-py atc <args>"
    yield "generate offline model example:"
    yield "atc-py atc --model=./m.onnx --framework=5 --output=./m --soc_version=Ascend310P3"
    for title, rows in GROUPS.items():
        yield ""
        yield f"===== {title} ====="
        for option in rows:
            if option.shown:
                yield from _option_lines(option)


def _option_lines(option: AtcOption) -> Iterator[str]:
    """Yield the lines on one option."""
    yield f"  --{option.name}"
    text = f"{_MARKS[option.effect]}{option.words}"
    if option.values:
        text += f"; {', '.join(option.values)}"
    if option.default not in {"", "-1"}:
        text += f"; default {option.default}"
    yield from wrap(text, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
