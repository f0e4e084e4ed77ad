"""Nodes that compute what CANN makes of them or that later lists alone take, and biases of int8 layers."""

from collections.abc import Mapping

from atc_py.onnx_graph.source import BiasConvention, BiasSource
from atc_py.options.compile_options import QuantBias
from atc_py.report.tables import Table, node_list
from atc_py.results.cann_nodes import CannDeviation, CannSemantics, NewerNodes
from atc_py.text import Text, plural
from atc_py.text.language import spoken


def bias_rows(convention: BiasConvention | None) -> list[tuple[str, str]]:
    return [] if convention is None else [("biases of int8 layers", spoken(convention.text))]


def recorded_biases(report: Mapping[str, object]) -> BiasConvention | None:
    """The convention in an offline model's report; None where it names no known one."""
    record = report.get("quant_bias")
    if not isinstance(record, dict):
        return None
    try:
        return BiasConvention(QuantBias(record.get("convention")), BiasSource(record.get("source")))
    except ValueError:
        return None


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
