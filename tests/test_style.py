"""House style that the linter does not hold: sizes, names, docstrings, and nobody's own paths."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "atc_py").rglob("*.py"))
TEXTS = sorted(
    path
    for folder in ("atc_py", "op_specs", "templates", "tests", "docs", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md", ".yaml", ".yml", ".j2", ".toml", ".txt", ".json", ".html"}
)

LINES, MOST_LINES, FUNCTION_LINES = 400, 600, 50

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}

# In two parts, so that this file does not contain what it looks for.
MACHINE_PATHS = tuple("/" + start for start in ("work/", "tmp/v/", "home/", "Users/", "root/"))


def size_faults(text: str) -> list[str]:
    """Return the overlong parts of a module of that text, and those without docstring."""
    tree = ast.parse(text)
    doc = ast.get_docstring(tree) or ""
    first = text.partition("\n")[0]
    count = len(text.splitlines())
    faults = []
    if not first.startswith('"""') or not first.strip('" '):
        faults.append("the first line is no docstring")
    if count > MOST_LINES or (count > LINES and f"{LINES} lines" not in doc):
        faults.append(f"{count} lines; over {LINES} the docstring says why, naming `{LINES} lines`")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                faults.append(f"{node.name} has {length} lines, {FUNCTION_LINES} are allowed")
    return faults


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


@pytest.mark.parametrize(
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
    """Return the functions and classes whose docstring begins with a relative word."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    return [node.name for node in nodes if (ast.get_docstring(node) or ".").split()[0] in RELATIVE]


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
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name)
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
