"""Proof of one rewrite: a node and the nodes that replaced it run on the same data.

A rule of class EQUAL gives the same elements, also for infinities, and for NaN unless the operator takes the
largest or the smallest of several, of which ONNX leaves open where NaN is. The sign of zeros and the bits of
NaN do not count. Results of other rules may differ by their limit, and by as much as rounded inputs change
those of the node itself. Elements for which the node has no finite result are outside of its domain, and so
are data that it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.quantizer_steps import is_step_apart
from atc_py.compare.proof.region_data import (
    FLOAT32_STEP,
    OWN_RUN,
    DataSet,
    Kinds,
    data_sets,
    is_float,
    moved,
    odd_values,
    step_of,
)
from atc_py.compare.proof.region_inputs import inputs_of
from atc_py.compare.proof.result_gap import defined_elements, largest_gap, magnitude
from atc_py.fix.fixed import Applied
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.running.float64 import run_in_float64
from atc_py.onnx_graph.running.piece import ENGINES, FED_BYTES, NotRunError, Piece, PieceSettings
from atc_py.tensor.sameness import same_elements
from atc_py.text import SEMICOLON, Text, error_text

_OTHER_ENGINE = 1e-5
"""Difference of floats that two engines may have where they compute one thing."""

_ROUNDINGS = 8
"""Multiple of the effect of a rounded input that sums in another order may have."""

_MOST_OF_NARROW = 1e-2
"""Largest limit, whatever the dtype; those of rules are for float32."""

_LARGE = 1e4
"""Magnitude of large floats: a product of two holds float32, and one holds float16."""

_SCORES = frozenset({"GRU", "LSTM", "LogSoftmax", "RNN", "Softmax"})
_LARGE_SCORES = 10.0
"""Magnitude of large floats on the way to these: masks are numbers that hold float16, and states are
within 1."""

_OF_TERMS = frozenset(
    {"AveragePool", "Conv", "ConvTranspose", "Einsum", "Gemm", "GlobalAveragePool", "MatMul"}
    | {"Mean", "ReduceMean", "ReduceSum", "Sum"}
)
"""Operators that add up terms, of each of which a float16 may hold more than of their sum."""

_FIRST, _SECOND = ENGINES
_PAIRS = ((_FIRST, _FIRST), (_FIRST, _SECOND), (_SECOND, _SECOND), (_SECOND, _FIRST))
"""Engines of the node and of its new form, in the order in which they are tried."""

Feeds = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference beyond the class of a rule."""

    rules: tuple[str, ...]
    data: str  # the data on which it was seen, in words
    output: str
    error: float  # as a part of the result's largest magnitude
    limit: float  # the largest that the class allows


@dataclass(slots=True)
class RegionProof:
    """Proof of one rewrite so far."""

    error: float = 0.0  # largest error, without that of rounded inputs
    differing: int = 0  # elements that are not the same
    moved: int = 0  # those of them on the values of the model's own runs
    elements: int = 0  # elements that were compared
    runs: int = 0  # sets of data from the model's own runs
    drawn: int = 0  # sets of data that were drawn
    undefined: bool = False  # whether ONNX leaves results open on the data of a run of the model
    why: Text = field(default=Text(""))  # why a side did not run; empty where both did
    wrong: Disagreement | None = None  # the first difference beyond a rule's class

    @property
    def is_shown(self) -> bool:
        return bool(self.runs or self.drawn)

    def add(self, other: RegionProof) -> None:
        self.error = max(self.error, other.error)
        self.differing += other.differing
        self.moved += other.moved
        self.elements += other.elements
        self.runs += other.runs
        self.drawn += other.drawn
        self.undefined = self.undefined or other.undefined
        self.why = self.why or other.why
        self.wrong = self.wrong or other.wrong


