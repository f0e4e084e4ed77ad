"""Proof that a fixed model computes what the original does, as a whole and rewrite by rewrite.

Both run in the reference engine on the same data. What was finally written for a node runs on the values
that the original has there; where the node is not part of the original's own run, or where several rules led
to its form, data are drawn for it. Each step runs on drawn data and boundary values in any case.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.input_roles import Role, fitting_feeds, input_roles
from atc_py.compare.proof.final_regions import FinalRegions
from atc_py.compare.proof.quantizer_steps import MovedCodes, quantized_values
from atc_py.compare.proof.region_data import moved, step_of
from atc_py.compare.proof.region_inputs import inputs_of
from atc_py.compare.proof.region_proof import RegionProof, prove_step
from atc_py.compare.proof.result_gap import ResultGap, largest_gap
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.compare.row_order import RowOrder
from atc_py.fix.fixed import Applied
from atc_py.fix.rule import Exactness
from atc_py.fix.tidy.tidying import Twin
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.evaluate import DRAWN
from atc_py.onnx_graph.reading.tensors import TensorReader, dtype_of_element
from atc_py.onnx_graph.running.piece import constant_bytes
from atc_py.pipeline.running.model import Port
from atc_py.system.memory_limit import held_memory
from atc_py.tensor.shapes import closed_shape

_MOST_READ = 1 << 16
"""Bytes of a constant up to which its data are looked at; a larger one is like itself alone."""


class SharedSteps:
    """Proofs of the steps of one model."""

    def __init__(
        self, tensors: TensorReader, seeds: Sequence[int], visible: Mapping[str, NDArray[Any]]
    ) -> None:
        self._tensors = tensors
        self._seeds = seeds
        self._visible = dict(visible)
        self._proofs: dict[Hashable, RegionProof] = {}

    def proof_of(self, applied: Applied) -> RegionProof:
        key = (applied.rule.name, self._likeness(applied))
        if key not in self._proofs:
            self._proofs[key] = prove_step(applied, self._tensors, self._seeds, self._visible)
        return self._proofs[key]

    def _likeness(self, step: Applied) -> Hashable:
        """A key that steps share which compute the same thing on the same data."""
        # Numbers in place of names, in the order in which they are first met.
        numbers: defaultdict[str, int] = defaultdict(count(1).__next__, {"": 0})
        nodes: list[Hashable] = []
        for node in (*step.nodes, *step.written):
            proto = node.proto
            # Graphs among the attributes keep their names: some are of values outside of them.
            attributes = sorted(
                each.SerializeToString(deterministic=True) for each in proto.attribute
            )
            named = (proto.input, proto.output, node.reads)
            ports = [tuple(map(numbers.__getitem__, names)) for names in named]
            nodes.append((proto.op_type, proto.domain, *ports, *attributes))
        values = dict(numbers)
        return (
            tuple(nodes),
            tuple(sorted((values[n], each) for n, each in step.types.items() if n in values)),
            tuple(sorted((values[n], bounds) for n, bounds in step.ranges.items() if n in values)),
            tuple(sorted((values[n], _digest(const)) for n, const in step.consts.items())),
            tuple(name for name in step.reads if name in self._visible),
        )


def _digest(const: ConstData) -> Hashable:
    if constant_bytes(const) > _MOST_READ:
        return str(id(const))
    data = np.asarray(const.numpy()).tobytes()
    return f"{const.dtype.value}{const.shape}{hashlib.sha256(data).hexdigest()}"


_ROUNDINGS = 16
"""Multiple of the effect of rounded inputs on an output that the sums of a whole model may have."""

_GROSS = 1e-3
"""Error of an output that is looked into: regions that each keep to their class do not add up to it."""

_STEPS = 2
"""Multiple of the effect of codes that are a step off that an output of a quantized model may have."""

Feeds = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class ModelFeeds:
    """Data of the inputs of both models."""

    ports: Sequence[Port]  # the inputs with closed dims
    seeds: Sequence[int]  # one run each
    # data that are the same in all runs: of bound inputs, and from files
    given: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # bounds of integer inputs, both included, by name
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    order: RowOrder = field(default_factory=RowOrder)  # the outputs whose rows a TopK orders

    def of(self, seed: int, roles: Mapping[str, Role]) -> Feeds:
        """The data of one run, in which inputs have the given roles."""
        drawn = fitting_feeds(self.ports, roles, seed)
        return {**drawn, **_draw_bounded(self.ports, self.ranges, seed), **self.given}


@dataclass(slots=True)
class FixProof:
    """Differences between a model and its fixed form."""

    seeds: tuple[int, ...]  # of the data
    outputs: dict[str, ResultGap]  # by the name of each output
    rewrites: list[RegionProof]  # the proof of each rewrite, in the order of the groups
    # data of the inputs of each run, and the original's results
    samples: list[tuple[Feeds, Feeds]] = field(default_factory=list)
    # the output that differs grossly although every rewrite keeps to its class; "" if none, and
    # where ONNX leaves open what a node computes
    diverging_output: str = ""
    # the outputs whose rows a TopK orders, which are compared as sets
    order: RowOrder = field(default_factory=RowOrder)

    @property
    def nbytes(self) -> int:
        """Bytes of the samples; an array that is in several counts in each."""
        return sum(
            each.nbytes for pair in self.samples for values in pair for each in values.values()
        )


def prove(
    original: ReferenceModel,
    fixed: ReferenceModel,
    groups: Sequence[tuple[Applied, ...]],
    feeds: ModelFeeds,
    twins: Mapping[str, Sequence[Twin]],
) -> FixProof:
    """Run both models and every rewrite; return the differences.

    `groups` are the steps of each rewrite; `twins` are the values of the original that values of
    the fixed model stand for.

    Raises:
        AtcError: REFERENCE_FAILED where neither engine runs one of the models.
    """
    result = FixProof(
        tuple(feeds.seeds),
        {name: ResultGap() for name in fixed.outputs},
        [RegionProof() for _ in groups],
        order=feeds.order,
    )
    regions = FinalRegions(original, fixed, groups, result.rewrites, twins)
    kept = dict.fromkeys(_not_drawn(original, groups))
    visible: Feeds = {}
    roles = input_roles(original, feeds.ports)
    for seed in feeds.seeds:
        with held_memory(result.nbytes):
            visible = _run_both(original, fixed, feeds.of(seed, roles), regions, result, kept)
    steps = SharedSteps(original.file.tensors, feeds.seeds, visible)
    with held_memory(result.nbytes):
        for group, proof, region in zip(groups, result.rewrites, regions.regions, strict=True):
            measured = any(step.rule.measured for step in group)
            for step in group:
                if not step.rule.measured:
                    proof.add(steps.proof_of(step))
            if region is not None and len(group) > 1 and not measured:
                region.prove_drawn(feeds.seeds, visible)
        if not any(rewrite.undefined for rewrite in result.rewrites):
            result.diverging_output = _diverging_output(original, result, groups)
    return result


def _run_both(
    original: ReferenceModel,
    fixed: ReferenceModel,
    feeds: Feeds,
    regions: FinalRegions,
    proof: FixProof,
    kept: Iterable[str],
) -> Feeds:
    """Run both models on one set of data, and the rewrites on the values that the original shows.

    Return the values called `kept`.
    """
    first, second = ReferenceRun(original, feeds), ReferenceRun(fixed, feeds)
    awaited = Counter(regions.awaited())
    awaited.update([*proof.outputs, *kept])
    first.expect(awaited)
    second.expect(dict.fromkeys(proof.outputs, 1))
    for region in regions.in_order():
        region.prove_shown(first, original.engines)
    sides = [{name: run.output(name) for name in proof.outputs} for run in (first, second)]
    known = [{name: each for name, each in side.items() if each is not None} for side in sides]
    results = {name: wanted for name, wanted in known[0].items() if name in known[1]}
    for name, value in {**known[1], **proof.order.moved(known[1], results)}.items():
        if name in results:
            proof.outputs[name].add(value, results[name])
    for name in proof.outputs:
        first.release(name)
        second.release(name)
    proof.samples.append((feeds, results))
    values = {name: first.value(name) for name in kept}
    return {name: value for name, value in values.items() if value is not None}


def _not_drawn(original: ReferenceModel, groups: Sequence[tuple[Applied, ...]]) -> Iterator[str]:
    """Yield values of the original's own run that steps read and that cannot be drawn."""
    for step in chain.from_iterable(groups):
        for name in step.reads:
            if name in step.consts or not original.is_there(name):
                continue
            one = inputs_of(step, name)
            if one is None or not one.drawn:
                yield name


