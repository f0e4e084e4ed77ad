"""A fixed model, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.report.tables import Table

if TYPE_CHECKING:
    from atc_py.diag import Words
    from atc_py.results.fixing import Difference, Fixing

__all__ = ["fixing_tables"]


def fixing_tables(done: Fixing, language: str = "en") -> list[Table]:
    """Return the tables that `fix` prints."""
    tables = [_rewrites(done), _left(done, language), _result(done)]
    return [table for table in tables if table.rows]


def _rewrites(done: Fixing) -> Table:
    """Return the table of rewritten nodes; nodes alike share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    worst: dict[tuple[str, ...], float] = {}
    for each in done.rewrites:
        key = (each.operator, ", ".join(each.rules), " ".join(each.after), each.exactness)
        rows.setdefault(key, []).append(str(each.node))
        error = each.difference.error if each.difference else float("nan")
        worst[key] = max(worst.get(key, error), error)
    return Table(
        "Rewrites",
        ("nodes>", "operator", "rule", "new nodes", "class", "largest error>"),
        tuple(
            (
                str(len(nodes)),
                *key,
                "not shown" if worst[key] != worst[key] else f"{worst[key]:.2g}",
            )
            for key, nodes in rows.items()
        ),
    )


def _left(done: Fixing, language: str) -> Table:
    """Return the table of findings that are left."""

    def said(words: Words) -> str:
        return words.in_language(language)

    rows = []
    for each in done.left:
        unfit = "; ".join(f"{rule} needs: {said(why)}" for rule, why in each.unfit)
        node = "" if each.node is None else str(each.node)
        rows.append((node, each.operator, said(each.message), unfit))
    return Table(
        "Not fixed", ("node>", "operator", "finding", "rules that did not fit"), tuple(rows)
    )


def _result(done: Fixing) -> Table:
    """Return the summary."""
    before, after = done.errors
    rows = [
        ("errors", f"{before} before, {after} after, on {done.operator_list}"),
        ("opset", f"{done.opset[0]} before, {done.opset[1]} after"),
        *((f"output {name}", _difference(each)) for name, each in done.outputs.items()),
    ]
    if not done.seeds:
        why = "--seeds 0, or dims of inputs are open" if done.rewrites else "nothing was rewritten"
        rows.append(("proof", f"none: {why}"))
    rows.append(("written", "nothing" if done.output is None else str(done.output)))
    return Table("Result", ("", ""), tuple(rows))


def _difference(found: Difference) -> str:
    """Return a difference in words."""
    if not found.differing:
        return "equal to the original's"
    return f"differs by {found.error:.2g} of its range, in {found.differing} of {found.elements} elements"
