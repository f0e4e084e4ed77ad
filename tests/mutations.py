"""Faults put into a copy of the project one at a time: the tests must notice each.

`python -m tests.mutations [--tree DIR] [--only WORD]`, or `make mutations`. Each changes a sign, a
bound, a rounding or a rule; the text that it replaces occurs once in the package, its
specifications and its templates, wherever the file is. Prints what noticed each and exits with 1
if one survived. `--tree` takes the package and its tests from another checkout, so that two suites
can be compared.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutation_list import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("atc_py", "op_specs", "templates")
COPIED = (*SOURCES, "tests", "docs", "pyproject.toml", "README.md", "Makefile", "LICENSE", ".ci")
SECONDS = 1800

# Exit codes of pytest.
PASSED, FAILED, INTERRUPTED = 0, 1, 2


@dataclass(frozen=True)
class Result:
    """The outcome of a mutation: `caught`, `survived`, or the reason it could not be tried."""

    mutation: Mutation
    place: str
    verdict: str
    seconds: float
    first: str = ""


def place_of(mutation: Mutation, root: Path = ROOT) -> Path:
    """Return the file that holds the text of a mutation.

    Raises:
        LookupError: the text is not there, or not there once.
    """
    found = [
        (path, text.count(mutation.old)) for path, text in _texts(root) if mutation.old in text
    ]
    count = sum(count for _, count in found)
    if count != 1:
        raise LookupError(f"{mutation.old!r} occurs {count} times")
    return found[0][0]


@cache
def _texts(root: Path) -> list[tuple[Path, str]]:
    """Return every file that may be mutated, as it is without mutations."""
    paths = [path for folder in SOURCES for path in sorted((root / folder).rglob("*"))]
    kept = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    return [(path, path.read_text(encoding="utf-8")) for path in kept]


def try_mutations(tree: Path, chosen: Sequence[Mutation]) -> Iterator[Result]:
    """Apply each mutation to a copy of `tree`, run the tests that it names, and take it back."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        copy = Path(name) / "tree"
        copy.mkdir()
        for each in COPIED:
            _copy(tree / each, copy / each)
        shared = tree.parent / "shared"
        if shared.is_dir():
            (copy.parent / "shared").symlink_to(shared.resolve())
        for number, mutation in enumerate(chosen):
            yield _tried(copy, mutation, 2 * number)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _tried(copy: Path, mutation: Mutation, age: int) -> Result:
    """Try one mutation; `age` tells Python's bytecode cache one text of a file from another."""
    try:
        path = place_of(mutation, copy)
    except LookupError as error:
        return Result(mutation, "?", str(error), 0.0)
    text, start = path.read_text(encoding="utf-8"), time.monotonic()
    _write(path, text.replace(mutation.old, mutation.new), age)
    try:
        verdict, first = _verdict(copy, mutation.tests.split())
    finally:
        _write(path, text, age + 1)
    place = path.relative_to(copy).as_posix()
    return Result(mutation, place, verdict, time.monotonic() - start, first)


def _write(path: Path, text: str, age: int) -> None:
    path.write_text(text, encoding="utf-8")
    stamp = time.time() + 10 * (age + 1)
    os.utime(path, (stamp, stamp))


def _verdict(copy: Path, tests: list[str]) -> tuple[str, str]:
    """Return the verdict of the tests, and the first that fails."""
    targets = [f"tests/{each}" for each in tests]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *targets]
    env = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "caught", f"no end after {SECONDS} s"
    if done.returncode == PASSED:
        return "survived", ""
    if done.returncode in {FAILED, INTERRUPTED}:  # a module that cannot be imported interrupts
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "caught", lines[0][:160] if lines else "?"
    return f"pytest ended with {done.returncode}", done.stderr[-200:]


def main(arguments: Sequence[str]) -> int:
    """Try the chosen mutations and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--only", default="", help="a part of the mutation's text")
    given = parser.parse_args(arguments)
    chosen = [each for each in MUTATIONS if given.only in each.old]
    results = []
    for result in try_mutations(given.tree.resolve(), chosen):
        results.append(result)
        print(  # noqa: T201
            f"{result.verdict:9} {result.seconds:6.1f} s  {result.place}: "
            f"{result.mutation.old.strip()!r} -> {result.mutation.new.strip()!r}  {result.first}",
            flush=True,
        )
    caught = sum(result.verdict == "caught" for result in results)
    print(f"{caught} of {len(results)} are caught")  # noqa: T201
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
