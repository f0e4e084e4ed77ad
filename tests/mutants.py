"""Faults drawn by themselves and put into a copy of the project one at a time: the tests must notice.

`make mutants`, or `python -m tests.mutants [--count N] [--seed N] [--first N]`. Each is one change of
an expression in a function, drawn over the rooms in turn. First the tests run once with a mark where
each mutant is, which tells the items that reach it. These then run with the mutant in place:
of each test the cheapest case first, until one fails or the cap is reached. Tests run in forks of
this process, which has loaded what takes long to load. `out/mutants` keeps what is known, so that a
run that was stopped goes on. `--mutant N [TEST ...]` tries one again, `--chosen` the mutants of
`mutations.txt`: other faults than one expression, and those of templates and specifications.
"""

import argparse
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mutant_sites import Mutant, chosen_mutants, draw, with_marks

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("fix", "check", "passes", "lowering", "kernels", "cost", "compare", "quantizing")
COPIED = ("atc_py", "op_specs", "templates", "tests", "docs", ".ci")
COPIED_FILES = ("pyproject.toml", "README.md", "Makefile", "LICENSE")
PRELOADED = ("numpy", "onnx", "onnxruntime")
OPTIONS = ("-q", "-p", "no:cacheprovider", "--tb=short", "--no-header")

MARGIN = 20
"""Seconds of the processor beyond the cap, after which a test hangs."""

WALL = 15
"""Seconds of the clock for each of the processor, on a busy machine, after which a test waits."""

LONG = 1e6


@dataclass(frozen=True)
class Trial:
    """What became of a mutant: `caught`, `survived` or `timed out`, and the first test that failed."""

    verdict: str
    first: str = ""
    seconds: float = 0.0


class Watch:
    """Plugin of a run: notes the first failure and the cost of items, and ends the run at a cap.

    Args:
        cap: seconds of the processor after which no further item begins.
        note: takes the id and the cost of each item that passes.
    """

    def __init__(self, cap: float, note: Callable[[str, float], None] | None = None) -> None:
        self._cap, self._note = cap, note
        self.failed: dict[str, None] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one item."""
        before = _cpu()
        result = yield
        if self._note is not None and item.nodeid not in self.failed:
            self._note(item.nodeid, _cpu() - before)
        if _cpu() > self._cap:
            item.session.shouldstop = "the cap is reached"
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a failure."""
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a module that cannot be imported."""
        if report.failed:
            self.failed[report.nodeid] = None


def _cpu() -> float:
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


class Copy:
    """A copy of the project in which tests run.

    Args:
        tree: the project.
        folder: is emptied and takes the copy.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self.path = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(tree / name, folder / name, ignore=ignored)
        for name in COPIED_FILES:
            shutil.copy(tree / name, folder / name)
        shared, link = (tree.parent / "shared").resolve(), folder.parent / "shared"
        if shared.is_dir() and not link.exists():
            link.symlink_to(shared)

    @contextlib.contextmanager
    def changed(self, texts: dict[Path, str]) -> Iterator[None]:
        """Write other texts of files and take them back."""
        before = {path: path.read_text(encoding="utf-8") for path in texts if path.exists()}
        try:
            self._write(texts)
            yield
        finally:
            self._write(before)

    def _write(self, texts: dict[Path, str]) -> None:
        """Write modules; their bytecode goes, which would tell them apart by the second only."""
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
            for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
                cached.unlink()

    def try_mutant(self, mutant: Mutant, tests: Sequence[str], cap: float) -> Trial:
        """Run tests with a mutant in its place."""
        if not tests:
            return Trial("survived")
        path = self.path / mutant.path
        with self.changed({path: mutant.applied(path.read_text(encoding="utf-8"))}):
            return self.run(["-x", *tests], Watch(cap), cap)

    def run(self, tests: Sequence[str], watch: Watch, cap: float) -> Trial:
        """Run tests in a fork of this process."""
        start, (reading, writing) = time.monotonic(), os.pipe()
        child = os.fork()
        if not child:
            self._be_child(tests, watch, cap, writing)
        os.close(writing)
        status = _wait(child, start + WALL * cap)
        with os.fdopen(reading, encoding="utf-8") as stream:
            first = stream.read()
        seconds = round(time.monotonic() - start, 1)
        if status is None or os.WIFSIGNALED(status):
            return Trial("timed out", first, seconds)
        code = os.WEXITSTATUS(status)
        if not first and code in {pytest.ExitCode.OK, pytest.ExitCode.INTERRUPTED}:
            return Trial("survived", "", seconds)
        return Trial("caught", first or f"pytest ends with {code}", seconds)

    def _be_child(self, tests: Sequence[str], watch: Watch, cap: float, writing: int) -> None:
        """Run pytest as a new process would: nothing of this tree is loaded or on the path."""
        code = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(min(cap, LONG)) + MARGIN,) * 2)
            os.chdir(self.path)
            os.environ.update(PYTHONPATH=str(self.path), OPENBLAS_NUM_THREADS="1")
            log = os.open(self.path.parent / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for descriptor in (1, 2):
                os.dup2(log, descriptor)
            for name in [name for name in sys.modules if name.split(".")[0] in {"tests", "atc_py"}]:
                del sys.modules[name]
            sys.path[:] = [
                str(self.path),
                *(path for path in sys.path if path not in {"", str(ROOT)}),
            ]
            importlib.invalidate_caches()
            code = int(pytest.main([*OPTIONS, *tests], plugins=[watch]))
            os.write(writing, next(iter(watch.failed), "").encode())
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)


