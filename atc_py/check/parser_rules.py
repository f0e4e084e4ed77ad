"""Findings where a model breaks a rule of CANN's ONNX parser that is about no single operator."""

from collections.abc import Iterable, Mapping

from atc_py.check.deviations import certainty_on
from atc_py.check.findings import Finding, Standing
from atc_py.diag import DEVIATES_ON_CANN, REFUSED_BY_PARSER, AtcFault, Place
from atc_py.onnx_graph.source import Broken
from atc_py.spec.deviations import Certainty
from atc_py.spec.lists import ParserRule, find_release, parser_rules
from atc_py.text import Text, Words, verbatim

_SOURCE = "op_specs/cann.yaml"


_WRITES = Text("`atc-py fix --for cann` writes the model in the form that the parser takes")

_SAID: Mapping[str, tuple[Text, Text]] = {
    "several-imports": (
        Text("the parser takes models that import one domain"),
        Text("`atc-py fix --for cann` leaves out domains that no node uses"),
    ),
    "domain-not-imported": (
        Text("the domain of a node must be imported under the same spelling"),
        _WRITES,
    ),
    "repeated-name": (Text("names of nodes must be unique in a graph"), _WRITES),
    "omitted-input-in-branch": (
        Text("nodes in branches of an If must not omit inputs"),
        Text("`atc-py fix --for cann` writes the default as a constant"),
    ),
    "omitted-output-as-input": (
        Text("a graph must not have both omitted inputs and omitted outputs"),
        Text("`atc-py fix --for cann` gives omitted outputs names"),
    ),
    "constant-without-value": (
        Text("a Constant must have its data in the attribute value"),
        _WRITES,
    ),
    "no-inputs": (
        Text("the graph must have inputs"),
        Text("export the model with an input, or compute its results once, on the host"),
    ),
    "output-without-input": (
        Text("every output must depend on an input of the graph"),
        Text("feed what the output depends on as an input"),
    ),
    "function": (
        Text("the parser takes models whose functions are inlined"),
        Text("`atc-py fix --for cann` inlines them"),
    ),
    "capture-of-nested-if": (
        Text(
            "values that a branch of an inner If takes from outside must also be read in the "
            "outer branch"
        ),
        Text("`atc-py fix --for cann` passes the values on"),
    ),
    "element-type": (
        Text("the element type must be one that the parser has"),
        Text("cast to such a type before the model is exported"),
    ),
    "numbers-one-by-one": (
        Text("constants of narrow types must have their data in raw_data"),
        _WRITES,
    ),
    "fill-one-by-one": (
        Text("the value of a ConstantOfShape must have its data in raw_data"),
        _WRITES,
    ),
    "external-data-in-branch": (
        Text("constants of branches must have their data in the model's file"),
        _WRITES,
    ),
    "external-data-key": (
        Text("keys of external data other than location must hold numbers"),
        _WRITES,
    ),
    "file-size": (
        Text("the file must have at most 2147483647 bytes"),
        Text("save weights beside the model, as external data"),
    ),
}
"""What a rule demands besides its effect, and the hint, by name."""


def model_findings(places: Iterable[Broken], path: str, cann: str) -> tuple[Finding, ...]:
    """The findings about places that break rules of the parser of a release, in their order."""
    rules, release = parser_rules(), find_release(cann)
    found = []
    for broken in places:
        certainty = certainty_on(rules[broken.rule], release)
        if certainty is not None:
            found.append(_finding(broken, rules[broken.rule], certainty, path, cann))
    return tuple(found)


def refusals(found: Iterable[Finding]) -> list[Finding]:
    """The findings with which parsing ends: on whole models, and on nodes what is proven and decided."""
    return [
        each
        for each in found
        if each.code is REFUSED_BY_PARSER
        and (
            each.atc is not None
            or (each.certainty == Certainty.PROVEN.value and bool(each.observed.en))
        )
    ]


def is_of_model(finding: Finding) -> bool:
    """True for a rule about whole models."""
    room, _, name = finding.rule.partition("/")
    return room == "parser" and name in _SAID


def _finding(
    broken: Broken, rule: ParserRule, certainty: Certainty, path: str, cann: str
) -> Finding:
    demand, hint = _SAID[broken.rule]
    if broken.foreign:
        hint = _FOREIGN.with_values(domains=", ".join(broken.foreign))
    said = Text("CANN {major}", major=cann)
    if not broken.deviates:
        said += verbatim(f" ({rule.code or _CYCLE})")
    if certainty is Certainty.INFERRED:
        said += Text(" (inferred)")
    effect = Words(rule.effect.en, rule.effect.zh)
    node = broken.node
    return Finding(
        code=DEVIATES_ON_CANN if broken.deviates else REFUSED_BY_PARSER,
        standing=Standing.ACCURACY if broken.deviates else Standing.PARSER,
        rule=f"parser/{broken.rule}",
        source=_SOURCE,
        place=Place(path, field=broken.field)
        if node is None
        else Place(path, node.index, node.name, node.op_type, broken.field),
        scope=broken.scope,
        observed=broken.observed,
        allowed=demand,
        help=said + Text(": ") + effect + Text("; ") + hint,
        certainty=certainty.value,
        atc=None if broken.deviates else AtcFault(rule.code or _CYCLE, broken.arguments),
    )


_FOREIGN = Text(
    "nodes of {domains} need their import: export without the tool that adds them (optimizers of "
    "onnxruntime add com.microsoft), let `atc-py fix` write them in ONNX's own operators, where it "
    "has rules for them, or cut the model there and run them on the host"
)
_CYCLE = "E19999"
"""Code with which a graph ends that depends on itself (inferred)."""
