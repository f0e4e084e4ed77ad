"""House style that the linter does not hold: sizes, names, docstrings, and nobody's own paths."""

import ast
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.failures import in_one_item

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "atc_py").rglob("*.py"))
TEXTS = sorted(
    path
    for folder in ("atc_py", "op_specs", "templates", "tests", "docs", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md", ".yaml", ".yml", ".j2", ".toml", ".txt", ".json", ".html"}
)

LINES, MOST_LINES, FUNCTION_LINES = 400, 600, 50

FUNCTIONS = {ast.FunctionDef, ast.AsyncFunctionDef}

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}

# In two parts, so that this file does not contain what it looks for.
MACHINE_PATHS = tuple("/" + start for start in ("work/", "tmp/v/", "home/", "Users/", "root/"))


class Definition(NamedTuple):
    """A function or class of a module, or the module itself, whose name is empty."""

    kind: type[ast.AST]
    name: str
    lines: int
    doc: str


@dataclass(frozen=True)
class Outline:
    """What the tests of style and layers ask of a module, which is parsed once for all of them.

    Attributes:
        definitions: the functions and classes, after the module itself.
        imports: the statements, also those inside functions and for type checking.
    """

    definitions: tuple[Definition, ...]
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@cache
def outline(text: str) -> Outline:
    """Outer statements first; expressions, which take most of a walk's time, are left out."""
    definitions: list[Definition] = []
    imports: list[ast.Import | ast.ImportFrom] = []
    todo: deque[ast.AST] = deque([ast.parse(text)])
    while todo:
        node = todo.popleft()
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1
            name, doc = getattr(node, "name", ""), ast.get_docstring(node) or ""
            definitions.append(Definition(type(node), name, lines, doc))
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            todo.extend(getattr(node, part, ()))
    return Outline(tuple(definitions), tuple(imports))


def size_faults(text: str) -> list[str]:
    """Return the overlong parts of a module of that text, and those without docstring."""
    doc = outline(text).definitions[0].doc
    first = text.partition("\n")[0]
    count = len(text.splitlines())
    faults = []
    if not first.startswith('"""') or not first.strip('" '):
        faults.append("the first line is no docstring")
    if count > MOST_LINES or (count > LINES and f"{LINES} lines" not in doc):
        faults.append(f"{count} lines; over {LINES} the docstring says why, naming `{LINES} lines`")
    return faults + [
        f"{each.name} has {each.lines} lines, {FUNCTION_LINES} are allowed"
        for each in outline(text).definitions
        if each.kind in FUNCTIONS and each.lines > FUNCTION_LINES
    ]


