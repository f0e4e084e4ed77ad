"""The content of a --modify-mixlist file: where operators go, and contradictions.

Source: the parser of CANN's fusion engine (2026). Beside the two lists of the guide it takes a gray
one. Of an operator it takes one list to add it to, one to remove it from, or both where they differ;
to remove it from the gray list says nothing alone.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from atc_py.diag import Place
from atc_py.diag.codes import BAD_CONTROL_FILE
from atc_py.passes.precision.mix_lists import MixList
from atc_py.system.structs import replace
from atc_py.text import Text

_LISTS = {f"{each.value}-list": each for each in MixList}
_ADD, _REMOVE = "to-add", "to-remove"


class Move(msgspec.Struct, frozen=True):
    """The lists that one operator is added to and removed from.

    ATC takes an operator that is added to the gray list off another one only where the file removes
    it from that. So `added` is white, black or None.
    """

    added: MixList | None = None
    removed: MixList | None = None


def read_moves(document: Any, place: Place) -> dict[str, Move]:
    """The moves of a file by operator.

    Raises:
        AtcError: BAD_CONTROL_FILE for another form, or for moves that contradict each other.
    """
    entries: dict[str, set[tuple[str, MixList]]] = {}
    for change, which, op in _entries(document, place):
        entries.setdefault(op, set()).add((change, which))
    return {op: _move(op, found, place) for op, found in entries.items()}


def _move(op: str, entries: set[tuple[str, MixList]], place: Place) -> Move:
    added = [which for change, which in entries if change == _ADD]
    removed = [which for change, which in entries if change == _REMOVE]
    alone = not added and removed == [MixList.GRAY]
    if len(added) > 1 or len(removed) > 1 or added == removed or alone:
        said = sorted(f"{which.value}-list {change}" for change, which in entries)
        raise BAD_CONTROL_FILE.error(
            Text("the moves of {op} contradict each other: {said}", op=op, said=", ".join(said)),
            place=place,
            help=Text("add an operator to one list, and remove it from another one or from none"),
        )
    move = Move(next(iter(added), None), next(iter(removed), None))
    return replace(move, added=None) if move.added is MixList.GRAY else move


def _entries(document: Any, place: Place) -> Iterator[tuple[str, MixList, str]]:
    """Yield (`to-add` or `to-remove`, list, operator) of every entry."""
    if not isinstance(document, dict):
        raise BAD_CONTROL_FILE.error(Text("the file must hold one object"), place=place)
    for name, moves in document.items():
        if name not in _LISTS or not isinstance(moves, dict):
            message = Text("{name} is none of {types}", name=repr(name), types=", ".join(_LISTS))
            raise BAD_CONTROL_FILE.error(message, place=place)
        if not moves.keys() <= {_ADD, _REMOVE}:
            message = Text(
                "{name} takes {add} and {remove} alone", name=name, add=_ADD, remove=_REMOVE
            )
            raise BAD_CONTROL_FILE.error(message, place=place)
        for change, operators in moves.items():
            if not isinstance(operators, list):
                message = Text("{change} of {name} must be a list", change=change, name=name)
                raise BAD_CONTROL_FILE.error(message, place=place)
            for op in operators:
                yield change, _LISTS[name], str(op)
