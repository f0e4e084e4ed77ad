"""Tables of a board beside the simulator and the original."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from atc_py.report.board.times import time_tables
from atc_py.report.diff.tables import diff_tables
from atc_py.report.tables import Table, first_names, number_text
from atc_py.results.board import (
    BoardComparison,
    BoardLayer,
    BoardReport,
    CheckState,
    LayerState,
    LayerVerdict,
    NodeFate,
)
from atc_py.results.layer import Figures
from atc_py.text import Text

_VERDICTS = {
    LayerVerdict.GOOD: Text("agrees"),
    LayerVerdict.BOARD: Text("off only on the board"),
    LayerVerdict.BOTH: Text("off on both: cost of the dtypes"),
    LayerVerdict.SIMULATOR: Text("off only on the simulator"),
    LayerVerdict.UNKNOWN: Text("no simulator to compare with"),
}
_FATES = {
    NodeFate.COMPARED: Text("compared"),
    NodeFate.FUSED: Text("fused into the node after it"),
    NodeFate.NO_TASK: Text("no task of its own"),
    NodeFate.REMOVED: Text("removed"),
    NodeFate.NOT_DUMPED: Text("not dumped"),
    NodeFate.UNREAD: Text("not read"),
}
_STATES = {
    CheckState.HOLDS: Text("holds", context="check"),
    CheckState.FAILS: Text("does not hold"),
    CheckState.OPEN: Text("not known"),
}
_SHOWN = 20


def board_tables(report: BoardReport, *, whole: bool = False) -> Iterator[Table]:
    for done in report.comparisons:
        yield from comparison_tables(done, whole=whole)


def comparison_tables(done: BoardComparison, *, whole: bool = False) -> Iterator[Table]:
    name, title = run_name(done), verdict_text(done)
    if name:
        title = Text("{name}: {verdict}", name=name, verdict=title)
    yield Table(title, ("", ""), tuple(_summary(done)), said=(0, 1))
    if done.checks:
        rows = tuple((each.name, _STATES[each.state], each.detail) for each in done.checks)
        yield Table("Do the results match the kit?", ("check", "", "found"), rows, said=(0, 1, 2))
    if done.outputs:
        yield _outputs(done)
    if done.layers:
        yield _layers(done, whole=whole)
    if done.nodes:
        yield _fates(done, whole=whole)
    if done.diff is not None:
        yield from diff_tables(done.diff)
    if done.times is not None:
        yield from time_tables(done.times, whole=whole)


def run_name(done: BoardComparison) -> str:
    """`VARIANT/SAMPLE` of a kit; empty without one."""
    return f"{done.variant}/{done.sample}".strip("/")


def verdict_text(done: BoardComparison) -> Text:
    first = done.first
    if first is not None:
        text = Text("{op} ({type}) is the first that differs only on the board")
        return text.with_values(op=first.label, type=first.type)
    if any(layer.between is not None for layer in done.layers):
        return Text("board and simulator agree on every layer that was dumped")
    compared = [each for each in done.outputs if each.between is not None]
    if not compared:
        return Text("no results of the board could be compared with the simulator")
    return Text("no layer was dumped: only outputs are compared")


def _summary(done: BoardComparison) -> Iterator[tuple[str, str]]:
    counts = Counter(layer.state for layer in done.layers)
    text = Text(
        "{compared} compared, {conversions} conversions that atc inserted, {steps} steps, {unread} "
        "not read"
    )
    text = text.with_values(
        compared=counts[LayerState.COMPARED] + counts[LayerState.STATISTICS],
        conversions=counts[LayerState.CONVERSION],
        steps=counts[LayerState.STEP],
        unread=counts[LayerState.UNREAD],
    )
    yield "results of the board", text
    if counts[LayerState.STATISTICS]:
        yield "compared only by statistics", str(counts[LayerState.STATISTICS])
    kinds = (
        (LayerVerdict.BOARD, "begins only on the board"),
        (LayerVerdict.BOTH, "begins on both"),
        (LayerVerdict.SIMULATOR, "begins only on the simulator"),
    )
    for verdict, name in kinds:
        found = [done.layers[at].label for at in done.layers_off(verdict)]
        if found:
            yield name, first_names(found)
    if done.without_json:
        text = Text(
            "without the JSON of the model, only the dumps themselves say which nodes they belong to"
        )
        yield "names", text


def _outputs(done: BoardComparison) -> Table:
    rows = tuple(
        (
            each.name,
            *map(_distance, (each.board, each.simulator, each.between)),
            "-" if each.board is None else number_text(each.board.max_absolute, 3),
            each.reason,
        )
        for each in done.outputs
    )
    head = (
        "output", "board - original>", "simulator - original>", "board - simulator>",
        "largest error of the board>", "not compared",
    )  # fmt: skip
    return Table("Outputs without dump: relative distances", head, rows, said=(5,))


def _distance(figures: Figures | None) -> str:
    return "-" if figures is None else number_text(figures.error_of(figures.distance), 3)


def _layers(done: BoardComparison, *, whole: bool) -> Table:
    chosen = list(range(len(done.layers)))
    if not whole and len(chosen) > _SHOWN:
        ranked = sorted(chosen, key=lambda at: _weight(done.layers[at]), reverse=True)
        chosen = sorted(ranked[:_SHOWN])
    left = len(done.layers) - len(chosen)
    title = Text("Layers of the board: relative distances")
    if left:
        title = Text("Layers with the largest differences ({left} more: -v lists all)", left=left)
    head = (
        "op", "computes", "dtype", "format", "board - original>", "simulator - original>",
        "board - simulator>", "verdict",
    )  # fmt: skip
    return Table(title, head, tuple(_layer_row(done, at) for at in chosen), said=(7,))


def _weight(layer: BoardLayer) -> tuple[bool, float]:
    return layer.introduced, layer.error(layer.between)


def _layer_row(done: BoardComparison, at: int) -> tuple[str, ...]:
    layer = done.layers[at]
    figures = (layer.board, layer.simulator, layer.between)
    errors = ("-" if each is None else number_text(layer.error(each), 3) for each in figures)
    return (
        f"{layer.op} ({layer.type})", ", ".join(layer.nodes) or "-", layer.dtype, layer.layout, *errors,
        _verdict(done, layer),
    )  # fmt: skip


def _verdict(done: BoardComparison, layer: BoardLayer) -> Text:
    if layer.board is None and layer.between is None:
        return Text("{reason}", reason=layer.reason) if layer.reason else Text("not compared")
    text = _VERDICTS[layer.verdict]
    if layer.introduced:
        text += Text(", begins here")
    elif layer.root is not None:
        text += Text(", passed on from {op}", op=done.layers[layer.root].label)
    if layer.state is LayerState.STATISTICS:
        text += Text("; only by statistics")
    if layer.state is LayerState.CONVERSION:
        text += Text("; {reason}", reason=layer.reason)
    return text


def _fates(done: BoardComparison, *, whole: bool) -> Table:
    """Nodes that were not compared: each of them with `whole`, else counts by outcome."""
    if whole:
        rows = tuple(
            (each.name, each.op, _FATES[each.fate], each.where or "-", each.reason)
            for each in done.nodes
        )
        head = ("node", "operator", "on the board", "op of the board", "reason")
        return Table("Nodes of the network", head, rows, said=(2, 4))
    groups: defaultdict[tuple[NodeFate, str], list[str]] = defaultdict(list)
    for node in done.nodes:
        groups[node.fate, node.reason].append(node.name)
    alike = tuple(
        (_FATES[fate], str(len(names)), first_names(names), reason)
        for (fate, reason), names in groups.items()
    )
    columns = ("on the board", "nodes>", "names", "reason")
    return Table("Nodes of the network", columns, alike, said=(0, 3))
