"""The parts of a diagnostic: code, severity, place, message, help; `AtcError`; the table of codes.

They are named tuples, not structs of msgspec: `atc-py exec` loads them into programs whose Python
has no library that atc-py needs, and they say so. A dataclass would cost every command 6 ms.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, IntEnum
from os.path import commonprefix
from typing import NamedTuple

from atc_py.text import Text, in_language, verbatim


class Severity(Enum):
    """Weight of a finding."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class ExitCode(IntEnum):
    """Exit status of a command."""

    DONE = 0
    MODEL = 1
    USAGE = 2
    FILE = 3
    DEVICE = 4
    BUG = 70


class Place(NamedTuple):
    """Place of a finding; every part is optional, the ones given go from wide to narrow.

    Attributes:
        file: path of the file, as the user gave it.
        node: position of the node in the model's graph, from 0.
        node_name: the node's name in the model, possibly empty.
        op_type: the node's operator.
        field: the attribute, input, output, archive member or option at fault.
        line: line in a text file, from 1.
        column: column in that line, from 1.
    """

    file: str | None = None
    node: int | None = None
    node_name: str | None = None
    op_type: str | None = None
    field: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [text for text in (self._file_text(), self._node_text()) if text]
        place = ": ".join(parts)
        if self.field is None:
            return place
        return f"{place}, {self.field}" if place else self.field

    def with_field(self, field: str) -> Place:
        return self._replace(field=field)

    def _file_text(self) -> str:
        """`file:line:column`, as editors understand it."""
        numbers = (self.line, self.column)
        return ":".join([self.file or "", *(str(n) for n in numbers if n is not None)]).strip(":")

    def _node_text(self) -> str:
        """`node 17 "conv2" (Conv)`, with the parts that are known."""
        parts: list[str] = []
        if self.node is not None:
            parts.append(f"node {self.node}")
        if self.node_name:
            parts.append(f'"{self.node_name}"')
        if self.op_type:
            parts.append(f"({self.op_type})")
        return " ".join(parts)


class AtcFault(NamedTuple):
    """Code under which ATC itself reports a fault.

    Attributes:
        code: `E` and five digits.
        arguments: texts for the placeholders of ATC's message, in its order.
    """

    code: str
    arguments: tuple[str, ...] = ()


class Diagnostic(NamedTuple):
    """One finding.

    Attributes:
        code: what kind of finding it is; carries severity and exit code.
        message: one sentence with the observed and the allowed value.
        place: where it was found.
        help: what to do about it.
        rule: `file:line` of the specification rule that it breaks.
        atc: ATC's own code for the same fault, or None.
    """

    code: Code
    message: Text
    place: Place | None = None
    help: Text | None = None
    rule: str | None = None
    atc: AtcFault | None = None

    def in_language(self, language: str) -> Diagnostic:
        """The finding with its message and help in that language."""
        help_ = verbatim(in_language(self.help or self.code.remedy, language))
        message = verbatim(self.message.in_language(language))
        return self._replace(message=message, help=help_)

    def as_json(self) -> dict[str, object]:
        """The finding as JSON values."""
        code, place = self.code, self.place
        found = {} if place is None else {k: v for k, v in place._asdict().items() if v is not None}
        known = {} if self.atc is None else {"atc": self.atc._asdict()}
        return {
            "code": code.id,
            "name": code.name,
            "severity": code.severity.value,
            "message": self.message,
            "place": found,
            "rule": self.rule,
            "help": self.help or code.remedy,
            **known,
        }


class Code(NamedTuple):
    """A row of the table of codes; `atc-py explain` prints it as a page.

    Attributes:
        id: `ATC` and four digits; the first digit is the family.
        name: kebab-case name.
        exit: exit status of a command that ends with this finding.
        meaning: what happened, for the page.
        severity: error unless said otherwise.
        atc: code under which ATC reports a finding that has none of its own (inferred, but for the
            unknown operator); empty for no certain one.
    """

    id: str
    name: str
    exit: ExitCode
    meaning: str
    remedy: str
    severity: Severity = Severity.ERROR
    atc: str = ""

    def as_json(self) -> dict[str, object]:
        """The code as JSON values."""
        return {
            "code": self.id,
            "name": self.name,
            "severity": self.severity.value,
            "exit": int(self.exit),
            "meaning": self.meaning,
            "remedy": self.remedy,
        }

    def diagnostic(
        self,
        message: Text,
        *,
        place: Place | None = None,
        help: Text | None = None,  # noqa: A002  (the word that users read)
        rule: str | None = None,
        atc: AtcFault | None = None,
    ) -> Diagnostic:
        """A finding of this kind."""
        return Diagnostic(self, message, place, help, rule, atc)

    def error(
        self,
        message: Text,
        *,
        place: Place | None = None,
        help: Text | None = None,  # noqa: A002  (the word that users read)
        rule: str | None = None,
        atc: AtcFault | None = None,
    ) -> AtcError:
        """An exception that carries one finding of this kind."""
        return AtcError(self.diagnostic(message, place=place, help=help, rule=rule, atc=atc))


