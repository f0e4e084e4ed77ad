"""The lines that `explain` prints, in either language."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import shorten

import msgspec
import yaml

from atc_py.diag import Code
from atc_py.report.diagnostics import SEVERITY_TEXTS
from atc_py.text import COLON, Text, in_language

# An author writes:
#
# - `note`: a sentence in each language (`en`, `zh`), where the rest does not say how it comes about.
# - `files`: contents by name: a model in onnx's text form, an array as numpy's expression, or text.
# - `first`: commands that prepare both sides, one a line; their output is not shown.
# - `before`: the command that ends with the code. Of several lines, the output of the last is shown.
# - `fixed`: files that are written before the other side: the fix, where it is in a file.
# - `after`: the command that ends without the code.
# - `fault`: a fault that the tests inject for both sides, where no input causes it.
#
# `prints` is what the two commands print in each language; `make docs` writes it.

FOLDER = Path(__file__).with_name("examples")
SIDES = ("before", "after")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CodeExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that ends with a code, and one that does not."""

    before: str  # the lines whose last one ends with the code
    after: str  # the lines whose last one ends without it
    files: dict[str, str] = {}  # contents of the files that are there before either, by name
    fixed: dict[str, str] = {}  # contents of the files that are written before `after`, by name
    first: str = ""  # lines that prepare both sides
    note: dict[str, str] = {}  # in each language, how the example comes about
    fault: str | None = None  # the name of a fault that is injected for both sides
    # what the last line of each side prints, by side and language
    prints: dict[str, dict[str, str]] = {}

    def lines(self, side: str) -> list[str]:
        return (self.before if side == "before" else self.after).strip().splitlines()


@functools.cache
def example_of(code: str) -> CodeExample | None:
    path = FOLDER / f"{code}.yaml"
    if not path.is_file():
        return None
    found = yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506  (a safe loader)
    return msgspec.convert(found, CodeExample)


def examples() -> dict[str, CodeExample]:
    found = {path.stem: example_of(path.stem) for path in sorted(FOLDER.glob("*.yaml"))}
    return {code: each for code, each in found.items() if each is not None}


_CAUSE, _FIX = Text("Cause"), Text("What to do")
_GIVEN = Text("Example")
_SIDES = {"before": Text("Before"), "after": Text("After")}
_FORMS = {
    ".onnx": Text("{name}, as text"),
    ".npy": Text("{name}, by numpy"),
    ".npz": Text("{name}, by numpy"),
}
"""How the content of a file is shown that is not text itself, by the end of its name."""
_FACTS = Text("{severity}, exit status {status}")
_FOREIGN = Text("a code of Huawei's atc")
_STOP, _SEMICOLON = Text(". "), Text("; ")
_LONGEST = 100
"""Letters of a line in the list of codes."""


def code_page(code: Code, language: str) -> list[str]:
    facts = _FACTS.with_values(severity=SEVERITY_TEXTS[code.severity], status=int(code.exit))
    head = f"{code.id} {code.name} ({facts.in_language(language)})"
    lines = [head, *_cause_and_fix(Text(code.meaning), Text(code.remedy), language)]
    for heading, below in example_parts(code, language):
        lines += ["", heading + COLON.in_language(language).rstrip()]
        lines += [f"  {line}".rstrip() for line in below]
    return lines


def foreign_page(code: str, meaning: Text, remedy: Text, language: str) -> list[str]:
    head = f"{code} ({_FOREIGN.in_language(language)})"
    return [head, *_cause_and_fix(meaning, remedy, language)]


def _cause_and_fix(meaning: Text, remedy: Text, language: str) -> list[str]:
    cause, fix = _CAUSE + COLON + meaning, _FIX + COLON + remedy
    return ["", cause.in_language(language), "", fix.in_language(language)]


def code_list(codes: Iterable[Code], language: str) -> list[str]:
    rows = list(codes)
    width = max(len(row.name) for row in rows)
    return [
        f"{row.id}  {row.name:{width}}  {_first_sentence(row.meaning, language)}" for row in rows
    ]


def _first_sentence(text: str, language: str) -> str:
    whole = in_language(text, language)
    for stop in (_STOP, COLON, _SEMICOLON):
        whole = whole.split(stop.in_language(language))[0].rstrip(stop.in_language(language))
    return shorten(whole, _LONGEST, placeholder=" ...")


def code_json(code: Code, language: str) -> dict[str, object]:
    """The page as JSON values, with `example` null where there is none."""
    found, example = example_of(code.id), None
    if found is not None:
        sides = {
            side: {
                "command": "\n".join(found.lines(side)),
                "output": found.prints[side][language],
            }
            for side in SIDES
        }
        example = {
            "note": found.note.get(language),
            "files": found.files,
            "first": found.first.splitlines(),
            **sides,
            "fixed": found.fixed,
        }
    return {
        **code.as_json(),
        "meaning": in_language(code.meaning, language),
        "remedy": in_language(code.remedy, language),
        "example": example,
    }


def example_parts(code: Code, language: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a code's example: a heading, and the lines below it.

    They are what is given, where there are files or commands before it, and the two sides.
    """
    found = example_of(code.id)
    if found is None:
        return
    given = [*_file_lines(found.files, language), *_commands(found.first.splitlines())]
    if found.note:
        given = [found.note[language], *given]
    if given:
        yield _GIVEN.in_language(language), given
    for side, words in _SIDES.items():
        files = found.fixed if side == "after" else {}
        output = found.prints[side][language].splitlines()
        yield (
            words.in_language(language),
            [*_file_lines(files, language), *_commands(found.lines(side)), *output],
        )


def _file_lines(files: dict[str, str], language: str) -> Iterator[str]:
    for name, content in files.items():
        form = next((words for end, words in _FORMS.items() if name.endswith(end)), None)
        shown = name if form is None else form.with_values(name=name).in_language(language)
        yield shown + COLON.in_language(language).rstrip()
        yield from (f"  {line}".rstrip() for line in content.splitlines())


def _commands(lines: Iterable[str]) -> Iterator[str]:
    return (f"$ {line}" for line in lines)
