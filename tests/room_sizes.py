"""Lines of the package by room, beside the last figures in the repository.

`python -m tests.room_sizes` prints the table; `--check` fails where a room grew by more than 3 %
and no commit since the figures were written says `size: room +N, reason`; `--write` takes today's
figures over, as a release does.
"""

import argparse
import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / ".ci" / "room-sizes.tsv"
COLUMNS = ("files", "lines", "code", "imports", "docstrings", "comments")
MOST_GROWTH = 0.03
SLACK = 20
"""Lines by which any room may grow: 3 % of the smallest rooms is less than a function."""

Sizes = Mapping[str, Mapping[str, int]]


def line_kinds(text: str) -> Counter[str]:
    """Count lines: each is of one kind, an import before a docstring, comment or code."""
    tree = ast.parse(text)
    kinds = dict.fromkeys(_comment_lines(text), "comments")
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                kinds |= dict.fromkeys(_lines(node), "docstrings")
        elif isinstance(node, ast.stmt) and _is_import(node):
            kinds |= dict.fromkeys(_lines(node), "imports")
    lines = text.splitlines()
    counts = Counter(kinds.get(row, "code") for row, line in enumerate(lines, 1) if line.strip())
    return counts + Counter(files=1, lines=len(lines))


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_import(node: ast.stmt) -> bool:
    """True also of `__all__` and of the whole block for type checking: they serve imports alone."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.AnnAssign(target=ast.Name(id="__all__")):
            return True
    return False


def _comment_lines(text: str) -> list[int]:
    """Rows that hold a comment and nothing else."""
    rows = text.splitlines()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    starts = [token.start[0] for token in tokens if token.type == tokenize.COMMENT]
    return [row for row in starts if rows[row - 1].lstrip().startswith("#")]


def measure(root: Path) -> dict[str, Counter[str]]:
    """Sizes by room: a package of `atc_py`, or `top` for the modules beside the packages."""
    rooms: dict[str, Counter[str]] = {}
    for path in sorted((root / "atc_py").rglob("*.py")):
        parts = path.relative_to(root / "atc_py").parts
        room = parts[0] if len(parts) > 1 else "top"
        rooms.setdefault(room, Counter()).update(line_kinds(path.read_text(encoding="utf-8")))
    return rooms


def table(sizes: Sizes, known: Sizes) -> str:
    """The rooms from the largest, each with its growth since the figures that are known."""
    total: Counter[str] = sum((Counter(size) for size in sizes.values()), Counter())
    known_total: Counter[str] = sum((Counter(size) for size in known.values()), Counter())
    rows = sorted(sizes.items(), key=lambda row: -row[1]["lines"])
    lines = [f"{'room':<14}" + "".join(f"{name:>12}" for name in COLUMNS) + f"{'growth':>10}"]
    for room, size in [*rows, ("all", total)]:
        before = (known_total if room == "all" else known.get(room, {})).get("lines", 0)
        figures = "".join(f"{size.get(name, 0):>12,}" for name in COLUMNS)
        lines.append(f"{room:<14}{figures}{size['lines'] - before:>+10,}")
    share = total["imports"] / max(1, total["code"])
    return "\n".join([*lines, f"imports are {share:.1%} of the code"]) + "\n"


def unexplained(sizes: Sizes, known: Sizes, messages: str) -> list[str]:
    """Rooms that grew beyond the limit without a line `size: room +N, reason` in `messages`."""
    faults = []
    for room, size in sizes.items():
        before = known.get(room, {}).get("lines", 0)
        growth = size["lines"] - before
        limit = max(SLACK, int(before * MOST_GROWTH))
        said = any(line.strip().startswith(f"size: {room} +") for line in messages.splitlines())
        if growth > limit and not said:
            faults.append(
                f"{room} grew by {growth} lines ({before} -> {size['lines']}, limit {limit}): "
                f"make it smaller, or say in the commit `size: {room} +{growth}, reason`"
            )
    return faults


def read_figures(text: str) -> dict[str, dict[str, int]]:
    """Sizes as `write_figures` has written them."""
    names, *rows = (line.split("\t") for line in text.splitlines() if line)
    return {room: dict(zip(names[1:], map(int, numbers), strict=True)) for room, *numbers in rows}


def figures_text(sizes: Sizes) -> str:
    """One line a room, tab-separated."""
    rows = [["room", *COLUMNS]]
    rows += [[room, *(str(size.get(name, 0)) for name in COLUMNS)] for room, size in sizes.items()]
    return "".join("\t".join(row) + "\n" for row in rows)


def _messages_since_figures() -> str:
    """Messages of the commits since the figures were written; of all if they never were."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words],  # noqa: S607  (git is found by PATH)
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    written = git("log", "-1", "--format=%H", "--", str(FIGURES)).strip()
    return git("log", "--format=%B", f"{written}..HEAD" if written else "HEAD")


def main() -> int:
    """Print the table, and with `--check` what grew without a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sizes = measure(ROOT)
    if options.write:
        FIGURES.write_text(figures_text(sizes), encoding="utf-8")
    known = read_figures(FIGURES.read_text(encoding="utf-8"))
    if not options.check:
        sys.stdout.write(table(sizes, known))
        return 0
    faults = unexplained(sizes, known, _messages_since_figures())
    sys.stdout.writelines(f"size: {fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
