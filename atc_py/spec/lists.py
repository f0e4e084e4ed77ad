"""Operator lists: the editions of the list that atc-py brings along, one folder each."""

from functools import cache
from pathlib import Path

import msgspec

from atc_py.diag.codes import BAD_OPTION
from atc_py.diag.suggestions import nearest
from atc_py.options.compile_options import ANY_LIST
from atc_py.spec.kept_data import kept_document
from atc_py.system.resources import op_specs_dir
from atc_py.system.struct_types import ready_for_threads
from atc_py.text import Text


class ListSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Source of a list, in English and Chinese."""

    en: str
    zh: str


class OperatorList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list.

    Attributes:
        name: as `--list` takes it, and the name of its folder in `op_specs/`.
        release: the release of CANN that it belongs to.
        source: where its facts come from.
    """

    name: str
    release: str
    source: ListSource

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return op_specs_dir() / self.name


ready_for_threads(OperatorList)


@cache
def operator_lists() -> tuple[OperatorList, ...]:
    """Every list, the earliest first."""
    path = op_specs_dir() / "lists.yaml"
    return msgspec.convert(kept_document(path)["lists"], tuple[OperatorList, ...])


def list_names() -> tuple[str, ...]:
    """Return what `--list` takes."""
    return (ANY_LIST, *(each.name for each in operator_lists()))


def find_list(name: str) -> OperatorList:
    """The list called `name`.

    Raises:
        AtcError: BAD_OPTION where there is none.
    """
    lists = {each.name: each for each in operator_lists()}
    if name not in lists:
        close = nearest(name, dict.fromkeys(list_names()), 1)
        hint = Text("did you mean {near}? ", near=close[0]) if close else ""
        known = ", ".join(list_names())
        raise BAD_OPTION.error(
            Text("no operator list is called {name}", name=repr(name)),
            help=hint + Text("lists are {known}", known=known),
        )
    return lists[name]
