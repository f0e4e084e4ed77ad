"""Findings where a release of CANN gives a node another meaning than ONNX, or refuses it."""

from collections.abc import Iterator
from typing import NamedTuple

from atc_py.check.bound_node import BoundNode
from atc_py.check.condition_words import filled, joined, predicate_of, rule_subject, when_words
from atc_py.check.conditions import ask, concerns
from atc_py.check.findings import Finding, Standing, worst
from atc_py.check.reading import Answer, State
from atc_py.diag import DEVIATES_ON_CANN, REFUSED_BY_PARSER, AtcFault, Place
from atc_py.onnx_graph.source import SourceNode
from atc_py.spec import ONNX_DOMAINS, OpSpec
from atc_py.spec.deviations import Certainty, Deviation, Registered, covers
from atc_py.spec.lists import ParserRule, Release, find_release
from atc_py.spec.model import compressed
from atc_py.system import structs
from atc_py.text import SEMICOLON, Text, Words, verbatim

_INFERRED = Text(" (inferred)")
_FOLLOWS_ONNX = Text("; atc-py follows ONNX")
_STATED = Text("; `atc-py fix --for cann` states the model at an opset that is read as ONNX has it")
_SAME_ON = Text(" for CANN {major} to compute what ONNX defines")
_TAKEN_BY = Text(" for CANN {major} to take the node")


class Met(NamedTuple):
    """A deviation that a node meets, or may meet."""

    row: Deviation
    certainty: Certainty  # how certain the release has it
    answer: Answer  # the predicate's answer, which fails or is undecided


def met_deviations(node: BoundNode) -> Iterator[Met]:
    """Yield the deviations of the release that a node meets; undecided ones too."""
    release = find_release(node.conditions.cann)
    for row in node.spec.deviations:
        certainty = certainty_on(row, release)
        if certainty is None or not concerns(row.unless, node):
            continue
        answer = ask(row.unless, predicate_of(type(row.unless)), node)
        if answer.state is not State.HOLDS:
            yield Met(row, certainty, answer)


def certainty_on(row: Deviation | ParserRule, release: Release) -> Certainty | None:
    """The certainty that a release has a deviation or a rule; None if it does not."""
    name = release.read.name
    if any(covers(span, name) for span in row.proven):
        return Certainty.INFERRED if release.certainty is Certainty.INFERRED else Certainty.PROVEN
    return Certainty.INFERRED if any(covers(span, name) for span in row.inferred) else None


def registered_on(spec: OpSpec, release: Release) -> Registered | None:
    """The row on how a release's parser has the operator; None where it has it as most."""
    name = release.read.name
    return next((row for row in spec.registered if covers(row.releases, name)), None)


def parser_opsets(spec: OpSpec, release: Release) -> tuple[tuple[int, int], ...]:
    """The runs of opsets at which a release's parser has the operator."""
    row = registered_on(spec, release)
    return release.read.opsets if row is None else row.opsets


def deviation_findings(node: BoundNode, written: SourceNode, path: str) -> Iterator[Finding]:
    """Yield a finding for each deviation of a node, and one where the parser does not have it.

    `node` is at a listed opset, `written` as the file has it.
    """
    place = Place(path, written.index, written.name, written.op_type)
    refused = _not_registered(node, written, place)
    if refused is not None:
        yield refused
    for met in met_deviations(node):
        yield _finding(node, met, place)


def _finding(node: BoundNode, met: Met, place: Place) -> Finding:
    row, rule, major = met.row, met.row.unless, node.conditions.cann
    predicate = predicate_of(type(rule))
    demand = filled(predicate.sentence, node.spec, rule)
    demand += (_TAKEN_BY if row.refused else _SAME_ON).with_values(major=major)
    observed = met.answer.observed
    if met.answer.state is State.UNKNOWN:
        demand += Text(" (not decided: ") + observed + Text(")")
        observed = Text("")
    said = Text("CANN {major}", major=major)
    said += _INFERRED if met.certainty is Certainty.INFERRED else Text("")
    help_ = said + Text(": ") + Words(row.effect.en, row.effect.zh)
    return Finding(
        code=REFUSED_BY_PARSER if row.refused else DEVIATES_ON_CANN,
        standing=Standing.PARSER if row.refused else Standing.ACCURACY,
        rule=f"{node.spec.op}/cann/{row.name}",
        source=node.spec.place_of(row.line),
        place=Place(
            place.file, place.node, place.node_name, place.op_type, rule_subject(node.spec, rule)
        ),
        scope=node.view.scope,
        observed=observed,
        allowed=demand,
        help=help_
        + (_STATED if row.restated else Text(""))
        + (Text("") if row.refused else _FOLLOWS_ONNX),
        when=joined([when_words(rule.when) if rule.when else Text(""), met.answer.when]),
        certainty=met.certainty.value,
    )


