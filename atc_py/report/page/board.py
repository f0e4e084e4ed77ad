"""A board beside the simulator, as the page shows it: the verdict, findings and tables."""

from atc_py.report.board.tables import comparison_tables
from atc_py.report.page.words import diagnostic_json, in_both, name_text, table_json
from atc_py.results.board import BoardComparison


def board_json(done: BoardComparison) -> dict[str, object]:
    """The tables of a comparison, the layers with the nodes that they compute."""
    head, *tables = comparison_tables(done, whole=True)
    last = [name_text(layer.nodes[-1]) if layer.nodes else "" for layer in done.layers]
    found = []
    for table in tables:
        numbers = [at for at, (_, is_number) in enumerate(table.headings()) if is_number]
        is_of_layers = len(table.rows) == len(last) and table.headings()[0][0] == "op"
        nodes = last if is_of_layers else []
        found.append({**table_json(table), "numbers": numbers, "nodes": nodes})
    return {
        "title": in_both(head.title),
        "is_off": done.first is not None,
        "summary": [[in_both(name), in_both(value)] for name, value in head.rows],
        "findings": [diagnostic_json(each) for each in done.findings],
        "tables": found,
    }
