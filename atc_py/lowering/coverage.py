"""Operators of a model that are on the list and that nothing lowers: not yet, or not at all."""

from collections.abc import Iterable

from atc_py.diag import NOT_LOWERED, NOT_PUBLISHED, Diagnostic, Place
from atc_py.lowering.lower import can_lower
from atc_py.onnx_graph.source import SourceNode
from atc_py.spec import Library, OpSpec
from atc_py.text import Text, Words, plural


def not_lowered(nodes: Iterable[SourceNode], path: str, specs: Library) -> list[Diagnostic]:
    """One finding for each listed operator among `nodes` that cannot be lowered."""
    by_operator: dict[tuple[str, str], list[SourceNode]] = {}
    for node in nodes:
        by_operator.setdefault((node.domain, node.op_type), []).append(node)
    found = []
    for (domain, op_type), views in by_operator.items():
        spec = specs.find(op_type, domain)
        if spec is not None and not can_lower(op_type, domain, specs):
            found.append(_finding(spec, views, path))
    return found


def _finding(spec: OpSpec, views: list[SourceNode], path: str) -> Diagnostic:
    first = views[0]
    count = plural(len(views), "{n} node", "{n} nodes")
    if spec.unpublished is not None:
        return NOT_PUBLISHED.diagnostic(
            Text(
                "the arithmetic of {op_type} is not published: {value}; {count}",
                op_type=first.op_type,
                value=Words(spec.unpublished.en, spec.unpublished.zh),
                count=count,
            ),
            place=Place(path, first.index, first.name, first.op_type),
        )
    return NOT_LOWERED.diagnostic(
        Text(
            "{op_type} is on the operator list, but atc-py does not compile it yet; {count}",
            op_type=first.op_type,
            count=count,
        ),
        place=Place(path, first.index, first.name, first.op_type),
    )
