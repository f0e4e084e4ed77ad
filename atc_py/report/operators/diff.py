"""Changes of an ONNX operator between opsets: `ops diff`, and the history of `ops show`."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from atc_py.diag import BAD_OPTION, UNKNOWN_NAME
from atc_py.onnx_graph.reading.history import OnnxHistory
from atc_py.onnx_graph.source import OperatorSchema, SchemaHistory
from atc_py.onnx_graph.source.schema_changes import Change, changes
from atc_py.report.wrapping import wrap
from atc_py.spec import OpSpec
from atc_py.spec.model import compressed
from atc_py.spec.rule import folded
from atc_py.system.structs import Result
from atc_py.text import SEMICOLON, Text
from atc_py.text.language import spoken

SAME = Text("inputs, outputs, attributes and dtypes are the same")
"""Words for a version that changed only an operator's description."""

_FIRST = Text("first version")


class VersionStep(Result, frozen=True):
    """A version of an operator.

    Attributes:
        version: the opset that brought it; 0 for the time before the operator existed.
        opsets: the listed opsets at which it is in force.
        changes: what it changed; nothing for the first.
    """

    version: int
    opsets: tuple[int, ...]
    changes: tuple[Change, ...]


def steps(spec: OpSpec, history: SchemaHistory) -> tuple[VersionStep, ...]:
    versions = () if spec.custom else history.versions(spec.op)
    if not versions:
        return ()
    found = [
        VersionStep(
            row.since_version,
            _opsets(spec, versions, position),
            changes(versions[position - 1], row) if position else (),
        )
        for position, row in enumerate(versions)
    ]
    early = tuple(opset for opset in spec.opsets if opset < versions[0].since_version)
    return (*([VersionStep(0, early, ())] if early else []), *found)


def history_rows(spec: OpSpec, history: SchemaHistory) -> list[tuple[str, Text]]:
    found = steps(spec, history)
    first = next((step.version for step in found if step.version), 0)
    rows: list[tuple[str, Text]] = []
    for step in found:
        if step.version == 0:
            text = Text("ONNX has it since opset {first}", first=first)
        elif step.version == first:
            text = _FIRST
        else:
            text = SEMICOLON.join(change.words for change in step.changes) or SAME
        numbers = compressed(step.opsets)
        listed = Text(" (listed: {numbers})", numbers=numbers) if numbers else Text("")
        rows.append((str(step.version) if step.version else "-", text + listed))
    return rows


def history_json(spec: OpSpec, history: SchemaHistory) -> list[dict[str, object]]:
    return [step.as_json() for step in steps(spec, history) if step.version]


def _opsets(spec: OpSpec, versions: Sequence[OperatorSchema], position: int) -> tuple[int, ...]:
    """The listed opsets at which the version at `position` is in force."""
    start = versions[position].since_version
    later = versions[position + 1 : position + 2]
    return tuple(
        opset
        for opset in spec.opsets
        if start <= opset and (not later or opset < later[0].since_version)
    )


_NUMBER = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class OperatorDiff:
    """An operator at two opsets."""

    opsets: tuple[int, int]  # the two, in the order asked for
    before: OperatorSchema  # the definition at the first
    after: OperatorSchema  # the definition at the second
    between: tuple[int, ...]  # versions between the two definitions
    changes: tuple[Change, ...]

    @property
    def is_same(self) -> bool:
        return self.before.since_version == self.after.since_version


def operator_diff(name: str, first: str, second: str, history: OnnxHistory) -> OperatorDiff:
    """The differences of an operator between two opsets.

    Raises:
        AtcError: UNKNOWN_NAME for an operator that ONNX does not have; BAD_OPTION for what is no
            opset, for one newer than all known, or for one before the operator exists.
    """
    op = _operator_named(name, history)
    opsets = (_opset(first, history), _opset(second, history))
    before, after = (_definition_at(op, opset, history) for opset in opsets)
    low, high = sorted((before.since_version, after.since_version))
    numbers = [row.since_version for row in history.versions(op)]
    between = tuple(number for number in numbers if low < number < high)
    return OperatorDiff(opsets, before, after, between, changes(before, after))


def diff_lines(diff: OperatorDiff) -> list[str]:
    op, (first, second) = diff.before.op, diff.opsets
    lines = [spoken(Text("{op}, opset {first} to {second}", op=op, first=first, second=second))]
    lines += wrap(spoken(_versions(diff)), "  ", "  ")
    if diff.is_same:
        return lines
    for text in [change.words for change in diff.changes] or [SAME]:
        lines += wrap(spoken(text), "  - ", "    ")
    return lines


def diff_json(diff: OperatorDiff) -> dict[str, object]:
    versions = (diff.before.since_version, diff.after.since_version)
    return {
        "op": diff.before.op,
        "opsets": list(diff.opsets),
        "versions": list(versions),
        "between": list(diff.between),
        "changes": [change.as_json() for change in diff.changes],
    }


def _versions(diff: OperatorDiff) -> Text:
    old, new = diff.before.since_version, diff.after.since_version
    if diff.is_same:
        return Text("nothing changed: both opsets have version {old}", old=old)
    text = Text("version {old} to version {new}", old=old, new=new)
    if not diff.between:
        return text
    numbers = ", ".join(str(number) for number in diff.between)
    return text + Text(", over {numbers}", numbers=numbers)


def _operator_named(name: str, history: OnnxHistory) -> str:
    if history.versions(name):
        return name
    names = {folded(each): each for each in history.names}
    found = names.get(folded(name))
    if found is not None:
        return found
    near = [names[match] for match in difflib.get_close_matches(folded(name), names)]
    help_ = Text("use ONNX's spelling, such as Conv or Relu")
    if near:
        help_ = Text("did you mean {near}?", near=Text(" or ").join(near))
    raise UNKNOWN_NAME.error(Text("ONNX has no operator {name}", name=repr(name)), help=help_)


def _opset(text: str, history: OnnxHistory) -> int:
    newest = history.newest_opset
    if _NUMBER.fullmatch(text) and 1 <= int(text) <= newest:
        return int(text)
    help_ = Text("the newest opset that the installed onnx knows is {newest}", newest=newest)
    message = Text(
        "an opset must be a number in [1, {newest}], found {text}", newest=newest, text=repr(text)
    )
    raise BAD_OPTION.error(message, help=help_)


def _definition_at(op: str, opset: int, history: OnnxHistory) -> OperatorSchema:
    schema = history.at(op, opset)
    if schema is None:
        numbers = ", ".join(str(row.since_version) for row in history.versions(op))
        message = Text("{op} does not exist at opset {opset}", op=op, opset=opset)
        help_ = Text("its versions came with the opsets {numbers}", numbers=numbers)
        raise BAD_OPTION.error(message, help=help_)
    return schema
