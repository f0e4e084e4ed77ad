"""The library of specifications: an index built from file names, and files loaded when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import BAD_SPEC, AtcError, Place, nearest
from atc_py.options.compile_options import ANY_LIST, DEFAULT_LIST, FIRST_LIST
from atc_py.spec.lists import find_list, operator_lists
from atc_py.spec.loader import load_spec
from atc_py.spec.model import OpSpec
from atc_py.spec.rule import folded, stem_of
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.spec.folders import FolderContents

ONNX_DOMAINS = frozenset({"", "ai.onnx"})
"""Both names of ONNX's own operator domain."""

USER_GROUP = "user"
"""The group of users' new operators whose files are not in the folder of a group."""

_LIKENESS = 0.75
"""Least similarity of a near name, by difflib's ratio; Expand and Pad have 0.67."""


class IndexEntry(msgspec.Struct, frozen=True):
    """A specification file: known from its path alone."""

    group: str
    stem: str  # the operator's type in snake case
    path: Path


class Library:
    """The specifications below one folder, each loaded at most once, over those of another library.

    Where both have an operator, the upper one's specification counts; the lower one's, too, where
    they are lists of which any may take a node.
    """

    def __init__(self, folder: Path, later: Library | None = None) -> None:
        """Take the folder of a list, or of a user; `later` may take nodes that this one refuses."""
        self._folder = folder
        self._entries: dict[str, IndexEntry] | None = None
        self._loaded: dict[str, OpSpec] = {}
        self._below = later
        self._replacing = later is None

    def overlay(self, folder: Path) -> Library:
        """A library in which the specifications below `folder` come before these.

        The files are in the folder itself or in folders of groups. They are all read now, so that a
        broken one is reported at once. `folder` may be a single file.

        BAD_SPEC with every fault of every file, FILE_NOT_FOUND or FILE_UNREADABLE where the folder
        or a file cannot be read.
        """
        from atc_py.spec.folders import read_folder  # users' folders alone

        contents = read_folder(folder)
        if contents.faults:
            raise AtcError(*contents.faults)
        upper = Library(folder)
        upper._below = self
        upper._add_files(contents, self)
        return upper

    def index(self) -> tuple[IndexEntry, ...]:
        """One entry a file, by group and stem; only files of two layers are opened.

        Files of a lower library whose operator an upper library has as well are left out.

        Raises:
            AtcError: BAD_SPEC where two groups have a file of one stem.
        """
        own = self._index()
        lower = self._below.index() if self._below is not None else ()
        return (*own.values(), *(entry for entry in lower if not self._replaces(entry)))

    @property
    def first_lists(self) -> tuple[str, ...]:
        """The lists whose specifications are asked first, by name."""
        own = (self._folder.name,)
        return own if self._below is None or not self._replacing else self._below.first_lists

    def candidates(self, op_type: str, domain: str = "") -> Iterator[OpSpec]:
        """Yield the specifications of an operator of which one must take a node, first `find`'s."""
        spec = self._load(stem_of(op_type))
        own = spec is not None and op_type in spec.spellings
        if spec is not None and own and (spec.custom or domain in ONNX_DOMAINS):
            yield spec
        if self._below is not None and not (own and self._replacing):
            yield from self._below.candidates(op_type, domain)

    def find(self, op_type: str, domain: str = "") -> OpSpec | None:
        """The specification of the operator spelled exactly `op_type`, or None.

        The spelling is the list's, or that of CANN's parser where it differs. ONNX's operators are
        found in ONNX's domain, custom ones in any, because exporters do not agree on a domain for
        them.
        """
        return next(self.candidates(op_type, domain), None)

    def lookup(self, name: str) -> OpSpec | None:
        """The specification of the operator `name`, in any case or in the list's spelling."""
        wanted = folded(name)
        spec = self._by_stem(wanted)
        if spec is not None:
            return spec
        return next((s for s in self.all() if s.listed_as and folded(s.listed_as) == wanted), None)

    def near(self, name: str) -> tuple[str, ...]:
        """Up to three operators with names like `name`, nearest first."""
        stems = [folded(entry.stem) for entry in self.index()]
        close = nearest(folded(name), dict.fromkeys(stems), 3, _LIKENESS)
        specs = [self._by_stem(match) for match in close]
        return tuple(spec.op for spec in specs if spec is not None)

    def all(self) -> tuple[OpSpec, ...]:
        specs = {spec.op: spec for spec in (self._below.all() if self._below is not None else ())}
        own = [spec for stem in self._index() if (spec := self._load(stem)) is not None]
        specs.update((spec.op, spec) for spec in own)
        return tuple(sorted(specs.values(), key=lambda spec: (folded(spec.op), spec.op)))

    def _add_files(self, contents: FolderContents, below: Library) -> None:
        self._entries = {}
        for path, spec in ((file.path, file.spec) for file in contents.files):
            group = path.parent.name
            if self._folder in {path.parent, path}:
                lower = below.find(spec.op)
                group = lower.group if lower is not None else USER_GROUP
            mine = msgspec.structs.replace(spec, own_group=group, shown_as=str(path))
            self._entries[path.stem] = IndexEntry(group, path.stem, path)
            self._loaded[path.stem] = mine

    def _replaces(self, entry: IndexEntry) -> bool:
        own = self._load(entry.stem)
        if own is None or self._below is None:
            return False
        lower = self._below.find(own.op)
        return lower is not None and stem_of(lower.op) == entry.stem

    def _by_stem(self, wanted: str) -> OpSpec | None:
        """The specification whose file name matches except for case and underscores."""
        for stem in self._index():
            if folded(stem) == wanted:
                return self._load(stem)
        return self._below._by_stem(wanted) if self._below is not None else None  # noqa: SLF001

    def _index(self) -> dict[str, IndexEntry]:
        if self._entries is None:
            entries: dict[str, IndexEntry] = {}
            for path in sorted(self._folder.glob("*/*.yaml")):
                entry = IndexEntry(path.parent.name, path.stem, path)
                _refuse_second(entries.get(entry.stem), entry)
                entries[entry.stem] = entry
            self._entries = entries
        return self._entries

    def _load(self, stem: str) -> OpSpec | None:
        entry = self._index().get(stem)
        if entry is not None and stem not in self._loaded:
            self._loaded[stem] = load_spec(entry.path)
        return self._loaded.get(stem)


def _refuse_second(first: IndexEntry | None, second: IndexEntry) -> None:
    if first is not None:
        message = Text(
            "{path} is in the groups {group} and {group_2}",
            path=second.path.name,
            group=first.group,
            group_2=second.group,
        )
        place = Place(str(second.path), line=1, column=1)
        raise BAD_SPEC.error(message, place=place, help=Text("delete one of the two files"))


@cache
def library(list_name: str = FIRST_LIST) -> Library:
    """The specifications of a list that atc-py brings along, or of all for `any`.

    Raises:
        AtcError: BAD_OPTION where no list has that name.
    """
    if list_name != ANY_LIST:
        return Library(find_list(list_name).folder)
    both: Library | None = None
    for entry in reversed(operator_lists()):
        both = Library(entry.folder, both)
    return both or library()


def specifications(folder: Path | None, list_name: str = DEFAULT_LIST) -> Library:
    """The specifications of a list, or of any, overlaid by a user's folder if given.

    Raises:
        AtcError: BAD_OPTION where no list has that name; else as `Library.overlay` does.
    """
    built_in = library(list_name)
    return built_in if folder is None else built_in.overlay(folder)
