"""ONNX's structural rules on a graph: one producer for every value, no cycle, names that exist."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from atc_py.diag import Place, Sink
from atc_py.diag.codes import BAD_MODEL, BAD_TENSOR
from atc_py.ir.ordering import CycleError, producers_first
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.contents import Contents
from atc_py.onnx_graph.reading.declared import DeclaredInput
from atc_py.onnx_graph.reading.tensors import element_name, element_of_dtype, size_complaint
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text


class GraphNames:
    """The names of a file's graph, as lists that may contain duplicates.

    Attributes:
        path: the model's file.
        inputs: graph inputs; files of IR version 3 list initializers here too.
        initializers: initializers.
        outputs: graph outputs.
    """

    def __init__(
        self,
        path: Path,
        inputs: Sequence[str],
        initializers: Sequence[str],
        outputs: Sequence[str],
    ) -> None:
        self.path = path
        self.inputs = inputs
        self.initializers = initializers
        self.outputs = outputs


def check_names(names: GraphNames, nodes: Iterable[WorkNode], sink: Sink) -> None:
    """Report values with no producer or several, and nodes without operator, to `sink`."""
    nodes = list(nodes)
    whole = Place(file=str(names.path))
    for kind, listed in (("input", names.inputs), ("initializer", names.initializers)):
        if len(set(listed)) == len(listed):
            continue
        for name, count in Counter(listed).items():
            if count > 1:
                message = Text(
                    "the {kind} {name} is declared {count} times",
                    kind=kind,
                    name=repr(name),
                    count=count,
                )
                sink.add(BAD_MODEL.diagnostic(message, place=whole))
    sources = {*names.inputs, *names.initializers}
    _check_producers(nodes, sources, sink)
    known = sources.union(*(node.writes for node in nodes))
    _check_uses(nodes, known, sink)
    for name in dict.fromkeys(names.outputs):
        if name not in known:
            message = Text("nothing produces the graph output {name}", name=repr(name))
            sink.add(BAD_MODEL.diagnostic(message, place=whole))


def check_weights(
    inputs: Iterable[DeclaredInput], contents: Contents, place: Place, sink: Sink
) -> None:
    """Report initializers that are graph inputs, too, and declared there with another type."""
    for declared in inputs:
        const = contents.weights.get(declared.name)
        if const is None:
            continue
        if declared.element not in {0, element_of_dtype(const.dtype)}:
            found, stated = const.dtype.value, element_name(declared.element)
        elif not declared.fits(const.shape):
            found, stated = f"of shape {format_shape(const.shape)}", declared.label
        else:
            continue
        message = Text(
            "the initializer {declared} is {actual}, as an input it is {stated}",
            declared=repr(declared.name),
            actual=found,
            stated=stated,
        )
        sink.add(BAD_MODEL.diagnostic(message, place=place))


def check_sizes(inputs: Iterable[DeclaredInput], place: Place, sink: Sink) -> None:
    """Report inputs that are too large for a tensor; open dims count as 1."""
    for declared in inputs:
        fixed = tuple(dim for dim in declared.dims or () if isinstance(dim, int))
        complaint = size_complaint(declared.element, fixed)
        if complaint is not None:
            at = place.with_field(Text("input {at}", at=repr(declared.name)))
            sink.add(BAD_TENSOR.diagnostic(complaint, place=at))


def _check_producers(nodes: Sequence[WorkNode], sources: set[str], sink: Sink) -> None:
    producers: dict[str, WorkNode] = {}
    for node in nodes:
        if not node.op_type:
            sink.add(BAD_MODEL.diagnostic("a node without operator", place=node.place))
        for name in node.writes:
            if name in sources or name in producers:
                first = producers.get(name)
                label = f"node {first.index}" if first else Text("an input or initializer")
                message = Text(
                    "it produces {name}, which {label} provides already",
                    name=repr(name),
                    label=label,
                )
                sink.add(BAD_MODEL.diagnostic(message, place=node.place))
            else:
                producers[name] = node


def _check_uses(nodes: Sequence[WorkNode], known: set[str], sink: Sink) -> None:
    for node in nodes:
        if known.issuperset(node.reads):
            continue
        for name in dict.fromkeys(node.reads):
            if name not in known:
                message = Text("nothing produces its input {name}", name=repr(name))
                sink.add(BAD_MODEL.diagnostic(message, place=node.place))


def sort_nodes(nodes: Sequence[WorkNode]) -> list[WorkNode]:
    """`nodes` with producers first, the file's order kept where it can be.

    Raises:
        AtcError: BAD_MODEL if the nodes form a cycle.
    """
    if _are_sorted(nodes):
        return list(nodes)
    producers = {name: node for node in nodes for name in node.writes}

    def needs(node: WorkNode) -> list[WorkNode]:
        return [producers[name] for name in node.reads if name in producers]

    try:
        return producers_first(nodes, needs)
    except CycleError as error:
        message = "it needs its own output: the graph has a cycle"
        raise BAD_MODEL.error(message, place=error.item.place) from None


def _are_sorted(nodes: Sequence[WorkNode]) -> bool:
    """True if no node reads what itself or one after it makes."""
    later: set[str] = set()
    for node in reversed(nodes):
        later.update(node.writes)
        if not later.isdisjoint(node.reads):
            return False
    return True