class AtcError(Exception):
    """Work cannot go on; `diagnostics` says why. The command line prints them and exits.

    Attributes:
        diagnostics: the findings, the most important first; each has `code`, `message`, `place` and
            `help`.

    Example:
        >>> import atc_py
        >>> try:
        ...     atc_py.convert("gone.onnx", "gone.om")
        ... except atc_py.AtcError as error:
        ...     (found,) = error.diagnostics
        ...     found.code.id, found.code.name, error.exit_code.name
        ('ATC2001', 'file-not-found', 'FILE')
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(f"{d.code.id}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[AtcError], tuple[Diagnostic, ...]]:
        """Constructor and arguments for another process; it has the diagnostics alone."""
        return AtcError, self.diagnostics

    @property
    def exit_code(self) -> ExitCode:
        """Exit status of the first error among the diagnostics."""
        return self.diagnostics[0].code.exit if self.diagnostics else ExitCode.BUG


class Sink:
    """Collects diagnostics in the order in which they were found."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics.extend(diagnostics)

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings of severity error."""
        return [d for d in self.diagnostics if d.code.severity is Severity.ERROR]

    def raise_errors(self) -> None:
        """Raise all errors at once where there are any.

        Raises:
            AtcError: with every collected error.
        """
        if self.errors:
            raise AtcError(*self.errors)


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


_TABLE: dict[str, Code] = {}
_SPELLINGS: dict[str, Code] = {}
"""Rows by what they are found by: reports look one up for each finding."""


def add_code(
    head: str,
    exit_code: ExitCode,
    meaning: str,
    remedy: str,
    severity: Severity = Severity.ERROR,
    atc: str = "",
) -> Code:
    """Add a row to the table, its number and name as they are printed; a clash raises."""
    number, name = head.split(" ")
    row = Code(number, name, exit_code, meaning, remedy, severity, atc)
    for other in _TABLE.values():
        if row.id == other.id or row.name == other.name:
            raise ValueError(f"{row.id} {row.name} clashes with {other.id} {other.name}")
    _TABLE[row.id] = row
    for spelling in (row.id.lower(), row.id[3:], row.name):
        _SPELLINGS.setdefault(spelling, row)
    return row


def add_warning(
    head: str, meaning: str, remedy: str, exit_code: ExitCode = ExitCode.DONE, atc: str = ""
) -> Code:
    """Add a warning; with an exit code, a command may end with that for it."""
    return add_code(head, exit_code, meaning, remedy, Severity.WARNING, atc)


def add_note(head: str, meaning: str, remedy: str, exit_code: ExitCode = ExitCode.DONE) -> Code:
    return add_code(head, exit_code, meaning, remedy, Severity.NOTE)


def all_codes() -> tuple[Code, ...]:
    """Every row, by number."""
    return tuple(sorted(_TABLE.values(), key=lambda row: row.id))


def find_code(text: str) -> Code | None:
    """The row with that number (`ATC2001`, `atc2001`, `2001`) or name, or None."""
    return _SPELLINGS.get(text.strip().lower())


def _row(number: str) -> Code:
    return _TABLE[number]


def _parts(code: Code) -> tuple[Callable[..., Code], tuple[object, ...]]:
    """Constructor and arguments for another process: the id, for codes are compared by identity."""
    if _TABLE.get(code.id) is code:
        return _row, (code.id,)
    return Code, (code.id, code.name, code.exit, code.meaning, code.remedy, code.severity, code.atc)


copyreg.pickle(Code, _parts)