def machine_paths(text: str) -> list[str]:
    """Return lines that mention a path of one machine."""
    return [line for line in text.splitlines() if any(path in line for path in MACHINE_PATHS)]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_modules_are_small_and_documented() -> None:
    found = {shown(path): size_faults(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_module_names_say_what_is_inside() -> None:
    names = {part: path for path in MODULES for part in (path.stem, path.parent.name)}
    assert VAGUE_NAMES.isdisjoint(names), {names[name] for name in VAGUE_NAMES & set(names)}


def test_no_text_mentions_a_path_of_one_machine() -> None:
    found = {shown(path): machine_paths(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_tree_is_looked_at() -> None:
    assert len(MODULES) > 30
    assert Path(__file__).resolve() in TEXTS


DOC = '"""What it holds."""\n'


@in_one_item(
    ("text", "fault"),
    [
        ("x = 1\n", "the first line is no docstring"),
        ("", "the first line is no docstring"),
        ('"""\nLate."""\n', "the first line is no docstring"),
        ('# c\n"""Late."""\n', "the first line is no docstring"),
        (DOC, None),
        (DOC + "x = 1\n" * 399, None),
        (DOC + "x = 1\n" * 400, "401 lines; over 400"),
        ('"""More than 400 lines: a table."""\n' + "x = 1\n" * 599, None),
        ('"""More than 400 lines: a table."""\n' + "x = 1\n" * 600, "601 lines; over 400"),
        (DOC + "def f():\n" + "    x = 1\n" * 49, None),
        (DOC + "def f():\n" + "    x = 1\n" * 50, "f has 51 lines, 50 are allowed"),
        (DOC + "class A:\n async def g():\n" + "  x = 1\n" * 50, "g has 51 lines"),
    ],
)
def test_fault_of_size_is_found(text: str, fault: str | None) -> None:
    faults = size_faults(text)
    assert len(faults) == (fault is not None)
    assert all(found.startswith(fault or "") for found in faults)


@pytest.mark.parametrize("path", MACHINE_PATHS)
def test_machine_path_is_found(path: str) -> None:
    assert machine_paths(f"a\nsee {path}x\nb") == [f"see {path}x"]


RELATIVE = {"What", "Whether", "Who", "Where", "How", "Why", "When", "Which"}


def relative_docstrings(text: str) -> list[str]:
    """Return the functions and classes whose docstring begins with a relative word.

    Rules are left out: Where is an operator that one of them replaces.
    """
    docs = ((each.name, each.doc or ".") for each in outline(text).definitions[1:])
    return [name for name, doc in docs if doc.split()[0] in RELATIVE and " -> " not in doc]


def test_docstrings_name_what_they_document() -> None:
    found = {shown(path): relative_docstrings(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == {}


def test_relative_docstring_is_found() -> None:
    text = 'def f():\n    """Whether it is."""\nclass A:\n    """Answer."""\n'
    assert relative_docstrings(text) == ["f"]


def classes_defined_twice(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the public classes that more than one of the modules defines, with those modules."""
    found: dict[str, list[str]] = {}
    for name, text in texts.items():
        for each in outline(text).definitions:
            if each.kind is ast.ClassDef and not each.name.startswith("_"):
                found.setdefault(each.name, []).append(name)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_class_names_are_unique() -> None:
    texts = {shown(path): path.read_text(encoding="utf-8") for path in MODULES}
    assert classes_defined_twice(texts) == {}


def test_class_defined_twice_is_found() -> None:
    texts = {
        "a": "class X: ...\nclass _P: ...\n",
        "b": "class X: ...\nclass Y: ...\nclass _P: ...\n",
    }
    assert classes_defined_twice(texts) == {"X": ["a", "b"]}


PLAIN_ROOMS = (
    "adapters/exec", "check", "cli", "compare", "cost", "device", "diag", "ir", "kernels", "lowering",
    "onnx_graph/folding", "onnx_graph/reading", "onnx_graph/rewriting", "onnx_graph/source", "options", "package",
    "passes", "pipeline", "quantizing/calibrate", "report", "results", "spec", "system", "target", "tensor",
)  # fmt: skip
PLAIN_WORDS = {
    r"extents?": "dim, dims, shape, length or size",
    r"\b(lies?|lying)\b": "is, is stored, starts at",
    r"\bbehind\b": "after",
    r"(\b|_)h(and|ands|anded|anding)[ _]out": "return, output",
    r"(\b|_|un)told\b": "inferred, known, reported",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bway[ _]out\b": "hint",
    r"\bheld against\b": "compared with",
    r"\bhold(s|ing)? (a|an|the|every|its) [\w ]*\bagainst\b": "check, compare with",
    r"\bborn\b|births?\b": "introduced, origin",
    r"\bfrom (opset )?(\d+|\{\w+\}) on\b": "N or more, as of opset N",
    r"\b(takes?|taken|took|taking)[ _]over\b": "replace, reuse, copy",
    r"\bwithout end\b": "endless, unterminated",
    r"\bone an? (channel|column|row)\b": "one per channel",
    r"\b(that|which|it) (is|are) no \w": "is not a",
    r"\bin the place of\b": "in place of",
    r"ONNX'(?!s)(?=[\s.,;:)]|$)": "ONNX's",
}
"""Words that these rooms, pages and texts do not use, case aside, and what they say instead."""

PLAIN_EXCEPTIONS = (
    r"\w*Extent(IsOne)?\b",  # classes of rules, named by their tags in the YAML files
    r"\b(attr_sum|values_sum|count|count_is_one_or|sum|axis|axes)_(is_)?extent(_is_one)?\b",
    r'"(values_of_)?open_extents"|"birth"|"born"|`born` in the JSON',  # names in JSON documents
    r'"extents?"',  # labels of nodes in compiled models
    r"\b(kept_|run_)?extents(:|=)",  # fields of tilings, which the kernels declare
    r'\b(wide|narrow|numbers)\("[^"]*"',  # their comments in the kernels
)
"""Texts with another meaning or fixed by a format; they are removed before the search."""


ANY_PLAIN_WORD = re.compile("|".join(PLAIN_WORDS), re.IGNORECASE)
PART_OF_PLAIN_WORD = re.compile(
    r"extent|lie|lying|behind|hand[es io_]|told|mend|way[ _]o|against|born|birth|from|[ _]over"
    r"|without|one an? |(is|are) no |in the p|onnx'"
)
"""Letters without which a line of small letters has none of these words; they are found at once."""


def unplain_words(text: str) -> list[str]:
    """Return the lines with a word of PLAIN_WORDS, each with the word and its replacement."""
    found = []
    for line in text.splitlines():
        if not PART_OF_PLAIN_WORD.search(line.lower()) or not ANY_PLAIN_WORD.search(line):
            continue
        rest = re.sub("|".join(PLAIN_EXCEPTIONS), " ", line)
        for word, instead in PLAIN_WORDS.items():
            hit = re.search(word, rest, re.IGNORECASE)
            if hit is not None:
                found.append(f"{hit[0]!r} ({instead}): {line.strip()}")
    return found


def plain_texts() -> list[Path]:
    """Return the files of PLAIN_ROOMS, the pages and the README."""
    rooms = [path for room in PLAIN_ROOMS for path in (ROOT / "atc_py" / room).rglob("*.py")]
    pages = (ROOT / "docs").glob("*.md")
    return sorted([*rooms, *(ROOT / "atc_py").glob("*.py"), *pages, ROOT / "README.md"])


def english_texts(value: Any) -> Iterator[str]:
    """Yield the English sentences of a specification: its summary, notes and other words."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "en":
                yield str(part)
            else:
                yield from english_texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from english_texts(part)


def comments_of_template(text: str) -> list[str]:
    """Return the comments of a template, its own and those of the C++ that it makes."""
    return re.findall(r"\{#.*?#\}|/\*.*?\*/|//[^\n]*(?:\n *//[^\n]*)*", text, re.DOTALL)


def names_and_docstrings(text: str) -> Iterator[str]:
    """Yield the docstrings of a module, and the names of its tests as words."""
    for each in outline(text).definitions:
        yield each.doc
        if each.kind is ast.FunctionDef and each.name.startswith("test_"):
            yield each.name.replace("_", " ")


def unplain_parts(parts: Iterable[str]) -> list[str]:
    """Return the texts with a word of PLAIN_WORDS; a line break is a space."""
    joined = (" ".join(re.sub(r"\n *// ?", " ", part).split()) for part in parts)
    return [found for part in joined for found in unplain_words(part)]


def unplain_files(
    folder: str, pattern: str, parts: Callable[[str], Iterable[str]]
) -> dict[str, list[str]]:
    """Return the texts of files with a word of PLAIN_WORDS, by file."""
    paths = sorted(path for path in (ROOT / folder).rglob(pattern) if path.is_file())
    assert paths
    found = {shown(path): unplain_parts(parts(path.read_text(encoding="utf-8"))) for path in paths}
    return {name: lines for name, lines in found.items() if lines}


def test_plain_words_are_used() -> None:
    found = {shown(path): unplain_words(path.read_text(encoding="utf-8")) for path in plain_texts()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_plain_words_are_used_in_specifications() -> None:
    assert (
        unplain_files("op_specs", "*.yaml", lambda text: english_texts(yaml.safe_load(text))) == {}
    )


def test_plain_words_are_used_in_templates() -> None:
    assert unplain_files("templates", "*.j2", comments_of_template) == {}
    assert unplain_files("templates", "*.h", comments_of_template) == {}


def test_plain_words_are_used_in_tests() -> None:
    assert unplain_files("tests", "*.py", names_and_docstrings) == {}


def test_texts_of_other_files_are_found() -> None:
    words = yaml.safe_load(
        "notes: {en: 'from opset 9\n  on', zh: x}\nrules: [{deviation: {en: b}}]"
    )
    assert list(english_texts(words)) == ["from opset 9 on", "b"]
    template = "{#- one\ntwo -#}\nx = 1; // what lies\n  // behind it\ny = 2; /* three */\n"
    assert comments_of_template(template) == [
        "{#- one\ntwo -#}",
        "// what lies\n  // behind it",
        "/* three */",
    ]
    assert unplain_parts(["// from opset 9\n  // on it is"])
    module = "def test_what_lies_here() -> None:\n    pass\n\n\ndef f() -> None:\n    'It is.'\n"
    assert [part for part in names_and_docstrings(module) if part] == [
        "test what lies here",
        "It is.",
    ]


def test_each_plain_room_is_searched() -> None:
    for room in PLAIN_ROOMS:
        assert any(path.is_relative_to(ROOT / "atc_py" / room) for path in plain_texts()), room


@in_one_item(
    "line",
    [
        "for axis, extent in enumerate(shape):",
        "known_extents = 1",
        "the array in which a tensor lies",
        "`message` goes on behind its operator",
        "names of what is handed out",
        "def _handed_out(node): ...",
        "a broken one is told at once",
        "def _told(node): ...",
        "an input that no shape can mend",
        "def way_out(op_type): ...",
        "the bytes are held against their digests",
        "Hold the bytes against their digests",
        "layer.birth is Birth.BORN",
        "ONNX has it from opset 9 on",
        "nothing here takes over 5 bytes",
        "a string without end",
        "scales, one a channel",
        "bytes that are no model",
        "another in the place of it",
        "by ONNX' rules",
    ],
)
def test_unplain_word_is_found(line: str) -> None:
    assert unplain_words(line)


@pytest.mark.parametrize(
    "line",
    [
        "rule: axis_extent_is_one",
        "class AttrSumIsExtent(Rule):",
        '"open_extents": kernel.has_open,',
        'inner: int = wide("indices behind the new axis")',
        "it believes a name, and fixes it",
        "there is no kernel for it",
        "an amended value hands a file outside",
    ],
)
def test_other_meanings_are_plain(line: str) -> None:
    assert unplain_words(line) == []
