"""Suggestions for a misspelled name: known names with a similar spelling."""

from collections.abc import Iterable, Sequence
from os.path import commonprefix

from atc_py.text import Text

_LONGEST = 100
"""Characters of a name that is compared; comparing takes their square, and real ones are short."""

_COMPARED = 50
"""Names that are compared letter by letter, out of the thousands that a model may have."""


def nearest(name: str, known: Iterable[str], count: int, likeness: float = 0.6) -> list[str]:
    """The `known` names most like `name` (1 is the same), nearest first; none if it is overlong."""
    if len(name) > _LONGEST:
        return []
    import difflib  # most runs misspell nothing

    return difflib.get_close_matches(name, list(known), count, likeness)


def did_you_mean(near: Sequence[str], listing: Text) -> Text:
    """The hint that names what is nearest, if anything is, and then says where all names are."""
    if not near:
        return listing
    return Text("did you mean {near}? {listing}", near=Text(" or ").join(near), listing=listing)


def nearest_of_many(name: str, known: Iterable[str], count: int) -> list[str]:
    """The nearest of names that may be many and long, however unlike they are.

    Only those are compared that have most in common with `name` at both ends, which is where the
    names of a model's nodes differ least.
    """
    import difflib
    import heapq

    short = name[:_LONGEST]
    backwards = short[::-1]

    def ends(other: str) -> int:
        tail = other[-_LONGEST:][::-1]
        # Letters are what is compared here, not parts of paths.
        return len(commonprefix((short, other))) + len(commonprefix((backwards, tail)))  # noqa: RUF071

    alike = heapq.nlargest(_COMPARED, known, key=ends)
    shown = {other[:_LONGEST]: other for other in reversed(alike)}
    found = difflib.get_close_matches(short, list(shown), count, 0.0)
    return [shown[each] for each in found]
