"""Places of modules where a mutant may be put, a seeded draw of them, and the list of chosen ones."""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
EXTREMES = {"min": "max", "max": "min"}

TEXTS = {"Text", "debug", "info", "warning", "cast"}
"""Calls with words for people, or for type checkers."""

UNTOUCHED = (
    ast.arguments,
    ast.pattern,
    ast.Raise,
    ast.JoinedStr,
    ast.Assert,
    ast.Import,
    ast.ImportFrom,
)
UNTOUCHED_FIELDS = {"annotation", "decorator_list", "returns"}
UNTOUCHED_FUNCTIONS = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """A change of a text.

    Attributes:
        path: the file, below the root of the project.
        place: `function:line:column`.
        start, end: the part that is replaced, in bytes of the file.
        line: of a default, where the first line of its function begins, in bytes; else None.
    """

    path: str
    place: str
    kind: str
    start: int
    end: int
    old: str
    new: str
    line: int | None = None

    @property
    def key(self) -> str:
        """The mutant among all of the same code."""
        return f"{self.path}:{self.place} {self.kind} {self.new}"

    @property
    def room(self) -> str:
        """The package that it is in."""
        return self.path.split("/")[1]

    def applied(self, text: str) -> str:
        """The text of the file with the mutant in it."""
        raw = text.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


def draw(root: Path, rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants: the rooms in turn, of a room one of the kinds, of a kind one of its places."""
    rng = random.Random(seed)  # noqa: S311
    pools: dict[str, dict[str, list[Mutant]]] = {}
    for room in rooms:
        pools[room] = defaultdict(list)
        for path in sorted((root / "atc_py" / room).rglob("*.py")):
            for mutant in mutants_of(path.read_text(encoding="utf-8"), path.relative_to(root)):
                pools[room][mutant.kind].append(mutant)
    drawn: list[Mutant] = []
    for number in range(count):
        kinds = pools[rooms[number % len(rooms)]]
        if left := sorted(kind for kind in kinds if kinds[kind]):
            mutants = kinds[rng.choice(left)]
            drawn.append(mutants.pop(rng.randrange(len(mutants))))
    return drawn


def mutants_of(text: str, path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    starts, raw = [0], text.encode()
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, kind, node, new, first in _sites(ast.parse(text), ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        place = f"{function}:{node.lineno}:{node.col_offset}"
        mark = None if first is None else starts[first.lineno - 1]
        yield Mutant(path.as_posix(), place, kind, start, end, raw[start:end].decode(), new, mark)


_Site = tuple[str, str, ast.expr, str, ast.stmt | None]


def _sites(node: ast.AST, function: str) -> Iterator[_Site]:
    """Function, kind, expression and new text of each place below a node; none outside of functions."""
    if isinstance(node, UNTOUCHED) or (isinstance(node, ast.Call) and _name(node.func) in TEXTS):
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function = node.name
        yield from _defaults(node)
    if function and isinstance(node, ast.expr):
        yield from ((function, kind, node, new, None) for kind, new in _changes(node))
    if function and isinstance(node, ast.If) and _is_guard(node):
        yield function, "guard", node.test, "False", None
    for name, value in ast.iter_fields(node):
        if name not in UNTOUCHED_FIELDS and function not in UNTOUCHED_FUNCTIONS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _sites(child, function)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else str(getattr(node, "attr", ""))


def _is_guard(node: ast.If) -> bool:
    leaving = (ast.Return, ast.Raise, ast.Continue)
    return not node.orelse and len(node.body) == 1 and isinstance(node.body[0], leaving)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Site]:
    first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if isinstance(default, ast.Constant) and isinstance(default.value, int):
            value = default.value
            new = str(not value) if isinstance(value, bool) else str(value + 1)
            yield node.name, "default", default, new, first


def _changes(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Kinds and texts of what may take the place of an expression."""
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                if type(op) in COMPARISONS:
                    others = [*ops[:at], COMPARISONS[type(op)](), *ops[at + 1 :]]
                    yield "comparison", _text(ast.Compare(left, others, comparators))
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and or", _text(ast.BoolOp(other, values))
        case ast.Call(ast.Name(name), arguments, keywords) if name in EXTREMES:
            yield "min max", _text(ast.Call(ast.Name(EXTREMES[name]), arguments, keywords))
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
            if not any(_is_text(side) for side in (left, right)):
                yield "arithmetic", _text(ast.BinOp(left, ARITHMETIC[type(op)](), right))
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", _text(operand)
        case ast.Constant(value) if type(value) is int:
            yield "constant", f"({value + 1})"
            yield "constant", f"({value - 1})"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_text(node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return constant or isinstance(node, ast.JoinedStr)


MARKS = """
import os
seen = set()
def mark(key):
    item = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if item and (key, item) not in seen:
        seen.add((key, item))
        try:
            with open({log!r}, "a", encoding="utf-8") as stream:
                stream.write(key + "\\t" + item + "\\n")
        except OSError:
            pass
"""
"""A module that notes which test reaches a place; processes that tests start know it, too."""


def with_marks(tree: Path, mutants: Sequence[Mutant], log: Path) -> dict[Path, str]:
    """The modules of mutants with a call in each place that notes the test, and the module it is in."""
    texts = {tree / "reached_marks.py": MARKS.format(log=str(log))}
    by_path: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_path[mutant.path].append(mutant)
    for name, group in by_path.items():
        raw = (tree / name).read_bytes()
        inserts: list[tuple[int, int, str]] = []
        for mutant in group:
            call = f"__import__('reached_marks').mark({mutant.key!r})"
            if mutant.line is None:
                inserts.append((mutant.start, -mutant.end, f"({call} or ("))
                inserts.append((mutant.end, 0, "))"))
            else:
                rest = raw[mutant.line :]
                indent = " " * (len(rest) - len(rest.lstrip(b" ")))
                inserts.append((mutant.line, 0, f"{indent}{call}\n"))
        # From the end, so that no place moves; of two expressions that begin together the inner first.
        for place, _, text in sorted(inserts, reverse=True):
            raw = raw[:place] + text.encode() + raw[place:]
        texts[tree / name] = raw.decode()
    return texts


SOURCES = ("atc_py", "op_specs", "templates")


def chosen_mutants(root: Path) -> Iterator[tuple[Mutant, list[str]]]:
    """Those of `mutations.txt` with the tests that may notice.

    It has four lines for each: a text that occurs once in the sources, what takes its place, tests,
    and nothing.

    Raises:
        LookupError: a text is not there, or not there once.
    """
    paths = [path for folder in SOURCES for path in sorted((root / folder).rglob("*"))]
    kept = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in kept}
    lines = (Path(__file__).parent / "mutations.txt").read_text(encoding="utf-8").split("\n")
    for at in range(0, len(lines) - 1, 4):
        old, new, tests = (
            re.sub(r"\\(.)", lambda escaped: "\n" if escaped[1] == "n" else escaped[1], line)
            for line in lines[at : at + 3]
        )
        there = [path for path, text in texts.items() if old in text]
        if len(there) != 1 or texts[there[0]].count(old) != 1:
            raise LookupError(f"line {at + 1} of mutations.txt: {old!r} is not there once")
        start = len(texts[there[0]].partition(old)[0].encode())
        path = there[0].relative_to(root).as_posix()
        end = start + len(old.encode())
        yield Mutant(path, str(at + 1), "chosen", start, end, old, new), tests.split()
