"""Nodes that compute what CANN makes of them or that later lists alone take, and biases of int8 layers."""

from collections.abc import Mapping

from atc_py.onnx_graph.source import BiasConvention, BiasSource
from atc_py.options.compile_options import QuantBias
from atc_py.report.tables import Table, node_list
from atc_py.results.cann_nodes import CannDeviation, CannSemantics, NewerNodes
from atc_py.text import Text, plural
from atc_py.text.language import language, spoken

_KEY = "quant_bias"


def bias_json(convention: BiasConvention | None) -> dict[str, object]:
    return {} if convention is None else {_KEY: convention.as_json()}


def bias_rows(report: Mapping[str, object]) -> list[tuple[str, str]]:
    found = report.get(_KEY)
    if not isinstance(found, dict):
        return []
    try:
        convention = BiasConvention(
            QuantBias(found.get("convention")), BiasSource(found.get("source"))
        )
    except ValueError:
        return []
    return [("biases of int8 layers", convention.text.in_language(language()))]


def semantics_tables(semantics: CannSemantics | None) -> list[Table]:
    """Deviations with their nodes; no table where all nodes compute what ONNX defines."""
    if semantics is None:
        return []
    rows = tuple(
        (str(len(places)), each.name, spoken(each.certainty), node_list(places))
        for each, places in _places(semantics).items()
    )
    title = Text(
        "Computed as on CANN {generation}, not as ONNX defines",
        generation=semantics.generation,
    )
    return [
        Table(title, ("nodes>", "deviation", "certainty", "places in the file"), rows, said=(3,))
    ]


def semantics_line(semantics: CannSemantics) -> str:
    """`1 node computes what CANN 9 makes of it: GRU/reset-after-product (inferred)`."""
    return plural(
        len(semantics.nodes),
        "{n} node computes what CANN {generation} makes of it: {names}",
        "{n} nodes compute what CANN {generation} makes of them: {names}",
        generation=semantics.generation,
        names=", ".join(deviation.text for deviation in _places(semantics)),
    )


def newer_rows(newer: NewerNodes) -> list[tuple[str, str]]:
    return [
        (
            Text("taken only by {name}", name=name),
            ", ".join(f"{op} {n}" for op, n in sorted(operators.items())),
        )
        for name, operators in newer.items()
    ]


def newer_texts(newer: NewerNodes) -> list[tuple[tuple[str, ...], Text]]:
    """The operators of each list, with `3 nodes (Mish) are taken by the list cann-9.0 alone ...`."""
    if not newer:
        return []
    from atc_py.spec.lists import operator_lists  # it reads a file

    releases = {each.name: each.release for each in operator_lists()}
    return [
        (
            tuple(sorted(operators)),
            plural(
                sum(operators.values()),
                "{n} node ({operators}) is taken only by the list {name}: {release} takes it, "
                "earlier releases may not",
                "{n} nodes ({operators}) are taken only by the list {name}: {release} takes "
                "them, earlier releases may not",
                operators=Text(", ", context="and").join(sorted(operators)),
                name=name,
                release=releases.get(name, name),
            ),
        )
        for name, operators in newer.items()
    ]


def _places(semantics: CannSemantics) -> dict[CannDeviation, list[str]]:
    places: dict[CannDeviation, list[str]] = {}
    for node in semantics.nodes:
        label = f'{node.node} "{node.name}"' if node.name else str(node.node)
        for deviation in node.deviations:
            places.setdefault(deviation, []).append(label)
    return places
