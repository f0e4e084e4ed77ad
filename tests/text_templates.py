"""The texts of the code, for the catalogs: templates, plain texts of diagnostics, and all strings.

A text is written where it is said: as `Text("... {place}", place=...)`, as one of the templates of
`plural`, as a condition of a rule of fix, or as a plain string that flows into the message or the hint of a diagnostic: written there,
named there, returned by a function called there, or given to a function whose parameter ends there.
"""

import ast
import functools
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "atc_py"

_CARRIERS = {"error", "diagnostic", "UsageError", "BadParameter"}
_KEYWORDS = {"message", "help"}
_TEXTS = {"Text", "plural", "verbatim", "Words"}

_TEMPLATES = {
    "Text": slice(1),
    "UnfitError": slice(1),
    "plural": slice(1, 3),
    "require": slice(1, 2),
}
"""Arguments that are templates, by the name of the function."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Module:
    """A module with what a text in it may come from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = ".".join(("atc_py", *path.relative_to(SOURCES).with_suffix("").parts))
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.owners: dict[ast.Name, _Function | None] = {}
        self.functions: dict[str, list[_Function]] = defaultdict(list)
        self.imported: dict[str, str] = {}
        self.calls: list[ast.Call] = []
        self.strings: list[str] = []
        self._enter(self.tree, None)

    def _enter(self, node: ast.AST, owner: _Function | None) -> None:
        """Note the function around each node, and what the module has of interest."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name):
                self.owners[child] = owner
            inner = owner
            if isinstance(child, _Function):
                self.functions[child.name].append(child)
                inner = child
            elif isinstance(child, ast.ImportFrom) and child.module:
                self.imported.update({each.name: child.module for each in child.names})
            elif isinstance(child, ast.Call):
                self.calls.append(child)
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                self.strings.append(child.value)
            self._enter(child, inner)


@functools.cache
def _modules() -> dict[str, _Module]:
    """Return the modules of the package by name."""
    # The trees are kept: Python need not look for cycles among their many nodes.
    gc.disable()
    try:
        paths = (path for path in SOURCES.rglob("*.py") if path.parent != SOURCES / "text")
        return {module.name: module for module in map(_Module, sorted(paths))}
    finally:
        gc.enable()


def all_strings() -> set[str]:
    """Return every string of the package, one line each, and the paragraphs of the long ones."""
    found: set[str] = set()
    for module in _modules().values():
        for text in module.strings:
            found.update((text, text.rstrip(">")))
            found.update(" ".join(part.split()) for part in text.split("\n\n"))
    return found


def keys_of_texts() -> dict[str, str]:
    """Return the key in a catalog of each template that is written, with its module."""
    found: dict[str, str] = {}
    for module in _modules().values():
        for call in module.calls:
            name = getattr(call.func, "id", "")
            given = call.args[_TEMPLATES.get(name, slice(0))]
            context = next((each.value for each in call.keywords if each.arg == "context"), None)
            for text in (text for each in given for text in _constants(each)):
                prefix = f"{context.value!s}\x04" if isinstance(context, ast.Constant) else ""
                found.setdefault(prefix + text, module.name)
    return found


@functools.cache
def composed_templates() -> tuple[re.Pattern[str], ...]:
    """Return the templates that are put together, such as of a word of a table and a place."""
    found = []
    for module in _modules().values():
        for call in module.calls:
            given = call.args[0] if call.args and getattr(call.func, "id", "") == "Text" else None
            parts = given.values if isinstance(given, ast.JoinedStr) else []
            if isinstance(given, ast.BinOp) and isinstance(given.right, ast.Constant):
                parts = [ast.FormattedValue(given.left, -1), given.right]
            texts = [
                re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts
            ]
            if any(any(map(str.isalpha, text)) for text in texts):
                found.append(re.compile("".join(texts)))
    return tuple(found)


def _constants(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def _parameters(function: _Function) -> list[str]:
    """Return the names of a function's parameters, in the order of a call."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


