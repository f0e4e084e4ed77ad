"""Nodes that compute what CANN makes of them or that later lists alone take, in reports."""

from atc_py.report.fix.nodes import node_list
from atc_py.report.tables import Table
from atc_py.results.cann_nodes import CannDeviation, CannSemantics, NewerNodes
from atc_py.text import Text, plural
from atc_py.text.language import spoken


def semantics_tables(found: CannSemantics | None) -> list[Table]:
    """Deviations with their nodes; no table where all nodes compute what ONNX defines."""
    if found is None:
        return []
    rows = tuple(
        (str(len(places)), each.name, spoken(each.certainty), node_list(places))
        for each, places in _places(found).items()
    )
    title = Text(
        "Computed as on CANN {generation}, not as ONNX defines", generation=found.generation
    )
    return [
        Table(title, ("nodes>", "deviation", "certainty", "places in the file"), rows, said=(3,))
    ]


def semantics_line(found: CannSemantics) -> str:
    """`1 node computes what CANN 9 makes of it: GRU/reset-after-product (inferred)`."""
    return plural(
        len(found.nodes),
        "{n} node computes what CANN {generation} makes of it: {names}",
        "{n} nodes compute what CANN {generation} makes of them: {names}",
        generation=found.generation,
        names=", ".join(each.text for each in _places(found)),
    )


def semantics_json(found: CannSemantics | None) -> dict[str, object]:
    """The entry of a JSON document, null where all nodes compute what ONNX defines."""
    return {"semantics": None} if found is None else found.as_json()


def newer_rows(newer: NewerNodes) -> list[tuple[str, str]]:
    """The nodes that a later list alone takes, a row a list."""
    return [
        (
            Text("{name} alone takes", name=name),
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
                "{n} node ({operators}) is taken by the list {name} alone: {release} takes it, "
                "earlier releases may not",
                "{n} nodes ({operators}) are taken by the list {name} alone: {release} takes them, "
                "earlier releases may not",
                operators=Text(", ", context="and").join(sorted(operators)),
                name=name,
                release=releases.get(name, name),
            ),
        )
        for name, operators in newer.items()
    ]


def _places(found: CannSemantics) -> dict[CannDeviation, list[str]]:
    places: dict[CannDeviation, list[str]] = {}
    for node in found.nodes:
        label = f'{node.node} "{node.name}"' if node.name else str(node.node)
        for each in node.deviations:
            places.setdefault(each, []).append(label)
    return places
