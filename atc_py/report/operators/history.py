"""ONNX's version history of an operator: what each version changed, and the listed opsets in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from atc_py.onnx_graph.source import OperatorSchema, SchemaHistory
from atc_py.onnx_graph.source.schema_changes import Change, changes
from atc_py.spec import OpSpec
from atc_py.spec.model import compressed
from atc_py.text import SEMICOLON, Text

SAME = Text("inputs, outputs, attributes and dtypes are the same")
"""Words for a version that changed only an operator's description."""

_FIRST = Text("first version")


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version of an operator.

    Attributes:
        version: the opset that brought it; 0 for the time before the operator existed.
        changes: what it changed; nothing for the first.
        opsets: the listed opsets at which it is in force.
    """

    version: int
    changes: tuple[Change, ...]
    opsets: tuple[int, ...]


def steps(spec: OpSpec, history: SchemaHistory) -> tuple[VersionStep, ...]:
    """The versions of an operator, oldest first; none where ONNX does not have it."""
    versions = () if spec.custom else history.versions(spec.op)
    if not versions:
        return ()
    found = [
        VersionStep(
            row.since_version,
            changes(versions[position - 1], row) if position else (),
            _opsets(spec, versions, position),
        )
        for position, row in enumerate(versions)
    ]
    early = tuple(opset for opset in spec.opsets if opset < versions[0].since_version)
    return (*([VersionStep(0, (), early)] if early else []), *found)


def history_rows(spec: OpSpec, history: SchemaHistory) -> list[tuple[str, Text]]:
    """Each version's number and what it changed, with the listed opsets."""
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
    """The same as JSON values; the time before the operator existed is left out."""
    return [
        {
            "version": step.version,
            "opsets": list(step.opsets),
            "changes": [change.as_json() for change in step.changes],
        }
        for step in steps(spec, history)
        if step.version
    ]


def _opsets(spec: OpSpec, versions: Sequence[OperatorSchema], position: int) -> tuple[int, ...]:
    """The listed opsets at which the version at `position` is in force."""
    start = versions[position].since_version
    later = versions[position + 1 : position + 2]
    return tuple(
        opset
        for opset in spec.opsets
        if start <= opset and (not later or opset < later[0].since_version)
    )