def _diverging_output(
    original: ReferenceModel, proof: FixProof, groups: Sequence[tuple[Applied, ...]]
) -> str:
    """An output that differs by more than the rules allow, and than rounded inputs make.

    Where each rewrite gave every bit on the model's own values, none is looked for if quantizers or
    random nodes can make a difference of any size, or if all rules promise every bit.
    """
    limit = sum(
        {applied.rule.name: applied.rule.limit for group in groups for applied in group}.values()
    )
    codes = quantized_values(original.nodes) if original.can_be_amended else ()
    equal = all(map(_is_equal, proof.rewrites))
    if not isfinite(limit) or (equal and (codes or _is_explained(original, groups))):
        return ""
    most = max(limit, _GROSS)
    gross = [name for name, gap in proof.outputs.items() if gap.error > most]
    effects = _effects_of_rounding(original, proof, gross, max(limit, _coarsest_step(original)))
    beyond = {
        name: gap.gap
        for name, gap in proof.outputs.items()
        if name in gross and gap.gap > _ROUNDINGS * effects[name] + most * gap.scale
    }
    if beyond and codes:
        steps = _effects_of_steps(original, proof, [*beyond], codes)
        beyond = {name: gap for name, gap in beyond.items() if gap > _STEPS * steps[name]}
    return next(iter(beyond), "")


