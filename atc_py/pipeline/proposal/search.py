"""The search for dims that a model takes: each choice is tried, and the work is bounded."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations, islice

from atc_py.check.findings import Finding, Standing
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.source import OpenDim, SourceModel, SourceNode, SourceTensor
from atc_py.pipeline.judging import Judgment, key_of
from atc_py.pipeline.proposal.open_dims import chosen, open_dims
from atc_py.system.structs import replace

_BATCHES = (1, 2, 4, 8, 16, 3, 32)

_CHANNELS = (3, 1, 4, 2, 16, 32, 64)

_IMAGES = (
    64, 32, 128, 224, 256, 320, 96, 160, 192, 384, 416, 512, 640, 448, 112, 48, 28, 299, 300, 16, 8,
    4, 2, 1,
)  # fmt: skip
"""Heights and widths: multiples of strides first, then what known networks take."""

_LENGTHS = (16, 64, 32, 128, 8, 256, 512, 4, 1, 2, 100, 1000, 16000)
"""Lengths of sequences."""

_MOST_SUMS = 4
"""Choices with the dim of a mask as a sum; more would leave no trials for other lengths."""

_IMAGE_RANK = 4
"""Images have so many axes: batch, channels, and two or more along which windows slide."""

NUMBER = re.compile("[1-9][0-9]{0,8}")
"""Names of dims that exporters wrote for the dims themselves."""

_CHANNEL_AXIS = {"Conv": 1, "Gemm": 1, "GRU": 2, "LSTM": 2, "MatMul": -1, "RNN": 2}
"""The axis of the first input that must be as long as an axis of the second one."""


def values_for(dim: OpenDim, known: Mapping[OpenDim, int]) -> tuple[int, ...]:
    """List the values to try for one dim, first the one that the weights determine."""
    first = (known[dim],) if dim in known else ()
    if dim.is_batch:
        rest: Sequence[int] = _BATCHES
    elif dim.rank >= _IMAGE_RANK:
        rest = _CHANNELS if any(axis == 1 for _, axis in dim.places) else _IMAGES
    else:
        rest = _LENGTHS
    return tuple(dict.fromkeys((*first, *rest)))


def first_values(
    dims: Sequence[OpenDim], known: Mapping[OpenDim, int]
) -> Iterator[dict[OpenDim, int]]:
    """Yield choices for all dims: one batch, and the other dims along their lists together."""
    lists = {dim: values_for(dim, known) for dim in dims}
    steady = {
        dim
        for dim in dims
        if dim.is_batch
        or dim in known
        or (dim.rank >= _IMAGE_RANK and any(axis == 1 for _, axis in dim.places))
    }
    most = max((len(lists[dim]) for dim in dims if dim not in steady), default=1)
    for step in range(most):
        values = {
            dim: lists[dim][0 if dim in steady else min(step, len(lists[dim]) - 1)] for dim in dims
        }
        yield values
        if not step:
            yield from islice(_with_sums(values, known), _MOST_SUMS)


def _with_sums(
    values: dict[OpenDim, int], known: Mapping[OpenDim, int]
) -> Iterator[dict[OpenDim, int]]:
    """Yield choices with one dim the sum of two others, as a mask's of past and new words."""
    lengths = [dim for dim in values if not dim.is_batch and dim not in known]
    for total in filter(_is_of_mask, lengths):
        for one, other in combinations([dim for dim in lengths if dim != total], 2):
            yield {**values, total: values[one] + values[other]}


def _is_of_mask(dim: OpenDim) -> bool:
    return any("mask" in name.lower() for name, _ in dim.places)


def mask_sums(
    values: Mapping[OpenDim, int],
) -> Iterator[tuple[OpenDim, tuple[OpenDim, OpenDim]]]:
    """Yield the dims of masks that are the sum of two others, with these."""
    lengths = [dim for dim in values if not dim.is_batch]
    for total in filter(_is_of_mask, lengths):
        for parts in combinations([dim for dim in lengths if dim != total], 2):
            if values[total] == sum(values[part] for part in parts):
                yield total, parts
                break


