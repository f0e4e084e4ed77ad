"""A session that runs on the simulated NPU, in onnxruntime where that cannot be, or on both."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from atc_py.adapters.exec.recorder import Recorder
from atc_py.adapters.exec.records import CompilationRecord, OutputSums, RefusalRecord, cosine
from atc_py.adapters.exec.simulated import (
    as_refusal,
    is_of_values,
    new_filter_lock,
    simulate,
    simulated_work,
)
from atc_py.diag import SESSION_IN_ONNXRUNTIME, AtcError
from atc_py.tensor.sameness import best_places, same_elements
from atc_py.text import Text, verbatim

if TYPE_CHECKING:
    from atc_py.adapters.session.session import InferenceSession

_PAIR = 2
"""Elements along the last axis from which an argmax says something."""

_MOST_REFUSALS = 100
"""Reasons that a process records of one model; each set of shapes may have one."""


class Hybrid:
    """The two sides of a session of the program.

    Attributes:
        npu: the simulated side; None where the model cannot be compiled.
    """

    def __init__(
        self, real: Any, args: tuple[Any, ...], kwargs: dict[str, Any], recorder: Recorder
    ) -> None:
        """Keep what onnxruntime's side is opened with: its class, and the program's arguments."""
        self.npu: InferenceSession | None = None
        self._real, self._args, self._kwargs = real, args, kwargs
        self._recorder = recorder
        self._settings = recorder.settings
        self._key = ("", "")
        self._lock = threading.RLock()
        self._has_other = False
        self._refused: set[str] = set()
        self._compiled = 0
        _HYBRIDS.add(self)

    def open(self, session: Any, model: str | bytes, arguments: Mapping[str, Any]) -> None:
        """Open the simulated side, and onnxruntime's if it is needed."""
        digest, size = self._recorder.digest(model)
        self._key = (_shown(model), digest)
        refusal, said = None, list[str]()
        try:
            with simulated_work(self._settings):
                self.npu, said = simulate(model, arguments, self._settings)
        except Exception as error:  # noqa: BLE001  (a bug of atc-py's is no end of the program)
            self.open_onnxruntime(session)
            refusal = as_refusal(error)
        if self._settings.shadow:
            self.open_onnxruntime(session)
        with self._recorder.change(self._key, now=True) as record:
            record.size = size
            record.sessions += 1
            record.remarks += [each for each in said if each not in record.remarks]
        self._count_compilations()
        if refusal is not None:
            self._refuse(refusal, None)

    def open_onnxruntime(self, session: Any) -> None:
        """Open onnxruntime's side, once.

        Raises:
            Exception: what onnxruntime's constructor raises.
        """
        with self._lock:
            if not self._has_other:
                self._real.__init__(session, *self._args, **self._kwargs)
                self._has_other = True
                self._args, self._kwargs = (), {}

    def name(self, text: str) -> None:
        with self._recorder.change(self._key) as record:
            record.name = text

    def run(self, session: Any, names: Any, feeds: Any, options: Any) -> Any:
        if self.npu is None or (self._refused and repr(_shapes(feeds)) in self._refused):
            return self.run_in_onnxruntime(session, self._real.run, names, _arrays(feeds), options)
        start = time.perf_counter()
        try:
            with simulated_work(self._settings):
                ours = self.npu.run(names, feeds, options)
        except Exception as error:  # noqa: BLE001  (what is wrong with the feeds, onnxruntime says)
            self._count_compilations()
            theirs = self.run_in_onnxruntime(
                session, self._real.run, names, _arrays(feeds), options
            )
            refusal, shapes = as_refusal(error), _shapes(feeds)
            if not is_of_values(refusal):
                self._refused.add(repr(shapes))
            self._refuse(refusal, shapes)
            return theirs
        seconds = time.perf_counter() - start - self._count_compilations()
        self._recorder.count(self._key, "npu", max(seconds, 0.0))
        if not self._settings.shadow:
            return ours
        theirs = self._run_shadow(session, names, feeds, options)
        if theirs is None:
            return ours
        with suppress(Exception):  # the program has its results
            self._compare(self.npu, names, ours, theirs)
        return theirs if self._settings.returned == "onnxruntime" else ours

    def run_bound(self, session: Any, binding: Any, options: Any) -> None:
        """Run with inputs and outputs that are bound; onnxruntime's own bindings run there."""
        if hasattr(binding, "take"):
            binding.take(self.run(session, binding.wanted or None, binding.feeds, options))
        else:
            self.run_in_onnxruntime(session, self._real.run_with_iobinding, binding, options)

    def run_in_onnxruntime(self, session: Any, method: Callable[..., Any], *given: Any) -> Any:
        """Result of a method of onnxruntime's that runs the model; the run is recorded."""
        self.open_onnxruntime(session)
        start = time.perf_counter()
        found = method(session, *given)
        seconds = time.perf_counter() - start
        self._recorder.count(self._key, "onnxruntime", seconds)
        return found

    def _run_shadow(self, session: Any, names: Any, feeds: Any, options: Any) -> Any:
        """Run in onnxruntime too; None where it fails."""
        start = time.perf_counter()
        try:
            found = self._real.run(session, names, _arrays(feeds), options)
        except Exception:  # noqa: BLE001  (the program has a result already)
            return None
        seconds = time.perf_counter() - start
        self._recorder.count(self._key, "shadow", seconds)
        return found

    def _compare(self, npu: InferenceSession, names: Any, ours: Any, theirs: Any) -> None:
        names = names or [each.name for each in npu.get_outputs()]
        with self._recorder.change(self._key) as record:
            for name, our, their in zip(names, ours, theirs, strict=False):
                add_comparison(record.outputs, name, our, their)

    def _count_compilations(self) -> float:
        if self.npu is None:
            return 0.0
        with self._lock:
            new = list(self.npu.compilations[self._compiled :])
            self._compiled += len(new)
        if new:
            with self._recorder.change(self._key, now=True) as record:
                record.compilations += [
                    CompilationRecord({k: list(v) for k, v in each.shapes.items()}, each.seconds)
                    for each in new
                ]
        return sum(each.seconds for each in new)

    def _refuse(self, error: AtcError, shapes: dict[str, list[int]] | None) -> None:
        """Record that the model, or one set of shapes, runs in onnxruntime; in strict mode, end."""
        findings = [found.as_json() for found in error.diagnostics]
        template = "{key} runs in onnxruntime: {reasons}"
        if shapes is not None:
            template = "{key} runs in onnxruntime for {shapes}: {reasons}"
        finding = SESSION_IN_ONNXRUNTIME.diagnostic(
            Text(
                template,
                key=self._key[0] or Text("a model of bytes"),
                shapes="" if shapes is None else _shapes_text(shapes),
                reasons=_reasons(error),
            )
        ).as_json()
        refusal = RefusalRecord(findings, shapes)
        with self._recorder.change(self._key, now=True) as record:
            known = [each.findings for each in record.refusals]
            if refusal not in record.refusals and len(record.refusals) < _MOST_REFUSALS:
                record.refusals.append(refusal)
        if self._settings.strict:
            end_program(self._recorder, finding, int(error.exit_code), findings)
        if findings not in known:
            self._recorder.say(finding)


