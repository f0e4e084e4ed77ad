"""Files that import one another in a circle, type-level and deferred imports included."""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.test_style import outline

ROOT = Path(__file__).resolve().parents[1]
FACADE = "atc_py"
"""The root imports what is public when it is first asked for, and modules of every package import
its version: by what Python itself does, each of them imports the root."""


def modules_of(root: Path) -> dict[str, str]:
    """Return text of every module of the package below `root`, by dotted name."""
    found = {}
    for path in sorted((root / "atc_py").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


def imports_of(name: str, text: str, modules: Mapping[str, str]) -> set[str]:
    """Return the modules that one imports anywhere in its text."""
    found = set()
    for node in outline(text).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {part if part in modules else str(node.module) for part in parts}
    return (found & modules.keys()) - {name}


def circles(modules: Mapping[str, str]) -> list[set[str]]:
    """Return the sets of modules each of which reaches all others of its set by imports."""
    graph = {name: imports_of(name, text, modules) for name, text in modules.items()}
    left = dict(graph)
    # What imports nothing that is left, or is imported by nothing that is left, is in no circle.
    while True:
        imported = set().union(*left.values()) if left else set()
        ends = [name for name, wanted in left.items() if not wanted or name not in imported]
        if not ends:
            break
        for name in ends:
            del left[name]
        left = {name: wanted & left.keys() for name, wanted in left.items()}
    reached = {name: _reached(name, left) for name in left}
    found: list[set[str]] = []
    for name, others in reached.items():
        circle = {other for other in others if name in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that one module reaches in one step or more."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        fresh = graph[pending.pop()] - seen
        seen |= fresh
        pending += fresh
    return seen


def test_no_modules_import_one_another() -> None:
    texts = modules_of(ROOT)
    del texts[FACADE]
    assert len(texts) > 400
    assert circles(texts) == []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"a": "import b", "b": "", "c": "import a"}, []),
        ({"a": "import b", "b": "import a", "c": "import a"}, [{"a", "b"}]),
        (
            {
                "a": "if TYPE_CHECKING:\n    from b import X",
                "b": "def f():\n    from c import Y",
                "c": "import a",
            },
            [{"a", "b", "c"}],
        ),
        ({"p": "", "p.a": "from p import b", "p.b": "from p.a import X"}, [{"p.a", "p.b"}]),
        (
            {"a": "import b", "b": "import a\nimport c", "c": "import d", "d": "import c"},
            [{"a", "b"}, {"c", "d"}],
        ),
    ],
)
def test_circle_is_found(texts: dict[str, str], expected: list[set[str]]) -> None:
    assert circles(texts) == expected
