"""The texts of the code, for the catalogs: templates, and all strings.

A text is written where it is said: as `Text("... {place}", place=...)`, as one of the templates of
`plural`, as a condition of a rule of fix, or as the message of an error of click. What takes a text of
ours has the type `Text`, so that mypy refuses a string that no catalog could have.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "atc_py"

_TEMPLATES = {
    "Text": slice(1),
    "UnfitError": slice(1),
    "MissError": slice(1),
    "ContradictionError": slice(1),
    "no_form": slice(1, 2),
    "plural": slice(1, 3),
    "require": slice(1, 2),
    "UsageError": slice(1),
    "ImportError": slice(1),
}
"""Arguments that are templates, by the name of the function."""


class _Module:
    """The texts of a module, whose tree is not kept: the collector would go through millions of nodes.

    Attributes:
        strings: all of its strings.
        keys: the key in a catalog of each template that is written.
        composed: the templates that are put together.
        values: the words that are put into places of texts as plain strings.
    """

    def __init__(self, path: Path) -> None:
        self.name = ".".join(("atc_py", *path.relative_to(SOURCES).with_suffix("").parts))
        self.strings: list[str] = []
        self.keys: list[str] = []
        self.composed: list[re.Pattern[str]] = []
        self.values: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
                for given in node.args[_TEMPLATES.get(name, slice(0))]:
                    self.keys += _keys(node, given)
                    self.composed += _composed(given)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.strings.append(node.value)
            elif isinstance(node, ast.FunctionDef):
                self.values.update(_english_values(node))


@functools.cache
def _modules() -> tuple[_Module, ...]:
    """Return the modules of the package."""
    paths = (path for path in SOURCES.rglob("*.py") if path.parent != SOURCES / "text")
    return tuple(map(_Module, sorted(paths)))


def all_strings() -> set[str]:
    """Return every string of the package, one line each, and the paragraphs of the long ones."""
    found: set[str] = set()
    for module in _modules():
        for text in module.strings:
            found.update((text, text.rstrip(">")))
            found.update(" ".join(part.split()) for part in text.split("\n\n"))
    return found


def keys_of_texts() -> dict[str, str]:
    """Return the key in a catalog of each template that is written, with its module."""
    found: dict[str, str] = {}
    for module in _modules():
        for key in module.keys:
            found.setdefault(key, module.name)
    return found


def composed_templates() -> tuple[re.Pattern[str], ...]:
    """Return the templates that are put together, such as of a word of a table and a place."""
    return tuple(pattern for module in _modules() for pattern in module.composed)


def english_values() -> set[str]:
    """Return the words that are put into places of texts as plain strings, which none translates."""
    return {value for module in _modules() for value in module.values}


def _keys(call: ast.Call, given: ast.expr) -> Iterator[str]:
    """Yield the keys of an argument that is a template."""
    context = next((each.value for each in call.keywords if each.arg == "context"), None)
    prefix = f"{context.value!s}\x04" if isinstance(context, ast.Constant) else ""
    for text in _constants(given):
        yield prefix + text


def _composed(given: ast.expr) -> Iterator[re.Pattern[str]]:
    """Yield the pattern of an argument that is put together."""
    parts = given.values if isinstance(given, ast.JoinedStr) else []
    if isinstance(given, ast.BinOp) and isinstance(given.right, ast.Constant):
        parts = [ast.FormattedValue(given.left, -1), given.right]
    texts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts]
    if any(any(map(str.isalpha, text)) for text in texts):
        yield re.compile("".join(texts))


def _constants(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def _english_values(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the words that a function puts into places of texts as plain strings."""
    nodes = list(ast.walk(function))
    assigned = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        if {getattr(call.func, "id", ""), getattr(call.func, "attr", "")} & _FILLING:
            for keyword in (each for each in call.keywords if each.arg != "context"):
                value = assigned.get(getattr(keyword.value, "id", ""), keyword.value)
                yield from filter(_WORD.search, _written(value))


_FILLING = {"Text", "plural", "with_values", "ContradictionError", "no_form"}
_WORD = re.compile(r"(^| )[a-z]{3,}( |$)")


def _written(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression may be, and the strings between values of f-strings."""
    if isinstance(node, ast.BoolOp):
        node = node.values[-1]
    for part in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
        for inner in part.values if isinstance(part, ast.JoinedStr) else (part,):
            yield from _constants(inner)
