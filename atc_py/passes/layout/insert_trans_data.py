"""TransData is inserted where a node does not take a value as it is stored."""

from atc_py.ir import AttrValue, Engine, Graph, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.target import Soc
from atc_py.target.storage_choices import ROWS, select_storages
from atc_py.target.stored_nodes import IMAGES, WEIGHTS, in_blocks, is_stored_as
from atc_py.target.transfers import converts
from atc_py.tensor.storage import Storage


class InsertTransDataPass(Pass):
    """y = TransData(x) has the elements of x in the storage that a reader, or the user, takes.

    All who want the same storage of a value share one. Between two blocked storages stand two of
    them, with rows between, unless the SoC's TransData converts an image to a filter at once; where
    the bytes are the same either way, none.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        made = _Conversions(graph, context.soc)
        for node in list(graph.nodes):
            if not in_blocks(node):
                continue
            choice = select_storages(node, context.soc) or ROWS
            for position, value in enumerate(node.inputs):
                if value is None or value.const is not None:
                    continue
                wanted = choice.input(position)
                if not is_stored_as(value.type, wanted):
                    node.set_input(position, made.stored(value, wanted))
        graph.set_outputs([made.stored(value, None) for value in graph.outputs])
        return made.count


class _Conversions:
    """The conversions of a graph, each made where it has not been yet."""

    def __init__(self, graph: Graph, soc: Soc) -> None:
        self._graph, self._soc = graph, soc
        self._made: dict[tuple[Value, Storage | None], Value] = {}

    @property
    def count(self) -> int:
        return len(self._made)

    def stored(self, value: Value, storage: Storage | None) -> Value:
        held = value.type.storage
        if held == storage or value.const is not None:
            return value
        if held is not None and storage is not None and not self._at_once(value, storage):
            value = self.stored(value, None)
        found = self._made.get((value, storage))
        if found is None:
            found = self._made[value, storage] = trans_data(self._graph, value, storage)
        return found

    def _at_once(self, value: Value, storage: Storage) -> bool:
        """True if one kernel converts between two blocked storages: image to filter."""
        if (value.type.storage, storage) != (IMAGES, WEIGHTS):
            return False
        formats = IMAGES.format.value, WEIGHTS.format.value
        return converts(value.type.dtype, *formats, self._soc)


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
    maker = value.producer or value.readers[0]
    node = graph.add_node(
        "TransData", [value], [(name, value.type.with_storage(storage))], attributes, maker.origins
    )
    node.engine = Engine.AICORE
    return node.output
