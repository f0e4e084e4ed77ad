"""Editions that atc-py brings along: operator lists, a folder each, and generations of CANN.

A generation is read by an edition of published sources.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from atc_py.diag import BAD_OPTION, nearest
from atc_py.options.compile_options import ANY_LIST
from atc_py.spec.deviations import Certainty
from atc_py.spec.loader import kept_document
from atc_py.spec.rule import Bilingual
from atc_py.system.cache_folders import op_specs_dir
from atc_py.system.structs import ready_for_threads
from atc_py.text import Text


class Edition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sources of one year.

    Attributes:
        year: of their publication.
        opsets: first and last opset at which its parser has most operators, a pair for each run.
        source: the repositories.
    """

    year: int
    opsets: tuple[tuple[int, int], ...]
    source: Bilingual


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A major release of CANN.

    Attributes:
        major: its number, as `--cann` takes it.
        edition: year of the sources by which it is read.
        certainty: PROVEN if these are the release's own sources, INFERRED if no source of the
            release is published and these are the nearest.
    """

    major: int
    edition: int
    certainty: Certainty


class ParserRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of CANN's ONNX parser about a whole model; operators have rows of their own.

    Attributes:
        name: the last part of a finding's rule, `parser/several-imports`.
        code: CANN's own code for a model that breaks it; "" where it says nothing.
        effect: what CANN does with such a model.
        source: the functions that it was read from.
        proven: generations whose published parser has it.
        inferred: generations for which it follows from others.
    """

    name: str
    code: str
    effect: Bilingual
    source: str
    proven: tuple[int, ...]
    inferred: tuple[int, ...] = ()

    def certainty(self, major: int) -> Certainty | None:
        """The certainty that a generation has it; None if it has not."""
        if major in self.proven:
            return Certainty.PROVEN
        return Certainty.INFERRED if major in self.inferred else None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    editions: tuple[Edition, ...]
    generations: tuple[Generation, ...]
    parser: tuple[ParserRule, ...]


ready_for_threads(_File)


@cache
def _file() -> _File:
    path = op_specs_dir() / "cann.yaml"
    return msgspec.convert(kept_document(path), _File)


def editions() -> tuple[Edition, ...]:
    return _file().editions


def generations() -> tuple[Generation, ...]:
    return _file().generations


@cache
def parser_rules() -> Mapping[str, ParserRule]:
    """The rules of CANN's parser about whole models, by name."""
    return {rule.name: rule for rule in _file().parser}


@cache
def find_generation(major: int) -> Generation:
    """A generation by its number; BAD_OPTION where its sources are not known."""
    for generation in generations():
        if generation.major == major:
            return generation
    known = ", ".join(str(generation.major) for generation in generations())
    raise BAD_OPTION.error(
        Text("cann must be one of {known}, found {number}", known=known, number=major),
        help=Text("leave it out for the newest"),
    )


class OperatorList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list.

    Attributes:
        name: as `--list` takes it, and the name of its folder in `op_specs/`.
        release: the release of CANN that it belongs to.
        source: where its facts come from.
    """

    name: str
    release: str
    source: Bilingual

    @property
    def folder(self) -> Path:
        return op_specs_dir() / self.name


ready_for_threads(OperatorList)


@cache
def operator_lists() -> tuple[OperatorList, ...]:
    path = op_specs_dir() / "lists.yaml"
    return msgspec.convert(kept_document(path)["lists"], tuple[OperatorList, ...])


def list_names() -> tuple[str, ...]:
    """The choices of `--list`."""
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
