"""Nodes of a model that a trial can compile apart from the rest, grouped by likeness."""

from collections.abc import Hashable, Iterator, Sequence

from atc_py.check.alike import likeness
from atc_py.onnx_graph.source import SourceModel, SourceNode

_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators of ONNX whose results follow from the shapes of their inputs alone."""


def compiled_nodes(model: SourceModel, kinds: Sequence[int] = ()) -> list[list[int]]:
    """The positions of the model's own nodes to be tried, alike ones together.

    Nodes in branches are tried with their If. What depends on inputs whose shapes are open is tried
    where all its own dims are known and it has to do with data: what is computed from shapes
    alone folds away once these are known.

    Args:
        model: the model.
        kinds: numbers that only alike nodes share, weights included, by node of the model and its
            branches; empty where they are not known.
    """
    found: dict[Hashable, list[int]] = {}
    of_kinds: dict[int, Hashable] = {}
    shapes_alone = set(_of_shapes_alone(model)) if any(i.is_open for i in model.inputs) else set()
    known = kinds if len(kinds) == len(model.nodes) else ()  # else some nodes have branches
    for position, view in enumerate(model.nodes):
        inner = [*view.with_inner][1:] if view.branches else []
        if view.open_inputs and (inner or position in shapes_alone or not _is_known(view)):
            continue
        if not known:
            key = _kind(view, inner)
        else:
            # Nodes that are alike with their weights are so without them.
            kind = known[position]
            if kind not in of_kinds:
                of_kinds[kind] = _kind(view, inner)
            key = of_kinds[kind]
        found.setdefault(key, []).append(position)
    return list(found.values())


def _kind(view: SourceNode, inner: Sequence[SourceNode]) -> Hashable:
    """The key that nodes tried once share, with the nodes of their branches."""
    kind = likeness(view, weights=False)
    if not inner:
        return kind
    branches = [(each.scope.partition(" ")[0], likeness(each, weights=False)) for each in inner]
    return kind, *branches


def _of_shapes_alone(model: SourceModel) -> Iterator[int]:
    """Yield the positions of nodes that no data reaches, only shapes and constants."""
    fed = {each.name for each in model.inputs}
    for position, view in enumerate(model.nodes):
        reads = (tensor for tensor in view.inputs if tensor is not None)
        measures = not view.domain and view.op_type in _OF_SHAPES
        if measures or all(tensor.name not in fed for tensor in reads):
            yield position
        else:
            fed.update(tensor.name for tensor in view.outputs if tensor is not None)


def _is_known(view: SourceNode) -> bool:
    """True if all types of a node are known to the last dim."""
    tensors = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    return all(each.element and each.dims is not None and None not in each.dims for each in tensors)
