"""The lines that `explain` prints, in either language; examples come from a file that tests write."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atc_py.diag import COLON, Words
from atc_py.diag.language import in_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from atc_py.diag import Code

__all__ = ["code_json", "code_list", "code_page", "examples"]

_CAUSE, _FIX = Words("Cause", "原因"), Words("What to do", "处理方法")
_SIDES = {"before": Words("Before", "之前"), "after": Words("After", "之后")}
_FACTS = Words("{0}, exit status {1}", "{0}，退出状态 {1}")
_SEVERITIES = {
    "error": Words("error", "错误"),
    "warning": Words("warning", "警告"),
    "note": Words("note", "说明"),
}
_STOPS = {"en": ". ", "zh": "。"}


@functools.cache
def examples() -> dict[str, Any]:
    """Return the examples by code: two commands, and what they print in each language."""
    text = Path(__file__).with_name("examples.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def code_page(code: Code, language: str) -> list[str]:
    """Return the page of a code: cause, fix, and the example if there is one."""
    facts = _FACTS.in_language(language).format(
        _SEVERITIES[code.severity.value].in_language(language), int(code.exit)
    )
    colon = COLON.in_language(language)
    lines = [
        f"{code.id} {code.name} ({facts})",
        "",
        f"{_CAUSE.in_language(language)}{colon}{in_language(code.meaning, language)}",
        "",
        f"{_FIX.in_language(language)}{colon}{in_language(code.remedy, language)}",
    ]
    return [*lines, *_example_lines(code, language)]


def code_list(codes: Iterable[Code], language: str) -> list[str]:
    """Return a line for each code: number, name and cause in one sentence."""
    rows = list(codes)
    width = max(len(row.name) for row in rows)
    stop = _STOPS[language]
    return [
        f"{row.id}  {row.name:{width}}  {in_language(row.meaning, language).split(stop)[0].rstrip('.。')}"
        for row in rows
    ]


def code_json(code: Code, language: str) -> dict[str, object]:
    """Return the page as JSON values, with `example` null where there is none."""
    example = examples().get(code.id)
    if example is not None:
        output = example["output"][language]
        example = {
            side: {"command": example["commands"][side], "output": output[side]} for side in _SIDES
        }
    return {
        **code.as_json(),
        "meaning": in_language(code.meaning, language),
        "remedy": in_language(code.remedy, language),
        "example": example,
    }


def _example_lines(code: Code, language: str) -> Iterator[str]:
    """Yield the two commands of the example with what they print."""
    example = examples().get(code.id)
    if example is None:
        return
    for side, words in _SIDES.items():
        yield ""
        yield words.in_language(language) + COLON.in_language(language).rstrip()
        yield f"  $ {example['commands'][side]}"
        for line in example["output"][language][side].splitlines():
            yield f"  {line}".rstrip()