@dataclass(slots=True)
class RegionTest:
    """Both sides of a rewrite, ready to run."""

    rules: tuple[str, ...]
    limit: float  # largest error that their classes allow
    before: Piece  # the node that was replaced
    after: Piece  # what replaced it
    proof: RegionProof  # takes the results
    _scales: dict[str, float] = field(default_factory=dict)
    _engines: tuple[str, str] | None = None

    def run(self, data: DataSet, ranges: Mapping[str, tuple[int, int]]) -> bool:
        """Run both sides on `data` and compare; return False if the node refuses the data.

        Integer results beyond `ranges`, which hold in the model, do not count.

        Raises:
            NotRunError: neither engine runs one of the sides.
        """
        wanted, found = self._both(data.feeds)
        for name, value in wanted.items():
            if name not in found:
                continue
            kept = _elements_within(value, ranges.get(name))
            self._compare(name, found[name], value, kept, data)
        return bool(wanted)

    def run_after(
        self, data: DataSet, wanted: Mapping[str, NDArray[Any]], made_by: Sequence[str]
    ) -> None:
        """Run the new form alone on `data`, and compare with results that are known."""
        for engine in ENGINES:
            try:
                results = self.after.run(data.feeds, engine)
            except NotRunError as error:
                self.proof.why = self.proof.why or _not_run(error_text(error))
                continue
            self._engines = (*(set(made_by) - {engine}), engine)[0], engine
            self.proof.why = Text("")
            for name, value in wanted.items():
                if name in results:
                    self._compare(name, results[name], value, None, data)
            self.proof.runs += 1
            return

    def close(self) -> None:
        self.before.close()
        self.after.close()
        self._engines = None

    def _both(self, feeds: Feeds) -> tuple[Feeds, Feeds]:
        """The results of both sides, on one engine if there is one that runs them."""
        if self._engines is not None:
            before, after = self._engines
            try:
                wanted = self.before.run(feeds, before)
            except NotRunError:
                return {}, {}
            try:
                return wanted, self.after.run(feeds, after)
            except NotRunError:
                # The node takes the data and its new form does not.
                return wanted, {name: np.zeros(0, np.bool_) for name in wanted}
        reasons = {}
        for pair in _PAIRS:
            try:
                wanted, result = self.before.run(feeds, pair[0]), self.after.run(feeds, pair[1])
            except NotRunError as error:
                reasons[pair] = error_text(error)
                continue
            self._engines = pair[0], pair[1]
            return wanted, result
        raise NotRunError(SEMICOLON.join(dict.fromkeys(reasons.values())))

    def _compare(
        self,
        name: str,
        value: NDArray[Any],
        wanted: NDArray[Any],
        kept: NDArray[np.bool_] | None,
        data: DataSet,
    ) -> None:
        defined = defined_elements(self.before.nodes, data.feeds, wanted)
        if defined is not None:
            kept = defined if kept is None else kept & defined
            if data.label == OWN_RUN and not defined.all():
                self.proof.undefined = True
        narrow = data.own_scale and step_of(wanted.dtype) > FLOAT32_STEP
        fits = self._fits(name, data.feeds) if narrow else None
        if fits is not None:
            kept = fits if kept is None else kept & fits
        whole = wanted
        if kept is not None and value.shape == wanted.shape:
            value, wanted = value[kept], wanted[kept]
        proof, limit = self.proof, self._limit(wanted)
        exact = limit == 0.0
        gap = largest_gap(value, wanted, finite=not exact)
        gap = 0.0 if not exact and is_step_apart(self.before.nodes, value, wanted, gap) else gap
        scale = magnitude(wanted)
        if not data.own_scale:
            scale = self._scales[name] = max(scale, self._scales.get(name, 0.0))
        proof.elements += wanted.size
        alike = value.shape == wanted.shape
        other = np.count_nonzero(~same_elements(value, wanted)) if alike else wanted.size
        proof.differing += int(other)
        proof.moved += int(other) if data.label == OWN_RUN else 0
        error = gap / (scale or 1.0)
        if error > limit and not exact and np.isfinite(scale):
            error = max(gap - _ROUNDINGS * self._conditioning(name, data.feeds), 0.0) / (scale or 1)
            if error > limit:
                # Far from 1 it is enough that the engines agreed on data near 1.
                alike = data.own_scale and proof.wrong is None and proof.drawn > 0
                true = self._in_float64(name, data.feeds, whole, alike=alike)
                near = true if true is None or kept is None else true[kept]
                if near is not None:
                    own = largest_gap(value.astype(np.float64), near)
                    error = min(error, own / (scale or 1))
        proof.error = max(proof.error, error)
        if error > limit and proof.wrong is None:
            proof.wrong = Disagreement(self.rules, data.label, name, error, limit)

    def _fits(self, name: str, feeds: Feeds) -> NDArray[np.bool_] | None:
        """True where the magnitudes of a sum's terms add up within the dtype; None for no sum.

        No part of such a sum overflows, in whatever order it is taken.
        """
        (node, *more), engines = self.before.nodes, self._engines
        if more or engines is None or node.domain or node.op_type not in _OF_TERMS:
            return None
        magnitudes = {each: np.abs(array) for each, array in feeds.items()}
        try:
            sums = self.before.with_constants(np.abs).run(magnitudes, engines[0])[name]
        except (NotRunError, KeyError):
            return None
        return np.isfinite(sums.astype(np.float64))

    def _in_float64(
        self, name: str, feeds: Feeds, value: NDArray[Any], *, alike: bool
    ) -> NDArray[np.float64] | None:
        if self.before.constant_bytes > FED_BYTES:
            return None
        fed = {read: feeds[read] for read in self.before.reads if read in feeds}
        return run_in_float64(self.before, name, fed, value, alike=alike)

    def _limit(self, wanted: NDArray[Any]) -> float:
        """The limit for a result of a dtype; those of rules are for float32."""
        limit = self.limit
        if wanted.dtype.kind in "biu":
            return limit
        if limit == 0.0 and self._engines is not None and len(set(self._engines)) > 1:
            limit = _OTHER_ENGINE
        step = step_of(wanted.dtype)
        if step <= FLOAT32_STEP or limit > _MOST_OF_NARROW:
            return limit
        return min(limit * step / FLOAT32_STEP, _MOST_OF_NARROW)

    def _conditioning(self, name: str, feeds: Feeds) -> float:
        """The largest change of a result of the node that rounded inputs make.

        Constants count as inputs where the others are integers.
        """
        if self._engines is None:
            return 0.0
        largest = 0.0
        fed = any(is_float(array.dtype) for array in feeds.values())
        for seed in range(2):
            rounded = {each: moved(array, seed) for each, array in feeds.items()}
            # Codes are not rounded: what multiplies and shifts them is.
            other = self.before if fed else self.before.with_constants(partial(moved, seed=seed))
            try:
                first = self.before.run(feeds, self._engines[0])[name]
                second = other.run(rounded, self._engines[0])[name]
            except (NotRunError, KeyError):
                return 0.0
            largest = max(largest, largest_gap(second, first))
        return largest


