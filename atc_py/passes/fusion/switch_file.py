"""ATC's fusion switch file: which passes run, as lines or as JSON.

Lines are `PassName:off`. JSON is `{"Switch": {"GraphFusion": {"ALL": "off", "PassName": "on"},
"UBFusion": {...}}}`. "ALL" comes before single names wherever it stands. It does not reach passes
that every compilation needs, nor those that ATC leaves on. A rule that ATC has and this compiler
has not switches nothing.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atc_py.diag import BAD_SWITCH_FILE, FUSION_NOT_SWITCHED, Place, Sink
from atc_py.passes.base import Switches
from atc_py.passes.fusion.atc_rules import ALWAYS_ON, KNOWN, LEFT_ON_BY_ALL
from atc_py.passes.pipeline import PassRow
from atc_py.system.input_files import read_text
from atc_py.text import Text

_GRAPH, _UB = "GraphFusion", "UBFusion"
_ALL = "ALL"
_WORDS = {"on": True, "off": False}
_MOST_BYTES = 1 << 20
"""A switch file names passes, of which there are some dozens."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A switch: a name, whether it is on, the section it is in ("" for lines), its place."""

    name: str
    is_on: bool
    section: str
    place: Place = field(compare=False)


def read_switches(path: Path, passes: Sequence[PassRow]) -> Switches:
    """The switches in the file at `path`, of `passes`; BAD_SWITCH_FILE for every wrong entry."""
    text = read_text(path, _MOST_BYTES)
    sink = Sink()
    if text.lstrip().startswith("{"):
        entries = list(_json_entries(text, path, sink))
    else:
        entries = list(_line_entries(text, path, sink))
    sink.raise_errors()
    return _switched(entries, passes)


def _line_entries(text: str, path: Path, sink: Sink) -> Iterator[_Entry]:
    """Yield entries of the form with lines; empty lines and those that begin with # are none."""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        place = Place(str(path), line=number)
        name, colon, word = (part.strip() for part in stripped.partition(":"))
        if not (name and colon):
            message = Text(
                "a line must be `PassName:on` or `PassName:off`, found {stripped}",
                stripped=repr(stripped),
            )
            sink.add(BAD_SWITCH_FILE.diagnostic(message, place=place))
        else:
            yield from _entry(name, word, "", place, sink)


def _json_entries(text: str, path: Path, sink: Sink) -> Iterator[_Entry]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(str(path), line=error.lineno)
        raise BAD_SWITCH_FILE.error(
            Text("the JSON is incomplete or malformed: {msg}", msg=error.msg), place=place
        ) from None
    except (RecursionError, ValueError) as error:
        message = Text("the JSON cannot be read: {error}", error=error)
        raise BAD_SWITCH_FILE.error(message, place=Place(str(path))) from None
    place = Place(str(path))
    switch = _object(document.get("Switch"), '"Switch"', place)
    for section, switches in switch.items():
        where = Place(str(path), field=section)
        if section not in {_GRAPH, _UB}:
            message = Text(
                'a section must be "{graph}" or "{ub}", found {section}',
                graph=_GRAPH,
                ub=_UB,
                section=repr(section),
            )
            sink.add(BAD_SWITCH_FILE.diagnostic(message, place=place))
            continue
        for name, word in _object(switches, section, place).items():
            yield from _entry(name, word, section, where, sink)


def _object(value: object, name: str, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        found = Text("nothing") if value is None else json.dumps(value)[:40]
        raise BAD_SWITCH_FILE.error(
            Text("{op} must be an object, found {row}", op=name, row=found), place=place
        )
    return value


def _entry(name: str, word: object, section: str, place: Place, sink: Sink) -> Iterator[_Entry]:
    found = _WORDS.get(word.lower()) if isinstance(word, str) else None
    if found is None:
        message = Text("{name} must be on or off, found {word}", name=name, word=repr(word))
        sink.add(BAD_SWITCH_FILE.diagnostic(message, place=place))
    else:
        yield _Entry(name, found, section, place)


def _switched(entries: Iterable[_Entry], passes: Sequence[PassRow]) -> Switches:
    by_name: dict[str, list[PassRow]] = {}
    for row in passes:
        for name in (row.name, *row.atc_names):
            by_name.setdefault(name, []).append(row)
    off: set[str] = set()
    warnings = []
    for entry in sorted(entries, key=lambda each: each.name != _ALL):
        if entry.name == _ALL:
            rows = [row for row in passes if _is_reached(row, entry)]
        else:
            rows = by_name.get(entry.name, [])
        problem = _problem(entry, rows)
        if problem:
            warnings.append(FUSION_NOT_SWITCHED.diagnostic(problem, place=entry.place))
            continue
        names = {row.name for row in rows}
        off = off - names if entry.is_on else off | names
    return Switches(frozenset(off), tuple(warnings))


def _is_reached(row: PassRow, entry: _Entry) -> bool:
    """True if "ALL" reaches a pass; lines know no sections, and on reaches every pass."""
    if entry.section and row.ub_fusion is not (entry.section == _UB):
        return False
    return row.optional and (entry.is_on or LEFT_ON_BY_ALL.isdisjoint(row.atc_names))


def _problem(entry: _Entry, rows: Sequence[PassRow]) -> Text:
    if not rows:
        known = entry.name == _ALL or entry.name in KNOWN
        return (
            Text("")
            if known
            else Text("neither atc-py nor ATC is known to have a pass {entry}", entry=entry.name)
        )
    if entry.name in ALWAYS_ON and not entry.is_on:
        own = rows[0].name
        return Text(
            "{entry} stays on: ATC does not turn it off; here {own} can be",
            entry=entry.name,
            own=own,
        )
    needed = [row.name for row in rows if not row.optional]
    if needed and not entry.is_on:
        return Text("{entry} stays on: every compilation needs it", entry=entry.name)
    return Text("")
