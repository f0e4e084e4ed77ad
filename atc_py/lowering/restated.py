"""Restating: the source model with its nodes in the form of the listed opsets that they stand at."""

from collections.abc import Mapping, Sequence

from atc_py.check.restating import OpsetPlacement
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.spec.rewrites import performs
from atc_py.system.structs import replace


@performs("restate")
def restated(model: SourceModel, placements: Sequence[OpsetPlacement | None]) -> SourceModel:
    """`model` with every node that was restated in its new form.

    Args:
        model: the model in the file's form, or some of its nodes.
        placements: where its nodes stand; each refers to the node itself.
    """
    forms = {each.node: each.view for each in placements if each is not None and each.restated}
    if not forms:
        return model
    return replace(model, nodes=_nodes(model.nodes, forms))


def _nodes(
    nodes: Sequence[SourceNode], forms: Mapping[SourceNode, SourceNode]
) -> tuple[SourceNode, ...]:
    return tuple(_with_branches(forms.get(node, node), forms) for node in nodes)


def _with_branches(node: SourceNode, forms: Mapping[SourceNode, SourceNode]) -> SourceNode:
    if not node.branches:
        return node
    branches = {
        name: replace(branch, nodes=_nodes(branch.nodes, forms))
        for name, branch in node.branches.items()
    }
    return replace(node, branches=branches)
