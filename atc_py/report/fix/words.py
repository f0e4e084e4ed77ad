"""The words of reports on fixed models, in both languages."""

from atc_py.check.findings import Standing
from atc_py.options.fix_rules import bind_options
from atc_py.report.tables import format_time
from atc_py.results.fixing import Difference, Fixing, Rewrite, TargetError
from atc_py.text import SEMICOLON, Text, all_of, plural, verbatim


def headline(done: Fixing) -> Text:
    """`all 28 errors are removed; 28 nodes were rewritten`."""
    before, after = done.errors
    count = len(done.rewrites)
    nodes = plural(count, "{n} node was rewritten", "{n} nodes were rewritten")
    if not count:
        nodes = Text("no node was rewritten")
    if not before:
        text = Text("no errors to remove")
    elif not after:
        text = plural(before, "its only error is removed", "all {n} errors are removed")
        if before == 2:  # noqa: PLR2004
            text = Text("both errors are removed")
    elif before <= after:
        text = plural(
            after, "no error is removed, {n} is left", "no error is removed, {n} are left"
        )
    else:
        text = plural(
            before - after,
            "{n} of {before} errors is removed",
            "{n} of {before} errors are removed",
            before=before,
        ) + plural(after, ", {n} is left", ", {n} are left")
    if done.reformed:
        nodes += SEMICOLON + Text(
            "it now obeys these rules of CANN's parser: {rules}",
            rules=all_of(name.partition("/")[2] for name in done.reformed),
        )
    if done.odd_outputs and done.target is not None:
        nodes += SEMICOLON + Text(
            "in {mode} its outputs are infinite or NaN: {names}",
            mode=done.target.precision_mode,
            names=all_of(done.odd_outputs),
        )
    return text + SEMICOLON + nodes


def verdict_texts(done: Fixing) -> tuple[Text, Text]:
    """The verdict of `check` before and after; an empty text where there is none."""
    before, after = (
        plural(errors, "refused ({n} error)", "refused ({n} errors)")
        if name == Standing.ERROR.value
        else ACCEPTED[Standing(name)]
        if name
        else Text("")
        for name, errors in zip(done.verdicts, done.errors, strict=True)
    )
    return before, after


ACCEPTED = {
    Standing.UNKNOWN: Text("not decided"),
    Standing.PARSER: Text("refused by CANN's parser"),
    Standing.LIST: Text("supported, some nodes beyond the list"),
    Standing.REWRITE: Text("supported, some nodes are rewritten"),
    Standing.AICPU: Text("supported, some nodes run on the AI CPU"),
    Standing.ACCURACY: Text("supported, some nodes may lose accuracy"),
    Standing.SUPPORTED: Text("supported"),
}
"""Verdicts without errors."""


def error_text(difference: Difference | None) -> Text:
    if difference is None:
        return Text("not compared")
    if not difference.differing:
        return Text("0 (equal)")
    return verbatim(f"{difference.error:.2g}")


def difference_text(difference: Difference) -> Text:
    if not difference.differing:
        return Text("equal to the original's")
    return Text(
        "differs by {error} of its range, in {differing} of {elements} elements",
        error=f"{difference.error:.2g}",
        differing=difference.differing,
        elements=difference.elements,
    )


def target_text(found: TargetError) -> Text:
    if found.odd:
        return plural(
            found.odd,
            "{n} value is infinite or NaN where the original's is finite",
            "{n} values are infinite or NaN where the original's are finite",
        )
    cosine = "-" if found.cosine is None else f"{found.cosine:.6f}"
    return Text(
        "cosine {cosine}, largest error {error} of its range",
        cosine=cosine,
        error=f"{found.error:.2g}",
    )


def time_text(rewrites: tuple[Rewrite, ...]) -> str:
    """The estimated time of all new nodes; `-` where it is not known of each."""
    times = [rewrite.microseconds for rewrite in rewrites]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return "-"
    return format_time(sum(known) * 1e-6)


def facts(done: Fixing) -> list[tuple[str, str]]:
    before, after = verdict_texts(done)
    rows: list[tuple[str, str]] = [
        ("operator list", done.operator_list),
        *([("verdict", before + " -> " + after)] if before and after else []),
        ("opset", " -> ".join(map(str, dict.fromkeys(done.opset)))),
    ]
    for name, output in done.outputs.items():
        rows.append((Text("output") + f" {name}", difference_text(output)))
    if not done.seeds:
        why = "none: nothing was rewritten"
        if done.rewrites:
            why = Text("none: {why}", why=done.rewrites[0].shown.why)
        rows.append(("proof", Text(why)))
    rows += _target_rows(done)
    nothing = "nothing (--dry-run)" if done.changes and not done.left else "nothing"
    rows.append(("written", Text(nothing) if done.output is None else str(done.output)))
    if done.deciding:
        rows.append(("hint", _choice(done)))
    return rows


def _choice(done: Fixing) -> Text:
    options = [
        option
        for name, values in done.deciding.items()
        for value in values
        for option in bind_options({name: value})
    ]
    return plural(
        len(done.deciding),
        "{names} decides which branch runs; {options} keeps one of them",
        "{names} decide which branch runs; {options} keeps one of them",
        names=", ".join(done.deciding),
        options=Text(" or ").join(options),
    )


def _target_rows(done: Fixing) -> list[tuple[str, str]]:
    """The fixed model in the target's precision, against the original in float32."""
    target = done.target
    if target is None:
        return []
    head = f"{target.precision_mode}, {target.soc}"
    if target.failed:
        first = target.failed[0]
        return [
            (head, Text("not run: {code} {message}", code=first.code.id, message=first.message))
        ]
    rows: list[tuple[str, str]] = [
        (f"{name}, {head}", target_text(output)) for name, output in target.outputs.items()
    ]
    if target.microseconds is not None:
        time = format_time(target.microseconds * 1e-6)
        rows.append(("estimated time", f"{time}, {target.soc}"))
    return rows
