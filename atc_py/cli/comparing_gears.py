"""`atc-py compare` with lists of gears: one report with the comparison of each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from atc_py.cli.console import print_blocks, print_diagnostics, print_report, progress, say
from atc_py.compare.gears import GearComparisons, compare_gears
from atc_py.compare.targets import missed_targets
from atc_py.diag import Diagnostic, ExitCode
from atc_py.options.gears import Gears
from atc_py.system.atomic_files import write_files
from atc_py.text import Text

_FORMATS = ("text", "json", "html")
_SEARCHING = ("suggest_trials", "suggest_samples", "jobs")


def compare_each_gear(
    model: Path,
    gears: Gears,
    report: tuple[str, Path | None],
    least: Mapping[str, float],
    keep: Path | None,
    settings: Mapping[str, Any],
) -> int:
    """Compare a model for each gear; print or write one report, and return the exit status.

    `report` is its form and file, `settings` are those of `compare_model`. A suggestion, `keep`, is
    refused.
    """
    form, path = report
    if form not in _FORMATS or keep is not None:
        raise click.UsageError(
            "gears are compared only as --format text, json or html and without --suggest; for "
            "anything else give one gear's dims with --input-shape"
        )
    chosen = {name: each for name, each in settings.items() if name not in _SEARCHING}
    pages = {"histograms": True, "keeps_compiled": True} if form == "html" else {}
    with progress(quiet=form == "json") as on_stage:
        done = compare_gears(model, gears, on_stage, targets=least, **pages, **chosen)
    findings = [
        each.not_compared if each.done is None else tuple(missed_targets(each.done, least))
        for each in done.gears
    ]
    _report(_rendered(form, model, done, findings), form, path, done)
    every = [found for own in (*findings, done.left_out) for found in own]
    if form != "json":
        print_diagnostics(every, as_json=False)
    return max((found.code.exit for found in every), default=ExitCode.DONE)


def _report(text: str, form: str, path: Path | None, done: GearComparisons) -> None:
    from atc_py.report.layers.formats import gear_title

    if path is not None:
        write_files({path: text})
    if path is None or form == "json":
        print_report(text, form)
    elif form == "html":
        print_blocks(map(gear_title, done.gears))
        say(Text("report: {path}", path=path))


def _rendered(
    form: str, model: Path, done: GearComparisons, findings: list[tuple[Diagnostic, ...]]
) -> str:
    from atc_py.report.layers.formats import gears_document, gears_html, gears_text

    if form == "text":
        return gears_text(done.gears)
    if form == "json":
        return gears_document(done.gears, findings, done.left_out)
    return gears_html(model, done.gears, findings, done.left_out)
