"""The verifier's rule on storage: a node takes its operands as they are stored."""

from atc_py.ir import Node
from atc_py.target import Soc
from atc_py.target.storage_choices import select_storages
from atc_py.target.stored_nodes import in_blocks, is_stored_as
from atc_py.text import Text


def storage_fault(node: Node, soc: Soc) -> Text | None:
    """The reason why `node` cannot work with its operands and results as they are stored, or None.

    A node that is stored row by row as a whole always can: so it is where no storage was chosen.
    """
    if node.op == "TransData" or not in_blocks(node):
        return None
    choice = select_storages(node, soc)
    if choice is None:
        text = Text("{op} gives none of its results as {type}")
        return text.with_values(op=node.op, type=node.output.type)
    for position, value in enumerate(node.inputs):
        wanted = choice.input(position)
        if value is None or is_stored_as(value.type, wanted):
            continue
        form = Text("row by row") if wanted is None else Text("as {form}", form=wanted)
        text = Text("{op} takes %{v} {form}, found {found}")
        return text.with_values(op=node.op, v=value.name, form=form, found=value.type)
    return None