def _is_explained(original: ReferenceModel, groups: Sequence[tuple[Applied, ...]]) -> bool:
    """True where no rule changes a bit, and where nodes draw random numbers."""
    exact = all(applied.rule.exactness is Exactness.EQUAL for group in groups for applied in group)
    return exact or any(node.op_type in DRAWN for node in original.nodes)


def _is_equal(rewrite: RegionProof) -> bool:
    """True for a rewrite that gave each bit of its node's results on the values that the model has."""
    return bool(rewrite.runs) and not rewrite.moved


def _effects_of_steps(
    original: ReferenceModel, proof: FixProof, names: Sequence[str], codes: Sequence[str]
) -> dict[str, float]:
    """The largest change of each output of the original when codes on the way move by a step."""
    return _changes(
        proof,
        names,
        lambda seed, plain: ReferenceRun(original.with_amendment(MovedCodes(codes, seed)), plain),
    )


def _changes(
    proof: FixProof, names: Sequence[str], other: Callable[[int, Feeds], ReferenceRun]
) -> dict[str, float]:
    """The largest gap between outputs of the original's runs in the proof and of `other` runs.

    `other` is given the seed and the data of each run; an output that a run lacks has no gap.
    """
    largest = dict.fromkeys(names, 0.0)
    for seed, (plain, results) in zip(proof.seeds if names else (), proof.samples, strict=False):
        run = other(seed, plain)
        run.expect(dict.fromkeys(names, 1))
        for name in names:
            value = run.value(name)
            if value is not None and name in results:
                largest[name] = max(largest[name], largest_gap(value, results[name]))
            run.release(name)
    return largest


def _coarsest_step(original: ReferenceModel) -> float:
    elements = {constant.data_type for constant in original.constants.values()}
    for node in original.graph.nodes:
        if node.op_type == "Cast":
            elements.update(attribute.i for attribute in node.proto.attribute)
    result = map(dtype_of_element, elements)
    return max((step_of(dtype.numpy) for dtype in result if dtype is not None), default=0.0)


def _effects_of_rounding(
    original: ReferenceModel, proof: FixProof, names: Sequence[str], least: float
) -> dict[str, float]:
    """The largest change of each output of the original when inputs move by one step.

    `least` is the part of each value that it moves by at least: what rounding inside of the model and
    the classes of the rules allow.
    """
    return _changes(
        proof,
        names,
        lambda seed, plain: ReferenceRun(
            original, {port: moved(array, seed, least) for port, array in plain.items()}
        ),
    )


def _draw_bounded(ports: Sequence[Port], ranges: Mapping[str, tuple[int, int]], seed: int) -> Feeds:
    """Data of the integer inputs with bounds; both bounds are among them."""
    results: Feeds = {}
    for position, port in enumerate(ports):
        if port.name not in ranges:
            continue
        low, high = ranges[port.name]
        drawn = np.random.default_rng([seed, position, 1]).integers(
            low, high, closed_shape(port.shape), endpoint=True
        )
        drawn.reshape(-1)[:1], drawn.reshape(-1)[1:2] = high, low
        results[port.name] = drawn.astype(port.dtype.numpy)
    return results