def hints(view: SourceModel, dims: Sequence[OpenDim]) -> dict[OpenDim, int]:
    """Read dims off names that are numbers, and weights: a Conv has as many channels as its filter."""
    by_place = {place: dim for dim in dims for place in dim.places}
    found = {dim: int(dim.name) for dim in dims if NUMBER.fullmatch(dim.name)}
    for place, value in filter(None, map(_dim_from_weights, view.all_nodes)):
        if place in by_place:
            found.setdefault(by_place[place], value)
    return found


def _dim_from_weights(node: SourceNode) -> tuple[tuple[str, int], int] | None:
    axis = None if node.domain else _CHANNEL_AXIS.get(node.op_type)
    if axis is None or len(node.inputs) < 2:  # noqa: PLR2004
        return None
    x, weights = node.inputs[:2]
    if x is None or weights is None or x.dims is None:
        return None
    dim = _shared_dim(node, weights)
    return None if dim is None else ((x.name, axis % max(len(x.dims), 1)), dim)


def _shared_dim(node: SourceNode, weights: SourceTensor) -> int | None:
    """The dim of the weights that the first input must share, or None."""
    dims = weights.dims or ()
    if node.op_type == "Conv" and len(dims) > 1 and dims[1] is not None:
        group = node.attributes.get("group", 1)
        return dims[1] * group if isinstance(group, int) else None
    if node.op_type == "MatMul" and len(dims) > 1:
        return dims[-2]
    if node.op_type == "Gemm" and len(dims) > 1 and not node.attributes.get("transA"):
        return dims[1] if node.attributes.get("transB") else dims[0]
    return dims[-1] if node.op_type in {"GRU", "LSTM", "RNN"} and dims else None


_MOST_TRIALS = 32
"""Choices that are tried for one model."""

_MOST_NODES = 40_000
"""Total nodes of all trials; large models get fewer choices."""

_FEWEST_TRIALS = 4

_RANKS = (4, 3, 2, 1, 5, 0)
"""Ranks to try for inputs of unknown rank."""


class Ran(IntEnum):
    """Outcome of running a choice of dims; a better one is smaller."""

    WELL = 0
    NOT_TRIED = 1
    WITHOUT_NUMBERS = 2
    STOPPED = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """Choice of dims and its judgment."""

    values: Mapping[OpenDim, int]
    judgment: Judgment  # the result of the check
    faults: int  # contradictions that this choice causes
    errors: int  # broken rules that this choice causes
    refusals: int = 0  # errors of a trial compilation that this choice causes
    ran: Ran = Ran.NOT_TRIED  # how a run ended; none is tried of what does not compile

    @property
    def is_sound(self) -> bool:
        return not (self.faults or self.errors)

    @property
    def fits(self) -> bool:
        return self.is_sound and not self.refusals

    @property
    def is_proposal(self) -> bool:
        """Tell whether the choice fits and its run, if one was tried, gave numbers."""
        return self.fits and self.ran <= Ran.NOT_TRIED

    @property
    def rank(self) -> tuple[int, int, int, Ran]:
        """A sort key; a better choice has a smaller one."""
        return self.faults, self.errors, self.refusals, self.ran


@dataclass(frozen=True, slots=True)
class Proposal:
    """Result of a search."""

    best: Tried
    count: int  # choices that were tried