def prove_step(
    step: Applied, tensors: TensorReader, seeds: Sequence[int], visible: Feeds
) -> RegionProof:
    """Run one step on drawn data, boundary values among them.

    `visible` are values of the model's own run, for inputs that cannot be drawn.
    """
    made = {name for node in step.written for name in node.writes}
    writes = tuple(name for name in step.writes if name in made)
    settings = PieceSettings(step.opsets, tensors)
    before = Piece(step.nodes, step.consts, writes, settings)
    after = Piece(step.written, step.consts, writes, settings)
    test = RegionTest((step.rule.name,), step.rule.limit, before, after, RegionProof())
    run_drawn(test, step, seeds, visible)
    return test.proof


def run_drawn(test: RegionTest, step: Applied, seeds: Sequence[int], visible: Feeds) -> None:
    """Run both sides on drawn data, or where data cannot be drawn on `visible` values of the model."""
    proof = test.proof
    drawn, held = [], {}
    related = sorted(set(test.after.reads) - set(test.before.reads))
    if related:
        # The rule looked at the nodes around this one; values of both cannot be drawn apart.
        why = "the new nodes read {name}, which depends on the same values as the inputs of the old node"
        proof.why = proof.why or Text(why, name=repr(related[0]))
        return
    for name in dict.fromkeys((*test.before.reads, *test.after.reads)):
        one = inputs_of(step, name)
        if one is not None and one.drawn:
            drawn.append(one)
        elif name in visible:
            held[name] = visible[name]
        else:
            proof.why = proof.why or _not_drawn(name)
            return
    bounds = {name: (limits.low, limits.high) for name, limits in step.ranges.items()}
    refused = ""
    operators = test.before.operators | test.after.operators
    bounded = not operators.isdisjoint(_SCORES)
    kinds = Kinds(
        large=_LARGE_SCORES if bounded else _LARGE,
        bounded=bounded,
        lowest="Div" not in operators,
        odd=odd_values(test.before.operators) if test.limit == 0.0 else {},
    )
    for data in data_sets(drawn, seeds, kinds):
        data.feeds.update(held)
        try:
            proof.drawn += test.run(data, bounds)
        except NotRunError as error:
            refused = error_text(error)
    if refused and not proof.is_shown:
        proof.why = _not_run(refused)


def _not_run(reason: str) -> Text:
    return Text("neither engine runs it: {reason}", reason=reason)


def _not_drawn(name: str) -> Text:
    return Text(
        "input {name} has open dims, or holds dims, axes or indices that only the model's "
        "own run shows",
        name=repr(name),
    )


def _elements_within(
    value: NDArray[Any], bounds: tuple[int, int] | None
) -> NDArray[np.bool_] | None:
    """The elements within the bounds that hold in the model; None for all."""
    if bounds is None or value.dtype.kind not in "iu":
        return None
    kept = (value >= bounds[0]) & (value <= bounds[1])
    return None if kept.all() else kept