def _wait(child: int, deadline: float) -> int | None:
    """The status of a child, and None for one that had to be killed; what it started is killed, too."""
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return status if ended else None


class Known:
    """What is kept of a draw: which items reach each mutant, what items cost, and the trials."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._reached, self._costs = folder / "reached.txt", folder / "costs.txt"
        self._folders, self._trials = folder / "folders.txt", folder / "trials.txt"

    def measure(self, copy: Copy, mutants: Sequence[Mutant], folders: Iterable[str]) -> None:
        """Run the folders of tests that were not run yet, with a mark where each mutant is."""
        left = [folder for folder in folders if folder not in _lines(self._folders)]

        def note(item: str, cost: float) -> None:
            _append(self._costs, f"{cost:.3f}\t{item}")

        with copy.changed(with_marks(copy.path, mutants, self._reached.resolve())):
            for folder in left:
                trial = copy.run([folder], Watch(LONG, note), LONG)
                _say(f"{folder}: {trial.seconds:.0f} s")
                _append(self._folders, folder)

    def reached(self, cap: float) -> Callable[[Mutant], list[str]]:
        """What gives the items to try a mutant with: the cheapest of each test, then the next ones."""
        costs = {item: float(cost) for cost, item in map(_pair, _lines(self._costs))}
        reached: dict[str, set[str]] = defaultdict(set)
        for key, item in map(_pair, _lines(self._reached)):
            if item in costs:  # those that fail without a mutant have none
                reached[key].add(item)

        def items(mutant: Mutant) -> list[str]:
            by_test: dict[str, list[str]] = defaultdict(list)
            for item in sorted(reached[mutant.key], key=costs.__getitem__):
                by_test[item.partition("[")[0]].append(item)
            ranked = sorted(
                (at, costs[item], item)
                for items in by_test.values()
                for at, item in enumerate(items)
            )
            kept: list[str] = []
            total = 0.0
            for _, cost, item in ranked:
                total += cost
                if total <= cap or not kept:
                    kept.append(item)
            return kept

        return items

    def add(self, mutant: Mutant, trial: Trial, items: int) -> None:
        """Keep a trial."""
        _append(self._trials, json.dumps({"key": mutant.key, "items": items, **asdict(trial)}))

    def trials(self) -> dict[str, dict[str, Any]]:
        """The last trial of each mutant, by its key."""
        trials = (json.loads(line) for line in _lines(self._trials))
        return {trial["key"]: trial for trial in trials}


def _pair(line: str) -> tuple[str, str]:
    first, _, second = line.partition("\t")
    return first, second


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def print_table(mutants: Sequence[Mutant], trials: dict[str, dict[str, Any]]) -> None:
    """Print the verdicts by room, and the survivors."""
    verdicts = ("caught", "survived", "timed out")
    counts = Counter((mutant.room, trials[mutant.key]["verdict"]) for mutant in mutants)
    rows = [*dict.fromkeys(mutant.room for mutant in mutants)]
    _say(f"{'room':12}", *(f"{verdict:>10}" for verdict in verdicts))
    for room in rows:
        _say(f"{room:12}", *(f"{counts[room, verdict]:10}" for verdict in verdicts))
    totals = (sum(counts[room, verdict] for room in rows) for verdict in verdicts)
    _say(f"{'all':12}", *(f"{total:10}" for total in totals))
    for mutant in mutants:
        trial = trials[mutant.key]
        if trial["verdict"] == "survived":
            _say(f"{mutant.path}:{mutant.place} {mutant.kind}, {trial['items']} items")
            _say(f"  - {mutant.old}\n  + {mutant.new}")


def _say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, help="try no more than the first of them")
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="packages to draw from")
    parser.add_argument("--folders", nargs="+", default=["tests"], help="tests that may notice")
    parser.add_argument("--seconds", type=float, default=60, help="of the processor for a mutant")
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout with its tests")
    parser.add_argument("--mutant", type=int, help="try this one alone")
    parser.add_argument("--chosen", action="store_true", help="try those of mutations.txt")
    parser.add_argument("tests", nargs="*", help="with --mutant: in place of those that reach it")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Try mutants and print what became of them."""
    given = _arguments(arguments)
    for name in PRELOADED:
        importlib.import_module(name)
    out = given.tree.resolve() / "out" / "mutants"
    copy = Copy(given.tree.resolve(), out / "tree")
    if given.chosen:
        return _try_chosen(copy)
    mutants = draw(given.tree, given.rooms, given.count, given.seed)[: given.first]
    known = Known(out / f"seed-{given.seed}-{given.count}")
    if given.mutant is None:
        known.measure(copy, mutants, given.folders)
    items_of, trials = known.reached(given.seconds), known.trials()
    for number, mutant in enumerate(mutants):
        if number == given.mutant or (given.mutant is None and mutant.key not in trials):
            items = given.tests or items_of(mutant)
            trial = copy.try_mutant(mutant, items, given.seconds)
            known.add(mutant, trial, len(items))
            _say(f"{number} {trial.verdict}, {trial.seconds} s: {mutant.key} {trial.first}")
    if given.mutant is None:
        print_table(mutants, known.trials())
    return 0


def _try_chosen(copy: Copy) -> int:
    survivors = 0
    for mutant, tests in chosen_mutants(copy.path):
        trial = copy.try_mutant(mutant, [f"tests/{test}" for test in tests], 1800)
        survivors += trial.verdict == "survived"
        _say(f"{trial.verdict}, {trial.seconds} s: {mutant.path} {mutant.new!r} {trial.first}")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
