"""Puts TransData where a node does not take a value as it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.ir import Engine, Phase, Return
from atc_py.passes.base import Pass, PassContext
from atc_py.target.storage_choices import ROWS, chosen_storages
from atc_py.target.stored_nodes import in_blocks, is_stored_as

if TYPE_CHECKING:
    from atc_py.ir import AttrValue, Graph, Value
    from atc_py.tensor.storage import Storage

__all__ = ["InsertTransDataPass", "trans_data"]


class InsertTransDataPass(Pass):
    """y = TransData(x) has the elements of x in the storage that a reader, or the user, takes.

    All who want the same storage of a value share one. Between two blocked storages stand two of
    them, with rows between; where the bytes are the same either way, none.
    """

    name = "insert-trans-data"
    summary = "Converts values between storage formats where neighbors disagree."
    optional = False
    requires = Phase.LAID_OUT

    def run(self, graph: Graph, context: PassContext) -> int:
        """Insert; returns how many nodes were made."""
        made: dict[tuple[Value, Storage | None], Value] = {}
        for node in list(graph.nodes):
            if not in_blocks(node):
                continue
            choice = chosen_storages(node, context.soc) or ROWS
            for position, value in enumerate(node.inputs):
                if value is None or value.const is not None:
                    continue
                wanted = choice.input(position)
                if not is_stored_as(value.type, wanted):
                    node.set_input(position, _converted(graph, value, wanted, made))
        graph.set_outputs([_converted(graph, value, None, made) for value in graph.outputs])
        return sum(old is not new for (old, _), new in made.items())


def _converted(
    graph: Graph,
    value: Value,
    storage: Storage | None,
    made: dict[tuple[Value, Storage | None], Value],
) -> Value:
    """Return `value` in `storage`, made where it has not been yet."""
    held = value.type.storage
    if held == storage or value.const is not None:
        return value
    found = made.get((value, storage))
    if found is None:
        source = value
        if held is not None and storage is not None:
            source = made.get((value, None)) or trans_data(graph, value, None)
            made[value, None] = source
        found = made[value, storage] = trans_data(graph, source, storage)
    return found


def trans_data(graph: Graph, value: Value, storage: Storage | None) -> Value:
    """Insert a TransData that stores `value` in `storage`; return its result.

    Of a value that no node produces, the first node that reads it gives the origins.
    """
    held = value.type.storage
    rows = value.type.format.value
    attributes: dict[str, AttrValue] = {
        "src_format": rows if held is None else held.format.value,
        "dst_format": rows if storage is None else storage.format.value,
        "groups": max(each.groups if each is not None else 1 for each in (held, storage)),
    }
    name = f"{value.name}.{attributes['dst_format']}"
    readers = (user for user in value.consumers if not isinstance(user, Return))
    maker = value.producer or next(readers)
    node = graph.add_node(
        "TransData", [value], [(name, value.type.with_storage(storage))], attributes, maker.origins
    )
    node.engine = Engine.AICORE
    return node.output
