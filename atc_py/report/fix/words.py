"""The words of reports on fixed models, in both languages."""

from collections.abc import Iterator

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


def verdict_texts(done: Fixing) -> list[Text]:
    """The verdict of `check` before and after; empty texts where there is none."""
    return [*map(_verdict_text, done.verdicts, done.errors)]


def _verdict_text(name: str, errors: int) -> Text:
    if name == Standing.ERROR.value:
        return plural(errors, "refused ({n} error)", "refused ({n} errors)")
    return ACCEPTED[Standing(name)] if name else Text("")


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
    if not difference.elements:  # it is empty, or no tensor
        return Text("not compared")
    if not difference.differing:
        return Text("equal to the original's")
    text = Text("differs by {error} of its range, in {differing} of {elements} elements")
    error, differing = f"{difference.error:.2g}", difference.differing
    return text.with_values(error=error, differing=differing, elements=difference.elements)


def target_text(target_error: TargetError) -> Text:
    if target_error.odd:
        return plural(
            target_error.odd,
            "{n} value is infinite or NaN where the original's is finite",
            "{n} values are infinite or NaN where the original's are finite",
        )
    cosine = "-" if target_error.cosine is None else f"{target_error.cosine:.6f}"
    text = Text("cosine {cosine}, largest error {error} of its range")
    return text.with_values(cosine=cosine, error=f"{target_error.error:.2g}")


def time_text(rewrites: tuple[Rewrite, ...]) -> str:
    """The estimated time of all new nodes; `-` where it is not known of each."""
    times = [rewrite.microseconds for rewrite in rewrites]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return "-"
    return format_time(sum(known) * 1e-6)


def facts(done: Fixing) -> Iterator[tuple[str, str]]:
    yield "operator list", done.operator_list
    before, after = verdict_texts(done)
    if before and after:
        yield "verdict", before + " -> " + after
    yield "opset", " -> ".join(map(str, dict.fromkeys(done.opset)))
    for name, output in done.outputs.items():
        yield Text("output") + f" {name}", difference_text(output)
    if not done.seeds and done.rewrites:
        yield "proof", Text("none: {why}", why=done.rewrites[0].shown.why)
    elif not done.seeds:
        yield "proof", Text("none: nothing was rewritten")
    yield from _target_rows(done)
    nothing = Text("nothing (--dry-run)" if done.changes and not done.left else "nothing")
    yield "written", nothing if done.output is None else str(done.output)
    if done.deciding:
        yield "hint", _choice(done)


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


def _target_rows(done: Fixing) -> Iterator[tuple[str, str]]:
    """Yield the fixed model in the target's precision, against the original in float32."""
    target = done.target
    if target is None:
        return
    head = f"{target.precision_mode}, {target.soc}"
    if target.failed:
        first = target.failed[0]
        yield head, Text("not run: {code} {message}", code=first.code.id, message=first.message)
        return
    for name, output in target.outputs.items():
        yield f"{name}, {head}", target_text(output)
    if target.microseconds is not None:
        yield "estimated time", f"{format_time(target.microseconds * 1e-6)}, {target.soc}"
