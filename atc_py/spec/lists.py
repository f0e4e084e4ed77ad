"""Editions that atc-py brings along: operator lists, a folder each, and releases of CANN."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from atc_py.diag import BAD_OPTION, nearest
from atc_py.options.compile_options import ANY_LIST
from atc_py.spec.deviations import Certainty, Span
from atc_py.spec.loader import kept_document
from atc_py.spec.rule import Bilingual
from atc_py.system.cache_folders import op_specs_dir
from atc_py.system.structs import ready_for_threads
from atc_py.text import Text


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release of CANN."""

    name: str  # as `--cann` takes it and as rows of specifications name it: `9.1`
    also: tuple[str, ...] = ()  # other spellings that `--cann` takes
    # first and last opset at which its parser has most operators, a pair for each run
    opsets: tuple[tuple[int, int], ...] = ()
    source: Bilingual | None = None
    # the release whose sources are read in its place; None where its own are published
    read_by: str | None = None

    @property
    def certainty(self) -> Certainty:
        """INFERRED if no source of the release is published."""
        return Certainty.PROVEN if self.read_by is None else Certainty.INFERRED

    @property
    def read(self) -> "Release":
        """The release whose sources are read: this one, or one near it."""
        return self if self.read_by is None else find_release(self.read_by)


class ParserRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of CANN's ONNX parser about a whole model; operators have rows of their own."""

    name: str  # the last part of a finding's rule, `parser/several-imports`
    code: str  # CANN's own code for a model that breaks it; "" where it says nothing
    effect: Bilingual  # what CANN does with such a model
    source: str  # the functions that it was read from
    proven: tuple[Span, ...] = ()  # releases whose published parser has it
    inferred: tuple[Span, ...] = ()  # releases for which it follows from others


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    releases: tuple[Release, ...]
    parser: tuple[ParserRule, ...]


ready_for_threads(_File)


@cache
def _file() -> _File:
    return msgspec.convert(kept_document(op_specs_dir() / "cann.yaml"), _File)


def releases() -> tuple[Release, ...]:
    """The releases of CANN, oldest first."""
    return _file().releases


@cache
def parser_rules() -> Mapping[str, ParserRule]:
    """The rules of CANN's parser about whole models, by name."""
    return {rule.name: rule for rule in _file().parser}


@cache
def find_release(name: str) -> Release:
    """A release by its name; BAD_OPTION where it is not known."""
    for release in releases():
        if release.name == name:
            return release
    known = ", ".join(release.name for release in releases())
    raise BAD_OPTION.error(
        Text("cann must be one of {known}, found {number}", known=known, number=name),
        help=Text("leave it out for the newest release"),
    )


class OperatorList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list."""

    name: str  # as `--list` takes it, and the name of its folder in `op_specs/`
    release: str  # the release of CANN that it belongs to
    source: Bilingual  # where its facts come from

    @property
    def folder(self) -> Path:
        return op_specs_dir() / self.name


ready_for_threads(OperatorList)


@cache
def operator_lists() -> tuple[OperatorList, ...]:
    path = op_specs_dir() / "lists.yaml"
    return msgspec.convert(kept_document(path)["lists"], tuple[OperatorList, ...])


def list_names() -> tuple[str, ...]:
    return (ANY_LIST, *(entry.name for entry in operator_lists()))


def find_list(name: str) -> OperatorList:
    """The list called `name`; BAD_OPTION where there is none."""
    lists = {entry.name: entry for entry in operator_lists()}
    if name not in lists:
        close = nearest(name, dict.fromkeys(list_names()), 1)
        hint = Text("did you mean {near}? ", near=close[0]) if close else ""
        known = ", ".join(list_names())
        raise BAD_OPTION.error(
            Text("no operator list is called {name}", name=repr(name)),
            help=hint + Text("lists are {known}", known=known),
        )
    return lists[name]
