"""The usage that --help prints."""

from collections.abc import Iterator

from atc_py.atc.options import GROUPS, AtcOption, Treatment
from atc_py.report.wrapping import wrap
from atc_py.text import SEMICOLON, Text
from atc_py.text.language import language, spoken

_WIDTH = 100
_INDENT = " " * 6
_MARKS = {Treatment.DOES: "", Treatment.NO_MEANING: "(no effect) ", Treatment.REFUSED: "(refused) "}


def usage_lines() -> Iterator[str]:
    """Yield the usage: every option of atc, and what it does here."""
    yield spoken("usage: atc-py atc <args>")
    yield spoken("generate offline model example:")
    yield "atc-py atc --model=./m.onnx --framework=5 --output=./m --soc_version=Ascend310P3"
    for title, rows in GROUPS.items():
        yield ""
        yield f"===== {spoken(title)} ====="
        for option in rows:
            if option.shown:
                yield from _option_lines(option)


def _option_lines(option: AtcOption) -> Iterator[str]:
    """Yield the lines on one option."""
    yield f"  --{option.name}"
    text = f"{spoken(_MARKS[option.effect])}{spoken(option.words)}"
    semicolon = SEMICOLON.in_language(language())
    if option.values:
        text += f"{semicolon}{', '.join(option.values)}"
    if option.default not in {"", "-1"}:
        text += f"{semicolon}{spoken(Text('default {value}', value=option.default))}"
    yield from wrap(text, _INDENT, _INDENT, _WIDTH)