def _not_registered(node: BoundNode, written: SourceNode, place: Place) -> Finding | None:
    if node.spec.custom and written.domain not in ONNX_DOMAINS:
        return None  # its version is not one of ONNX's opsets
    release = find_release(node.conditions.cann)
    runs = parser_opsets(node.spec, release)
    if any(first <= written.opset <= last for first, last in runs):
        return _misspelled(node, written, place)
    numbers = tuple(opset for first, last in runs for opset in range(first, last + 1))
    if numbers and not any(first <= written.opset <= last for first, last in release.read.opsets):
        return _unknown_opset(node, written, place)
    opsets = compressed(numbers)
    known = release.certainty is Certainty.PROVEN
    said = Text("") if known else _INFERRED
    advice = Text(
        "export the model at one of these opsets, or let `atc-py fix --for cann` restate it"
    )
    help_ = (advice if numbers else Text("no published parser plugin has the operator")) + said
    allowed = Text(
        "the parser of CANN {major} has {op} at {opsets}",
        major=release.name,
        op=node.spec.op,
        opsets=Text("opsets {opsets}", opsets=opsets) if opsets else Text("no opset"),
    )
    return _refused(node, place, "registered", written.opset, (allowed, help_))


OPSET_RULE = "parser/opset"
"""Rule of a file at an opset that the parser has for no operator."""

_OPSET_HINT = Text("`atc-py fix --for cann` writes the model at an opset that the parser has")
_REST_SUPPORTED = Text("everything else is supported")


def _unknown_opset(node: BoundNode, written: SourceNode, place: Place) -> Finding:
    """The finding that the parser lacks the opset of the whole file, at the first node that shows it."""
    release = find_release(node.conditions.cann)
    opsets = compressed(
        tuple(n for first, last in release.read.opsets for n in range(first, last + 1))
    )
    allowed = Text(
        "the parser of CANN {major} has opsets {opsets}", major=release.name, opsets=opsets
    )
    found = _refused(node, Place(place.file), "opset", written.opset, (allowed, _OPSET_HINT))
    fault = AtcFault("E13010", (written.name, f"ai.onnx::{written.opset}::{written.op_type}"))
    return structs.replace(found, source="op_specs/cann.yaml", scope="", atc=fault)


def with_one_of_opset(findings: list[Finding]) -> list[Finding]:
    """Findings of all nodes, of those on the opset of the file the first one alone."""
    whole = next((finding for finding in findings if finding.rule == OPSET_RULE), None)
    if whole is None:
        return findings
    rest = [finding for finding in findings if finding.rule != OPSET_RULE]
    if not worst(finding.standing for finding in rest).reaches(Standing.PARSER):
        whole = structs.replace(whole, help=_REST_SUPPORTED + SEMICOLON + whole.help)
    return [whole, *rest]


def _misspelled(node: BoundNode, written: SourceNode, place: Place) -> Finding | None:
    release = find_release(node.conditions.cann)
    row = registered_on(node.spec, release)
    name = None if row is None else row.name
    if name is None or written.op_type == name:
        return None
    allowed = Text(
        "the type must be {name} for CANN {major} to take the node",
        name=name,
        major=release.name,
    )
    help_ = Text("write {name} as the node's type; atc-py takes both", name=name)
    return _refused(node, place, "spelling", written.op_type, (allowed, help_))


def _refused(
    node: BoundNode, place: Place, rule: str, observed: object, words: tuple[Text, Text]
) -> Finding:
    return Finding(
        code=REFUSED_BY_PARSER,
        standing=Standing.PARSER,
        rule=f"parser/{rule}",
        source=node.spec.place_of(node.spec.opsets_line),
        place=place,
        scope=node.view.scope,
        observed=verbatim(observed),
        allowed=words[0],
        help=words[1],
        certainty=find_release(node.conditions.cann).certainty.value,
    )
