"""A row of the table of atc's options: what atc says of an option, and what becomes of it here."""

from dataclasses import dataclass
from enum import Enum


class Treatment(Enum):
    """Treatment of an option in atc-py."""

    DOES = "does"
    """It does what atc does, as far as a compilation for the simulated device can."""

    NO_MEANING = "no meaning here"
    """It is accepted and named in one line: it changes no result."""

    REFUSED = "refused"
    """It would change results and is not modeled; values that change nothing are accepted."""


class ValueKind(Enum):
    """Kind of value that atc takes for an option."""

    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    """A flag whose value may be left out."""


class Since(Enum):
    """The first release whose atc has an option; tags of its source from 8.5.0 on show it."""

    BOTH = "5.x"
    V8_5 = "8.5"
    """8.5.0 has it, 5.x has not; the releases between them are not published."""
    V9_0 = "9.0"
    V9_1 = "9.1"
    V9_2 = "9.2"
    """Its first beta; atc 9.1 ends with "unknown option"."""


@dataclass(frozen=True, slots=True)
class AtcOption:
    """One option of atc.

    Attributes:
        name: without dashes.
        words: what it does here, as a sentence without its full stop.
        keyword: of `atc_py.convert` that it becomes, or nothing.
        default: its value where it is not given.
        values: what it may be; empty for anything.
        code: atc's code for any other value; it is checked while the line is parsed.
        neutral: values of a refused option that are accepted because they change nothing.
        hint: what to do instead of a refused option.
        since: the release that introduced it.
        late: whether `values` are checked after parsing, in atc's order of checks.
        shown: whether --help names it.
    """

    name: str
    words: str
    effect: Treatment = Treatment.DOES
    keyword: str = ""
    default: str = ""
    values: tuple[str, ...] = ()
    code: str = ""
    kind: ValueKind = ValueKind.TEXT
    neutral: tuple[str, ...] = ()
    hint: str = ""
    since: Since = Since.BOTH
    late: bool = False
    shown: bool = True
