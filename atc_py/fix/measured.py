"""Rules whose difference runs of the model are to show, where a model is fixed in memory.

Both forms run on drawn data, up to the first values after the rewritten nodes that both of them have.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import UNSHOWN, Fixed, Unfit
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.graph import OnnxNode, ValueType
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.piece import ENGINES, NotRunError, Piece, PieceSettings
from atc_py.options.fix_rules import FixRules
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape

_SEEDS = 2

_Values = Mapping[str, NDArray[Any]]


def fix_measured(
    fixer: Callable[[], Fixer], shapes: Mapping[str, Shape], rules: FixRules, *, tidy: bool = True
) -> Fixed:
    """The model in its new form, with rules that have a bound only where runs keep to it.

    Args:
        fixer: starts on the file anew.
        shapes: dims of inputs that the model leaves open, by name.
        rules: the rules that apply.
        tidy: as in `Fixer.fix`.

    Raises:
        AtcError: what `Fixer.fix` raises.
    """
    fixed = fixer().fix(shapes, tidy=tidy, measures=True)
    measured = [applied for applied in fixed.applied if applied.rule.measured]
    if not measured or (fixed.settled and _keeps_bounds(fixed, shapes, rules)):
        return fixed
    plain = fixer().fix(shapes, tidy=tidy)
    plain.unfit += tuple(Unfit(each.rule, each.node, UNSHOWN) for each in measured)
    return plain


def _keeps_bounds(fixed: Fixed, shapes: Mapping[str, Shape], rules: FixRules) -> bool:
    """True if runs of both forms differ by no more than the bounds of measured rules."""
    file, graph = fixed.file, fixed.graph
    bound = min(applied.rule.limit for applied in fixed.applied if applied.rule.measured)
    inputs = observe_inputs(file.path, file.inputs, shapes)
    points = tuple(_points(fixed))
    before = _part(
        file.nodes, file.contents.weights, points, PieceSettings(file.opsets, file.tensors)
    )
    after = _part(graph.nodes, graph.consts, points, PieceSettings(graph.opsets, file.tensors))
    names = dict.fromkeys((*before.reads, *after.reads))
    for seed in range(_SEEDS):
        feeds = _drawn({name: inputs.get(name) for name in names}, rules, seed)
        wanted, found = (None if feeds is None else _run(each, feeds) for each in (before, after))
        if wanted is None or found is None:
            return False
        if any(_error(found[name], wanted[name]) > bound for name in points):
            return False
    return bool(points)


def _points(fixed: Fixed) -> Iterable[str]:
    """The first values after the nodes of measured rules that the file and its new form have."""
    file, graph = fixed.file, fixed.graph
    readers: dict[str, list[OnnxNode]] = {}
    for node in file.nodes:
        for name in node.reads:
            readers.setdefault(name, []).append(node)
    there = {name for node in file.nodes for name in node.writes}
    at = {applied.node.index for applied in fixed.applied if applied.rule.measured}
    todo = [name for node in file.nodes if node.index in at for name in node.writes]
    seen = set(todo)
    while todo:
        name = todo.pop()
        if name in there and graph.producer(name) is not None:
            yield name
            continue
        new = {each for node in readers.get(name, ()) for each in node.writes} - seen
        seen |= new
        todo += sorted(new)


def _part(
    nodes: Sequence[OnnxNode],
    constants: Mapping[str, ConstData],
    points: Sequence[str],
    settings: PieceSettings,
) -> Piece:
    """The nodes that some values depend on."""
    wanted, kept = set(points), []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.writes):
            wanted.update(node.reads)
            kept.append(node)
    return Piece(kept[::-1], constants, tuple(points), settings)


def _drawn(
    inputs: Mapping[str, ValueType | None], rules: FixRules, seed: int
) -> dict[str, NDArray[Any]] | None:
    """Data of inputs: normal numbers, integers of their bounds, else 0 and 1; None where dims are open."""
    feeds: dict[str, NDArray[Any]] = {}
    for position, (name, known) in enumerate(inputs.items()):
        dtype = None if known is None else dtype_of_element(known.element)
        if known is None or dtype is None or known.shape is None:
            return None
        rng = np.random.default_rng([seed, position])
        if name in rules.bind:
            data = np.full(known.shape, rules.bind[name])
        elif dtype.is_float:
            data = rng.standard_normal(known.shape)
        else:
            low, high = (0, 1) if dtype is DType.BOOL else rules.ranges.get(name, (0, 1))
            data = rng.integers(low, high, known.shape, endpoint=True)
        feeds[name] = np.asarray(data).astype(dtype.numpy)
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
    gap = np.abs(one - other, where=finite, out=np.zeros_like(other)).max(initial=0.0)
    scale = np.abs(other, where=finite, out=np.zeros_like(other)).max(initial=0.0)
    return float(gap / (scale or 1.0)) if np.isfinite(gap) else float("inf")
