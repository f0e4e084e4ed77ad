"""Nodes of a file that rules rewrote before it was compiled or converted."""

from atc_py.system.structs import Result


class FixedNode(Result, frozen=True):
    """A node of the file that was rewritten.

    Attributes:
        node: its position in the file's graph; a node of a branch has that of the If.
        name: its name in the file, possibly empty.
        operator: its operator there.
        rules: names of the rules that were applied, in order.
    """

    node: int
    name: str
    operator: str
    rules: tuple[str, ...]
