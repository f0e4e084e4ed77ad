"""Splicing: the nodes that a rule wrote take the place of the node that they replace."""

from collections.abc import Sequence
from dataclasses import replace

from atc_py.fix.new_node import NewNode
from atc_py.fix.site import Site
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.rewriting.graph_body import renamed_attributes
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.system import structs


def splice(
    writer: Writer, origin: WorkNode, site: Site, results: Sequence[str]
) -> tuple[NewNode, ...]:
    """Write what `site` has in place of `origin`; return the nodes with their final names.

    Args:
        writer: of the graph.
        origin: the node that is replaced; new nodes have its place.
        site: the new nodes and constants.
        results: names of the values that become the outputs of `origin`, by position.
    """
    writer.graph.consts.update(site.consts)
    made = {name for node in site.made for name in node.outputs}
    names: dict[str, str] = {}
    copies: list[tuple[str, str]] = []
    for result, output in zip(results, origin.outputs, strict=False):
        if not output or not result:
            continue
        if result in made and result not in names:
            names[result] = output
        else:
            copies.append((names.get(result, result), output))
    done = [_renamed(node, names) for node in site.made]
    origin = structs.replace(origin, replaces=origin.replaces or origin.op_type)
    for node in done:
        own = node.op_type == origin.op_type and not origin.domain
        without = [
            attribute.name
            for attribute in origin.proto.attribute
            if attribute.name not in node.attributes
        ]
        writer.again(
            origin,
            node.op_type,
            node.inputs,
            node.outputs,
            with_own=own,
            without=without,
            **node.plain,
        )
    for source, output in copies:
        writer.op(origin, "Identity", [source], output)
    return tuple(done)


def _renamed(node: NewNode, names: dict[str, str]) -> NewNode:
    return replace(
        node,
        inputs=tuple(names.get(name, name) for name in node.inputs),
        outputs=tuple(names.get(name, name) for name in node.outputs),
        attributes=renamed_attributes(node.attributes, names, lambda name: name),
    )