class _Search:
    """The search for the texts that flow into diagnostics."""

    def __init__(self) -> None:
        self.plain: dict[str, str] = {}
        self.formatted: dict[str, str] = {}
        self._calls: dict[int, list[tuple[_Module, ast.Call]]] = defaultdict(list)
        self._known: set[tuple[int, str]] = set()
        self._returns: set[int] = set()

    def run(self) -> None:
        """Look at all diagnostics."""
        carriers = []
        for module in _modules().values():
            for call in module.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr in _CARRIERS:
                    carriers.append((module, call))
                    continue
                for function in self._called(module, call):
                    self._calls[id(function)].append((module, call))
        for module, call in carriers:
            for value in (
                *call.args[:1],
                *(each.value for each in call.keywords if each.arg in _KEYWORDS),
            ):
                self._follow(module, value)

    def _called(self, module: _Module, call: ast.Call) -> Iterator[_Function]:
        """Yield the functions that a call may mean: those of its own module, or an imported one."""
        if isinstance(call.func, ast.Attribute):
            if getattr(call.func.value, "id", "") == "self":
                yield from module.functions.get(call.func.attr, ())
        elif isinstance(call.func, ast.Name):
            yield from module.functions.get(call.func.id, ())
            other = _modules().get(module.imported.get(call.func.id, ""))
            yield from other.functions.get(call.func.id, ()) if other else ()

    def _follow(self, module: _Module, node: ast.expr) -> None:
        """Collect the texts that an expression may be."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and any(map(str.isalpha, node.value)):
                self.plain.setdefault(node.value, module.name)
        elif isinstance(node, ast.JoinedStr):
            self.formatted.setdefault(ast.unparse(node), module.name)
        elif isinstance(node, ast.Name):
            self._follow_name(module, node)
        elif isinstance(node, ast.Call):
            self._follow_call(module, node)
        else:
            for inner in _alternatives(node):
                self._follow(module, inner)

    def _follow_call(self, module: _Module, node: ast.Call) -> None:
        """Collect what a function returns; the values of a table that is looked up."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            for inner in (node.func.value, *node.args[1:]):
                self._follow(module, inner)
        elif getattr(node.func, "id", "") not in _TEXTS:
            for function in self._called(module, node):
                self._follow_returns(module, function)

    def _follow_returns(self, module: _Module, function: _Function) -> None:
        """Collect what a function returns."""
        if id(function) not in self._returns:
            self._returns.add(id(function))
            for inner in ast.walk(function):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    self._follow(module, inner.value)

    def _follow_name(self, module: _Module, node: ast.Name) -> None:
        """Collect what is assigned to a name, and what is given to a parameter."""
        owner = module.owners.get(node)
        key = (id(owner or module.tree), node.id)
        if key in self._known:
            return
        self._known.add(key)
        if owner is not None:
            self._follow_parameter(owner, node.id)
        for scope in (owner, module.tree):
            values = [] if scope is None else list(_assigned(scope, node.id))
            for value in values:
                self._follow(module, value)
            if values:
                return

    def _follow_parameter(self, function: _Function, name: str) -> None:
        """Collect what calls of a function give to a parameter."""
        names = _parameters(function)
        if name not in {*names, *(each.arg for each in function.args.kwonlyargs)}:
            return
        for module, call in self._calls[id(function)]:
            at = names.index(name) if name in names else len(call.args)
            for value in (
                *call.args[at : at + 1],
                *(each.value for each in call.keywords if each.arg == name),
            ):
                self._follow(module, value)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the expressions of which one is the value."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Dict | ast.BoolOp):
        return list(node.values)
    return []


def _assigned(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the values that are assigned to a name."""
    for node in scope.body if isinstance(scope, ast.Module) else ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id == name for each in targets):
                yield node.value


@functools.cache
def messages() -> tuple[dict[str, str], dict[str, str]]:
    """Return the plain strings and the f-strings that flow into diagnostics, with their modules."""
    search = _Search()
    search.run()
    return search.plain, search.formatted
