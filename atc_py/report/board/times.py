"""Tables of measured times beside estimated ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from atc_py.report.tables import Table, first_names, format_time
from atc_py.results.board_times import BoardTimes, TimedKernels
from atc_py.text import Text

_SHOWN = 20


def time_tables(times: BoardTimes, *, whole: bool = False) -> Iterator[Table]:
    """Times of the whole, by operator, and of kernels that are furthest from their estimate."""
    yield Table("Times", ("", ""), tuple(_time_rows(times)), said=(0, 1))
    yield _by_operator(times.kernels)
    yield _kernels(times, whole=whole)


def _time_rows(times: BoardTimes) -> Iterator[tuple[str, str]]:
    estimate = times.estimate
    text = Text(
        "{measured} measured, {expected} estimated ({ratio})",
        measured=format_time(times.kernel_seconds),
        expected=format_time(times.estimated_kernels),
        ratio=ratio_text(times.estimated_kernels, times.kernel_seconds),
    )
    yield "kernels", text
    yield "gaps between kernels", format_time(times.wait_seconds)
    if times.wall_seconds is not None:
        text = Text(
            "{measured} measured, {expected} estimated, {low}..{high}",
            measured=format_time(times.wall_seconds),
            expected=format_time(estimate.expected),
            low=format_time(estimate.low),
            high=format_time(estimate.high),
        )
        yield "a run, by the clock", text
    if times.bench_seconds is not None:
        yield "a run, by ais_bench", format_time(times.bench_seconds)
    yield "executions", str(times.executions)
    if times.left_out:
        yield "rows that could not be read", str(times.left_out)
    if times.fitted and times.spread_before is not None and times.spread_after is not None:
        text = Text(
            "to {count} kernels: error {before} before, {after} after (root mean square)",
            count=times.fitted,
            before=f"{times.spread_before:.1%}",
            after=f"{times.spread_after:.1%}",
        )
        yield "factors refitted", text
    if times.not_measured:
        yield "estimated, not measured", first_names(list(times.not_measured))


def ratio_text(estimated: float, measured: float) -> str:
    """`x1.25` of an estimate that is as much above what was measured."""
    return f"x{estimated / measured:.2f}" if measured else "-"


def _by_operator(kernels: Iterable[TimedKernels]) -> Table:
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for each in kernels:
        row = sums[" + ".join(dict.fromkeys(each.ops)) or "-"]
        row[0] += len(each.board)
        row[1] += each.measured
        if each.estimate is not None:
            row[2] += each.estimate.expected
            row[3] += each.measured
    rows = tuple(
        (op, str(int(count)), format_time(measured), format_time(expected) if both else "-",
         ratio_text(expected, both))
        for op, (count, measured, expected, both) in sorted(sums.items(), key=lambda item: -item[1][1])
    )  # fmt: skip
    head = ("operator", "kernels>", "measured>", "estimated>", "estimated / measured>")
    return Table("Times by operator", head, rows)


def _kernels(times: BoardTimes, *, whole: bool) -> Table:
    chosen: Sequence[TimedKernels] = times.kernels
    if not whole and len(chosen) > _SHOWN:
        longest = sorted(range(len(chosen)), key=lambda at: -times.kernels[at].measured)[:_SHOWN]
        chosen = [times.kernels[at] for at in sorted(longest)]
    left = len(times.kernels) - len(chosen)
    title = Text("Kernels of the board")
    if left:
        title = Text("Kernels that take longest ({left} more: -v lists all)", left=left)
    rows = tuple(map(_kernel_row, chosen))
    head = (
        "kernel", "operator", "unit", "computes", "measured>", "estimated>", "range>",
        "estimated / measured>",
    )  # fmt: skip
    return Table(title, head, rows)


def _kernel_row(each: TimedKernels) -> tuple[str, ...]:
    own = each.estimate
    return (
        first_names(list(each.board), 2), " + ".join(dict.fromkeys(each.ops)),
        " + ".join(dict.fromkeys(each.units)), first_names(list(each.nodes), 3) or "-",
        format_time(each.measured), "-" if own is None else format_time(own.expected),
        "-" if own is None else f"{format_time(own.low)}..{format_time(own.high)}",
        "-" if own is None else ratio_text(own.expected, each.measured),
    )  # fmt: skip