_HYBRIDS: weakref.WeakSet[Hybrid] = weakref.WeakSet()
"""The sessions of this process."""


def _new_locks() -> None:
    """Make locks for a process that was forked: threads that held them are not in it."""
    new_filter_lock()
    for each in list(_HYBRIDS):
        each._lock = threading.RLock()  # noqa: SLF001  (a function of this class's module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_locks)


def _shown(model: str | bytes) -> str:
    if isinstance(model, bytes):
        return ""
    try:
        return os.path.abspath(model)  # noqa: PTH100  (text in, text out)
    except OSError:  # the current folder is gone
        return model


def _arrays(feeds: Any) -> Any:
    if not isinstance(feeds, dict):
        return feeds
    return {
        name: each.numpy() if getattr(each, "is_tensor", bool)() else each
        for name, each in feeds.items()
    }


def _shapes(feeds: Any) -> dict[str, list[int]]:
    if not isinstance(feeds, dict):
        return {}
    return {str(name): _shape(each) for name, each in feeds.items()}


def _shape(value: Any) -> list[int]:
    """The dims of an array, an OrtValue or nested lists."""
    found = getattr(value, "shape", None)
    if found is None:
        try:
            found = np.shape(value)
        except ValueError:  # no array can be made of it
            return []
    return [int(each) for each in (found() if callable(found) else found)]


def _shapes_text(shapes: Mapping[str, list[int]]) -> str:
    return ";".join(f"{name}:{','.join(map(str, dims))}" for name, dims in shapes.items())


def _reasons(error: AtcError) -> Text:
    """The codes of an error and the first message, on one line."""
    counts = Counter(found.code.id for found in error.diagnostics)
    codes = ", ".join(code if n == 1 else f"{n} x {code}" for code, n in counts.items())
    first = error.diagnostics[0].message if error.diagnostics else Text("no reason is known")
    line = first if first.isprintable() else verbatim(" ".join(first.split()))
    return Text("{codes}: {reason}", codes=codes, reason=line)


_PATIENCE = 10.0
"""Seconds after which the process ends by itself, the launcher being gone."""


def end_program(
    recorder: Recorder, finding: dict[str, Any], status: int, more: list[dict[str, Any]]
) -> NoReturn:
    """Have the launcher end the program, this process included, from whichever thread.

    SystemExit would end a thread alone, and a program may catch it. What the program has printed is
    written first. The process lives until the launcher ends it, which finds others by it.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    recorder.say(finding, status, more)
    time.sleep(_PATIENCE)
    os._exit(status)


def add_comparison(outputs: dict[str, OutputSums], name: str, ours: object, theirs: object) -> None:
    """Add one output of one run; what is not an array of numbers is counted, not compared."""
    a, b = np.asarray(ours), np.asarray(theirs)
    sums = outputs.setdefault(name, OutputSums(a.dtype.name, b.dtype.name))
    sums.npu_dtype, sums.dtype = a.dtype.name, b.dtype.name
    sums.runs += 1
    if a.shape != b.shape or b.dtype.kind not in "biufV" or isinstance(theirs, list | dict):
        sums.other_shapes += 1
        return
    _add_values(sums, a.astype(np.float64), b.astype(np.float64))


def _add_values(
    sums: OutputSums, ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]
) -> None:
    same = same_elements(ours, theirs)
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(ours - theirs))
    largest = float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max(initial=0.0))
    sums.largest_error = max(sums.largest_error, largest)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    a, b = ours[finite], theirs[finite]
    product, npu_square, square = float(a @ b), float(a @ a), float(b @ b)
    sums.product += product
    sums.npu_square += npu_square
    sums.square += square
    known = bool(finite.any()) or bool(same.all())
    here = cosine(product, npu_square, square) if known else 0.0
    sums.least_cosine = min(sums.least_cosine, here)
    if theirs.ndim and theirs.shape[-1] >= _PAIR and theirs.size:
        best = best_places(theirs)
        sums.rows += int(np.count_nonzero(best >= 0))
        sums.equal_rows += int(np.count_nonzero((best >= 0) & (best_places(ours) == best)))