class Search:
    """Search for values of the dims that a file leaves open.

    Args:
        file: the file.
        judge: judges it with the dims that it states.
        known: the judgment with these dims open, which holds for any choice.
        refused: finds what of a sound model does not compile; a choice with an error is none.
        run: runs a model that compiles, or that only rules refuse.
    """

    def __init__(
        self,
        file: OnnxFile,
        judge: Callable[[OnnxFile], Judgment],
        known: Judgment,
        refused: Callable[[Judgment], Iterable[Finding]] = lambda _: (),
        run: Callable[[Judgment], Ran] | None = None,
    ) -> None:
        self._refused, self._run = refused, run or (lambda _: Ran.NOT_TRIED)
        self._certain: frozenset[Hashable] | None = None
        self._file, known = _with_ranks(file, judge, known)
        self._judge = judge
        self._known = known
        self._errors = known.of(Standing.ERROR).keys()
        self.dims = open_dims(self._file.inputs)
        self._tried: dict[tuple[int | None, ...], Tried] = {}
        self._nodes = max(1, len(known.model.all_nodes))
        self._limit = min(_MOST_TRIALS, max(_FEWEST_TRIALS, _MOST_NODES // self._nodes))

    @property
    def may_open_each(self) -> bool:
        return len(self.dims) <= _MOST_TRIALS and len(self.dims) * self._nodes <= _MOST_NODES

    @property
    def may_go_on(self) -> bool:
        return len(self._tried) < self._limit

    def propose(self) -> Proposal:
        """Find the first choice that fits, or the best of those tried."""
        known = hints(self._known.model, self.dims)
        best: Tried | None = None
        for values in first_values(self.dims, known):
            best = self._better_of(values, best)
            if best.is_proposal or not self.may_go_on:
                return Proposal(best, len(self._tried))
        improved = best is not None
        while best is not None and improved and self.may_go_on and not best.is_proposal:
            before = best.rank
            best = self._along_each(best, known)
            improved = best.rank < before
        if best is None:
            best = self.at({})
        return Proposal(best, len(self._tried))

    def _along_each(self, best: Tried, known: Mapping[OpenDim, int]) -> Tried:
        """Find the best choice that differs in one dim after the other."""
        for dim in self.dims:
            for value in values_for(dim, known):
                if best.is_proposal or not self.may_go_on:
                    return best
                best = self._better_of({**best.values, dim: value}, best)
        return best

    def _better_of(self, values: Mapping[OpenDim, int], best: Tried | None) -> Tried:
        found = self.at(values)
        return found if best is None or found.rank < best.rank else best

    def few(self, values: Sequence[int]) -> Sequence[int]:
        """The largest of some values, as many as the bound leaves for two rounds."""
        return values[-max(1, self._limit // 2) :]

    def at(self, values: Mapping[OpenDim, int]) -> Tried:
        """Try one choice, which may leave dims open; each is judged once."""
        key = tuple(values.get(dim) for dim in self.dims)
        if key not in self._tried:
            judgment = self._judge(chosen(self._file, values))
            faults = len(judgment.faults_beyond(self._known.faults))
            errors = len(judgment.of(Standing.ERROR).keys() - self._errors)
            # What breaks ONNX's rules, and be it with any dims, is neither compiled nor run.
            broken = bool(judgment.faults or errors)
            refusals = 0 if broken else self._refusals(judgment)
            ran = Ran.NOT_TRIED if broken or refusals else self._run(judgment)
            self._tried[key] = Tried(values, judgment, faults, errors, refusals, ran)
        return self._tried[key]

    def _refusals(self, judgment: Judgment) -> int:
        if judgment.of(Standing.ERROR):
            return 0
        if self._certain is None:
            self._certain = frozenset(map(key_of, self._refused(self._known)))
        found = [each for each in self._refused(judgment) if each.standing is Standing.ERROR]
        return sum(key_of(each) not in self._certain for each in found)

    def leaving_open(self, best: Tried, dim: OpenDim) -> Judgment:
        """Judge the file with one dim open and the others as chosen."""
        values = {each: value for each, value in best.values.items() if each != dim}
        return self._judge(chosen(self._file, values))


def _with_ranks(
    file: OnnxFile, judge: Callable[[OnnxFile], Judgment], known: Judgment
) -> tuple[OnnxFile, Judgment]:
    """Give each input of unknown rank the rank that contradicts least."""
    for position, declared in enumerate(file.inputs):
        if declared.dims is not None or declared.kind:
            continue
        options = []
        for rank in _RANKS:
            inputs = list(file.inputs)
            inputs[position] = replace(declared, dims=("",) * rank)
            options.append(judge(replace(file, inputs=tuple(inputs))))
        best = min(options, key=lambda each: len(each.faults_beyond(known.faults)))
        file, known = best.file, best
    return file, known
