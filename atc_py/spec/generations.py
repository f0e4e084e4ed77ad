"""Generations of CANN, and the editions of published sources by which each is read."""

# Annotations are not postponed here: msgspec reads them when the structs are made.
from functools import cache

import msgspec

from atc_py.diag.codes import BAD_OPTION
from atc_py.spec.deviations import Certainty, Effect
from atc_py.spec.kept_data import kept_document
from atc_py.system.resources import op_specs_dir
from atc_py.system.struct_types import ready_for_threads
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
    source: Effect


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


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    editions: tuple[Edition, ...]
    generations: tuple[Generation, ...]


ready_for_threads(_File)


@cache
def _file() -> _File:
    path = op_specs_dir() / "cann.yaml"
    return msgspec.convert(kept_document(path), _File)


def editions() -> tuple[Edition, ...]:
    """The editions, oldest first."""
    return _file().editions


def generations() -> tuple[Generation, ...]:
    """The generations, oldest first."""
    return _file().generations


@cache
def find_generation(major: int) -> Generation:
    """A generation by its number.

    Raises:
        AtcError: BAD_OPTION where its sources are not known.
    """
    for each in generations():
        if each.major == major:
            return each
    known = ", ".join(str(each.major) for each in generations())
    raise BAD_OPTION.error(
        Text("cann must be one of {known}, found {number}", known=known, number=major),
        help=Text("leave it out for the newest"),
    )
