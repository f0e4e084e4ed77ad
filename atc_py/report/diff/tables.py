"""Tables of the differences of two offline models, for the terminal and for the page."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from atc_py.report.tables import Table, first_names, format_bytes
from atc_py.results.model_diff import (
    ConstantDifference,
    ConversionDifference,
    DiffLaunch,
    LaunchDifference,
    ModelDiff,
)
from atc_py.text import Text
from atc_py.text.language import spoken

_RELATIONS = {
    "bytes": Text("equal, byte for byte"),
    "value": Text("equal in value, stored differently"),
    "rounded": Text("equal where rounded to the narrower dtype"),
    "different": Text("different"),
    "first": Text("only in the first"),
    "second": Text("only in the second"),
}
_MOST_ROWS = 50


def diff_tables(diff: ModelDiff) -> Iterator[Table]:
    yield _sides(diff)
    differing = [group for group in diff.launches if group.differs]
    if differing:
        yield _launches(differing)
    conversions = [row for row in diff.conversions if row.first != row.second]
    if conversions:
        yield _conversions(conversions)
    if diff.constants:
        yield _constants(diff.constants)
    unequal = [row for row in diff.constants if row.relation != "bytes"]
    if unequal:
        yield _unequal(unequal)


def score_text(diff: ModelDiff) -> Text:
    return Text(
        "{percent} % of the launches are equal in nodes, operators, dtypes and formats",
        percent=f"{100 * diff.score:.1f}",
    )


def _sides(diff: ModelDiff) -> Table:
    first, second = diff.first, diff.second
    unknown = spoken("not stated")
    rows = [
        ("written by", first.producer, second.producer),
        ("SoC", first.soc or unknown, second.soc or unknown),
        ("launches", str(first.launches), str(second.launches)),
        ("fused launches", str(first.fused), str(second.fused)),
        ("conversions", str(first.conversions), str(second.conversions)),
        ("equal launches", str(diff.equal), str(diff.equal)),
    ]
    for name in dict.fromkeys([*first.memory, *second.memory]):
        ours, theirs = (format_bytes(side.memory.get(name, 0)) for side in (first, second))
        rows.append((name, ours, theirs))
    cells = tuple((spoken(name), *sides) for name, *sides in rows)
    return Table(score_text(diff), ("", first.model, second.model), cells)


def _launches(groups: Iterable[LaunchDifference]) -> Table:
    alike: Counter[tuple[str, str, str]] = Counter()
    nodes: dict[tuple[str, str, str], str] = {}
    for group in groups:
        differs = ", ".join(map(spoken, group.differs))
        key = differs, _side(group.first), _side(group.second)
        alike[key] += 1
        launch = next(iter(group.first or group.second))
        nodes.setdefault(key, (launch.nodes or (launch.name,))[0])
    rows = [
        (str(count), differs, first, second, nodes[differs, first, second])
        for (differs, first, second), count in alike.most_common(_MOST_ROWS)
    ]
    columns = ("times>", "differs in", "first", "second", "node, at its first occurrence")
    return Table("Launches that differ", columns, tuple(rows))


def _side(launches: Iterable[DiffLaunch]) -> str:
    """`Conv2D + PRelu` of one launch; launches of a group are parted by `|`."""
    texts = []
    for launch in launches:
        outputs = ", ".join(f"{each.dtype} {each.format}" for each in launch.outputs)
        texts.append(f"{' + '.join(launch.operators)} ({outputs})")
    return " | ".join(texts) or "-"


def _conversions(conversions: Iterable[ConversionDifference]) -> Table:
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    nodes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in conversions:
        key = row.operator, row.change
        counts[key][0] += row.first
        counts[key][1] += row.second
        nodes[key].append(row.node or "-")
    rows = tuple(
        (*key, str(first), str(second), first_names(nodes[key], 3))
        for key, (first, second) in counts.items()
    )
    columns = ("operator", "change", "first>", "second>", "after")
    return Table("Conversions that only one has", columns, rows)


def _constants(constants: Iterable[ConstantDifference]) -> Table:
    counts = Counter(row.relation for row in constants)
    rows = tuple(
        (text, str(counts[relation])) for relation, text in _RELATIONS.items() if counts[relation]
    )
    return Table("Constants", ("", "count>"), rows, said=(0,))


def _unequal(constants: Iterable[ConstantDifference]) -> Table:
    alike: defaultdict[tuple[str, str, str], list[ConstantDifference]] = defaultdict(list)
    for row in constants:
        first, second = (" ".join(each[:2]) or "-" for each in (row.first, row.second))
        alike[row.relation, first, second].append(row)
    rows = [
        (
            str(len(found)),
            _RELATIONS[relation],
            first,
            second,
            _error(found),
            (found[0].nodes or (found[0].first or found[0].second)[2:])[0],
        )
        for (relation, first, second), found in alike.items()
    ]
    columns = (
        "times>",
        "relation",
        "first",
        "second",
        "largest error>",
        "node, at its first occurrence",
    )
    return Table("Constants that are not equal byte for byte", columns, tuple(rows), said=(1,))


def _error(found: Iterable[ConstantDifference]) -> str:
    errors = [row.error for row in found if row.error is not None]
    return f"{max(errors):.3g}" if errors else "-"


def diff_html(diff: ModelDiff) -> str:
    """The page: the score, and each table.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    from atc_py.report.page.rendering import plain_page  # jinja2 takes long to import

    return plain_page(
        "diff",
        lambda: {
            "score": score_text(diff),
            "first": diff.first.model,
            "second": diff.second.model,
            "tables": [table.spoken().visible() for table in diff_tables(diff)],
        },
    )
