"""The templates of all messages and hints in the code, for their Chinese.

A template is the text of a string, or of an f-string with {0}, {1} for what is put in. Those count
that flow into the message or the hint of a diagnostic: written there, named there, returned by a
function called there, or given to a function whose parameter ends there. What is put into a text
may be a text itself, such as a reason: those are the parts of messages.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["message_parts", "message_templates", "template"]

SOURCES = Path(__file__).resolve().parent.parent / "atc_py"

_CARRIERS = {"error", "diagnostic", "UsageError", "BadParameter"}
_KEYWORDS = {"message", "help"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def template(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the text of a string with numbers for what is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts, count = [], 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        else:
            parts.append(f"{{{count}}}")
            count += 1
    return "".join(parts)


@dataclass
class _Module:
    """A module with what a text in it may come from."""

    path: Path
    tree: ast.Module
    owners: dict[ast.AST, _Function | None] = field(default_factory=dict)
    functions: dict[str, list[_Function]] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._enter(self.tree, None)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self.imported.update({each.name: node.module for each in node.names})

    @property
    def name(self) -> str:
        """The dotted name."""
        return ".".join(("atc_py", *self.path.relative_to(SOURCES).with_suffix("").parts))

    def _enter(self, node: ast.AST, owner: _Function | None) -> None:
        """Note the function around each node, and the functions by name."""
        for child in ast.iter_child_nodes(node):
            self.owners[child] = owner
            inner = owner
            if isinstance(child, _Function):
                self.functions.setdefault(child.name, []).append(child)
                inner = child
            self._enter(child, inner)


@functools.cache
def _modules() -> tuple[_Module, ...]:
    """Return the modules of the package."""
    paths = sorted(SOURCES.rglob("*.py"))
    return tuple(_Module(path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


@functools.cache
def _by_name() -> dict[str, _Module]:
    """Return the modules by their dotted names."""
    return {each.name: each for each in _modules()}


def _parameters(function: _Function) -> list[str]:
    """Return the names of a function's parameters, in the order of a call."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _called(module: _Module, call: ast.Call) -> Iterator[_Function]:
    """Yield the functions that a call may mean: those of its own module, or an imported one."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        yield from module.functions.get(call.func.attr, ())
    elif isinstance(call.func, ast.Name):
        yield from module.functions.get(call.func.id, ())
        other = _by_name().get(module.imported.get(call.func.id, ""))
        yield from other.functions.get(call.func.id, ()) if other else ()


@functools.cache
def _calls() -> tuple[tuple[_Module, ast.Call], ...]:
    """Return all calls, with their modules."""
    return tuple(
        (module, node)
        for module in _modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
    )


@functools.cache
def _calls_of_functions() -> tuple[tuple[_Module, ast.Call, tuple[_Function, ...]], ...]:
    """Return the calls that may mean functions of the package, with these."""
    found = (
        (module, node, tuple(_called(module, node)))
        for module, node in _calls()
        if not _is_carrier(node)
    )
    return tuple(row for row in found if row[2])


def _is_carrier(call: ast.Call) -> bool:
    """Return True for a call that makes a diagnostic of its arguments."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _CARRIERS


def _message_and_help(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the message and the hint that a call makes a diagnostic of."""
    yield from call.args[:1]
    yield from (each.value for each in call.keywords if each.arg in _KEYWORDS)


class _Search:
    """The search for the texts that flow into diagnostics, module by module."""

    def __init__(self, *, with_parts: bool = False) -> None:
        self.found: dict[str, str] = {}
        self._with_parts = with_parts
        self._sinks: dict[int, set[str]] = {}
        self._seen: set[int] = set()
        self._names: set[tuple[int, str]] = set()
        self._returns: set[int] = set()

    def run(self) -> dict[str, str]:
        """Return each template with the module that has it, as long as calls add some."""
        before = -1
        for module, node in _calls():
            if _is_carrier(node):
                for each in _message_and_help(node):
                    self._follow(module, each)
        while before != len(self._seen) + len(self._names):
            before = len(self._seen) + len(self._names)
            for module, node, functions in _calls_of_functions():
                for function in functions:
                    for each in self._carried(node, function):
                        self._follow(module, each)
        return self.found

    def _carried(self, call: ast.Call, function: _Function) -> Iterator[ast.expr]:
        """Yield the arguments of a call that end in a diagnostic, if it calls `function`."""
        wanted = self._sinks.get(id(function))
        if not wanted:
            return
        for parameter, value in zip(_parameters(function), call.args, strict=False):
            if parameter in wanted:
                yield value
        yield from (each.value for each in call.keywords if each.arg in wanted)

    def _follow(self, module: _Module, node: ast.expr) -> None:
        """Collect the templates that an expression may be."""
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            self._seen.add(id(node))
            text = template(node)
            if any(each.isalpha() for each in text):
                self.found.setdefault(text, module.path.relative_to(SOURCES).as_posix())
            self._follow_parts(module, node)
        elif isinstance(node, ast.IfExp):
            self._follow(module, node.body)
            self._follow(module, node.orelse)
        elif isinstance(node, ast.BoolOp):
            for each in node.values:
                self._follow(module, each)
        elif isinstance(node, ast.Name):
            self._follow_name(module, node)
        elif isinstance(node, ast.Dict):
            for each in node.values:
                self._follow(module, each)
        elif isinstance(node, ast.Call):
            self._follow_call(module, node)

    def _follow_parts(self, module: _Module, node: ast.Constant | ast.JoinedStr) -> None:
        """Collect what is put into a text, if parts are wanted."""
        for value in node.values if self._with_parts and isinstance(node, ast.JoinedStr) else ():
            if isinstance(value, ast.FormattedValue):
                self._follow(module, value.value)

    def _follow_call(self, module: _Module, node: ast.Call) -> None:
        """Collect what a function returns, or the values of a table that is looked up."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            for each in (node.func.value, *node.args[1:]):
                self._follow(module, each)
            return
        for function in _called(module, node):
            if id(function) in self._returns:
                continue
            self._returns.add(id(function))
            for inner in ast.walk(function):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    self._follow(module, inner.value)

    def _follow_name(self, module: _Module, node: ast.Name) -> None:
        """Collect what is assigned to a name, and note a parameter as one that carries text."""
        owner = module.owners.get(node)
        if owner is not None:
            known = {*_parameters(owner), *(each.arg for each in owner.args.kwonlyargs)}
            if node.id in known:
                self._sinks.setdefault(id(owner), set()).add(node.id)
        key = (id(owner or module.tree), node.id)
        if key in self._names:
            return
        self._names.add(key)
        for scope in (owner, module.tree):
            if scope is not None and self._assigned(module, scope, node.id):
                return

    def _assigned(self, module: _Module, scope: ast.AST, name: str) -> bool:
        """Collect the values that are assigned to a name; return False if there is none."""
        values = [
            each.value
            for each in (scope.body if isinstance(scope, ast.Module) else ast.walk(scope))
            if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign)
            and each.value is not None
            and any(
                isinstance(target, ast.Name) and target.id == name
                for target in getattr(each, "targets", [getattr(each, "target", None)])
            )
        ]
        for value in values:
            self._follow(module, value)
        return bool(values)


@functools.cache
def message_templates() -> dict[str, str]:
    """Return each template with the module, relative to the package, where it was first found."""
    return _Search().run()


@functools.cache
def message_parts() -> dict[str, str]:
    """Return the texts that are put into others, with the modules where they were first found."""
    found = _Search(with_parts=True).run()
    return {text: path for text, path in found.items() if text not in message_templates()}
