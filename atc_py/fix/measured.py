"""Rules whose difference runs of the model are to show, where a model is fixed in memory.

Both forms run on drawn data, up to the first values after the rewritten nodes that both of them have.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import Applied, Fixed, Unfit, beyond, unshown
from atc_py.fix.ranges import LIMITS
from atc_py.fix.start import COUNTING, Start
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.graph import Links, ValueType, nodes_for
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.piece import ENGINES, NotRunError, Piece, PieceSettings, is_short
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.fix_rules import FixRules, range_options
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_SEEDS = 2

_Values = Mapping[str, NDArray[Any]]


def fix_measured(
    fixer: Callable[[], Fixer], shapes: Mapping[str, Shape], rules: FixRules, *, tidy: bool = True
) -> Fixed:
    """The model in its new form, with rules that have a bound only where runs keep to it."""
    first = fixer()
    fixed = first.fix(shapes, tidy=tidy, measures=True)
    measured = _measured(fixed)
    if not measured:
        return fixed
    against = without_bounds(fixed, rules) or _beyond_bounds(fixed, first.start, shapes, rules)
    if not against:
        return fixed
    plain = fixer().fix(shapes, tidy=tidy)
    plain.unfit += against
    return plain


def _measured(fixed: Fixed) -> list[Applied]:
    return [applied for applied in fixed.applied if applied.rule.measured]


def without_bounds(fixed: Fixed, rules: FixRules) -> tuple[Unfit, ...]:
    """Measured rules as misfits, where they depend on inputs of integers without bounds.

    There is no telling which integers these are fed: identifiers, or seconds since 1970.
    """
    file, measured = fixed.file, _measured(fixed)
    read = set(_before(fixed, tuple(_points(fixed))).reads) if measured else set()
    inputs = [
        tensor.name
        for tensor in file.inputs
        if tensor.name in read - rules.ranges.keys() - rules.bind.keys()
        and dtype_of_element(tensor.element) in COUNTING
    ]
    if not inputs:
        return ()
    options = " ".join(range_options(inputs))
    reason = Text(
        "the values of {names} must be known for runs that show the difference; give {options}",
        names=", ".join(inputs),
        options=options,
    )
    return tuple(Unfit(each.rule, each.node, reason, tuple(inputs)) for each in measured)


def _beyond_bounds(
    fixed: Fixed, start: Start | None, shapes: Mapping[str, Shape], rules: FixRules
) -> tuple[Unfit, ...]:
    """Measured rules as misfits, unless short runs of both forms keep to the bounds of all."""
    file, graph, measured = fixed.file, fixed.graph, _measured(fixed)
    points = tuple(_points(fixed))
    before = _before(fixed, points)
    nodes, _ = nodes_for(graph.nodes, points)
    after = Piece(nodes, graph.consts, points, PieceSettings(graph.opsets, file.tensors))
    names = dict.fromkeys((*before.reads, *after.reads))
    known = observe_inputs(file.path, file.inputs, shapes)
    inputs = {name: known[name] for name in names if name in known}
    models = None if start is None else start.model.source, fixed.model
    if not points or not all(map(_is_short, (before, after), models, repeat(inputs))):
        return unshown(measured)
    limit = min(applied.rule.limit for applied in measured)
    for seed in range(_SEEDS):
        gaps = _gaps(before, after, inputs, rules, seed)
        if gaps is None:
            return unshown(measured)
        worst = max(gaps, key=lambda name: gaps[name])
        if gaps[worst] > limit:
            reason = beyond(worst, gaps[worst], limit)
            return tuple(Unfit(each.rule, each.node, reason) for each in measured)
    return ()


def _gaps(
    before: Piece, after: Piece, inputs: Mapping[str, ValueType], rules: FixRules, seed: int
) -> dict[str, float] | None:
    """The differences of results by their names; None where one form does not run."""
    try:
        feeds = _drawn(inputs, rules, seed)
        wanted, found = (None if feeds is None else _run(each, feeds) for each in (before, after))
        if wanted is None or found is None:
            return None
        return {name: _error(found[name], wanted[name]) for name in before.writes}
    except MemoryError:
        return None


def _is_short(piece: Piece, model: SourceModel | None, inputs: Mapping[str, ValueType]) -> bool:
    made = {name for node in piece.nodes for name in node.writes}
    nodes = () if model is None else model.all_nodes
    own = [node for node in nodes if any(v is not None and v.name in made for v in node.outputs)]
    dims = {name: known.shape for name, known in inputs.items()}
    return model is not None and None not in dims.values() and is_short(piece, dims, own)


def _before(fixed: Fixed, points: tuple[str, ...]) -> Piece:
    """The part of the file that `points` depend on."""
    file = fixed.file
    nodes, _ = nodes_for(file.nodes, points)
    settings = PieceSettings(file.opsets, file.tensors)
    return Piece(nodes, file.contents.weights, points, settings)


def _points(fixed: Fixed) -> Iterable[str]:
    """The first values after the nodes of measured rules that the file and its new form have."""
    file, graph = fixed.file, fixed.graph
    links = Links([*file.nodes])
    at = {applied.node.index for applied in _measured(fixed)}
    todo = [name for node in file.nodes if node.index in at for name in node.writes]
    seen = set(todo)
    while todo:
        name = todo.pop()
        if name in links.producers and graph.producer(name) is not None:
            yield name
            continue
        new = {each for node in links.uses.get(name, ()) for each in node.writes} - seen
        seen |= new
        todo += sorted(new)


def _drawn(
    inputs: Mapping[str, ValueType], rules: FixRules, seed: int
) -> dict[str, NDArray[Any]] | None:
    """Data of inputs: normal numbers, integers of their bounds; None for other data, or open dims."""
    feeds: dict[str, NDArray[Any]] = {}
    for position, (name, known) in enumerate(inputs.items()):
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None:
            return None
        rng = np.random.default_rng([seed, position])
        if name in rules.bind:
            data = np.full(shape, rules.bind[name], dtype.numpy)
        elif dtype.is_float:
            data = rng.standard_normal(shape, np.float64 if dtype is DType.FLOAT64 else np.float32)
        elif dtype in LIMITS:
            limits = LIMITS[dtype]
            low, high = rules.ranges.get(name, (limits.low, limits.high))
            data = rng.integers(low, high, shape, endpoint=True)
        else:
            return None
        feeds[name] = data.astype(dtype.numpy, copy=False)
    return feeds


def _run(piece: Piece, feeds: _Values) -> _Values | None:
    """The results on the first engine that has all of them; None where neither does."""
    for engine in ENGINES:
        try:
            results = piece.run(feeds, engine)
        except NotRunError:
            continue
        finally:
            piece.close()
        if results.keys() >= {*piece.writes}:
            return results
    return None


def _error(value: NDArray[Any], wanted: NDArray[Any]) -> float:
    """The largest difference as a part of the largest magnitude; infinite where other elements are finite."""
    if value.shape != wanted.shape:
        return float("inf")
    one, other = value.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return float("inf")
    gap = np.subtract(one, other, where=finite, out=np.zeros_like(other))
    scale = np.abs(other, where=finite, out=np.zeros_like(other)).max(initial=0.0)
    largest = np.abs(gap).max(initial=0.0)
    return float(largest / (scale or 1.0)) if np.isfinite(largest) else float("inf")
