"""`atc-py sweep`: many models for many SoCs, precision modes and operator lists, as one table."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from atc_py.adapters.sweep.kept import KeptRows
from atc_py.adapters.sweep.row import SweepOptions
from atc_py.adapters.sweep.run import SweepRun, run_sweep
from atc_py.cli import options
from atc_py.cli.comparing_options import JOBS, number_of_samples, one_kind, random_number
from atc_py.cli.console import (
    print_diagnostics,
    print_json,
    print_line,
    print_tables,
    progress,
    say,
)
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import BAD_OPTION, ROW_FAILED, ExitCode, Place
from atc_py.options.compile_options import (
    DEFAULT_LIST,
    LIST_VARIABLE,
    CompileOptions,
    PrecisionMode,
)
from atc_py.options.input_shapes import joined_shapes, parse_shapes
from atc_py.options.output_paths import output_folder
from atc_py.results.sweep import SweepRow, SweepVerdict
from atc_py.system.atomic_files import write_files
from atc_py.system.cache_folders import exists
from atc_py.system.memory_limit import parse_size
from atc_py.text import COLON, COMMA, Text, plural
from atc_py.text.language import language

_MOST_FAILED = 20
"""Failed rows that are named on standard error; the table has all of them."""


_PLURALS = {"compiles": "compile", "does not compile": "do not compile"}
"""Verdicts as they are said of several rows."""


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--soc", "--soc_version", "socs", cls=AliasedOption, old=["--soc-version"], multiple=True, default=["sim"], show_default=True, metavar="NAME,...",
    callback=options.comma_separated, help="SoCs to compile for; may be repeated.",
)  # fmt: skip
@click.option(
    "--precision-mode", "--precision_mode", "modes", cls=AliasedOption, multiple=True,
    default=[PrecisionMode.FORCE_FP16.value], show_default=True, metavar="MODE,...",
    callback=options.comma_separated, help="Precision modes; may be repeated.",
)  # fmt: skip
@click.option(
    "--list", "lists", cls=AliasedOption, multiple=True, metavar="NAME,...", envvar=LIST_VARIABLE,
    default=[DEFAULT_LIST], show_default=True, show_envvar=True, callback=options.comma_separated,
    help="Operator lists that the models must keep to; may be repeated.",
)  # fmt: skip
@options.options_of(CompileOptions, "strict_list", "fix", "semantics", "cann")
@click.option(
    "--input-shape", "--input_shape", cls=AliasedOption, multiple=True, metavar='"x:1,3,224,224;y:..."',
    help="Dims of inputs that models leave open; each model takes those of its own inputs. May be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--propose", is_flag=True,
    help="Use the dims that `check` proposes where a model leaves dims open and neither "
    "--input-shape nor the samples give them; the table names them.",
)  # fmt: skip
@options.options_of(CompileOptions, "op_specs")
@click.option(
    "--data", metavar="PATH",
    help="Compare each model with its original on samples: a folder, .npz or .npy file in the "
    "folder PATH with the model's name, or else all of PATH.",
)  # fmt: skip
@click.option(
    "--random", "random_samples", metavar="N", callback=random_number,
    help="Compare each model with its original on N random samples.",
)  # fmt: skip
@click.option("--compare", hidden=True)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of random samples.",
)  # fmt: skip
@click.option(
    "--device", default="sim", show_default=True,
    help="Device that runs compiled models: `sim`, or `ort` (onnxruntime), which is faster.",
)  # fmt: skip
@click.option("--profile", is_flag=True, help="Estimate the time of each model on its SoC.")
@click.option(
    "-o", "--output", type=click.Path(), required=True, metavar="DIR",
    help="Folder for the table and the reports. Finished rows in it are kept.",
)  # fmt: skip
@click.option("--no-reports", is_flag=True, help="Leave out the page about each row.")
@click.option("--parquet", is_flag=True, help="Write the table as a Parquet file, too.")
@click.option(
    "--jobs", type=JOBS, metavar="N",
    help="Number of processes on this machine; by default one per core, if memory allows.",
)  # fmt: skip
@click.option(
    "--dask", metavar="ADDRESS",
    help="Address of the scheduler of a Dask cluster whose workers compute the rows instead.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Seconds that a row may take; by default no limit.",
)  # fmt: skip
@click.option(
    "--max-memory", metavar="SIZE",
    help="Memory that a row may take, such as 4G; by default an equal share of this "
    "process's limit.",
)  # fmt: skip
@click.option("--retry", is_flag=True, help="Run failed rows again, even with the same limits.")
@options.LANG
@options.AS_JSON
@click.pass_context
def sweep(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    models: tuple[str, ...],
    socs: tuple[str, ...],
    modes: tuple[str, ...],
    lists: tuple[str, ...],
    output: str,
    jobs: int | None,
    dask: str | None,
    parquet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Check, compile and compare MODELS for each SoC, precision mode and operator list.

    Each combination is a row: verdict, reasons by code, size, memory, errors at the outputs and
    estimated time. The rows are written as JSON lines, CSV and one HTML table with a link to a
    report on each row. A folder stands for the .onnx files in it and below. A row that crashes,
    hangs or takes too much memory is marked as such. A sweep that was stopped continues when it is
    called again.

    Exit status: 0 every model compiles, 1 a model does not compile or cannot be read, 2 the command was
    called wrongly, 3 a file cannot be written, 4 a row did not end (it crashed, or exceeded a
    limit), or the Dask cluster failed.
    """
    from atc_py.report.sweep.rows import require_pyarrow

    if jobs is not None and dask is not None:
        raise click.UsageError(
            "--jobs and --dask both say where rows are computed: give one of them"
        )
    folder = output_folder("--output", output) or Path(output)
    if parquet:
        require_pyarrow()
    axes = _least("--soc", socs), _least("--precision-mode", modes), _least("--list", lists)
    done = _made(models, axes, _options(given), (jobs, dask, folder), quiet=as_json)
    _write(done, folder, parquet=parquet)
    context.exit(_close(done, folder, as_json=as_json))


def _made(
    models: tuple[str, ...],
    axes: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    chosen: SweepOptions,
    place: tuple[int | None, str | None, Path],
    *,
    quiet: bool,
) -> SweepRun:
    from atc_py.adapters.sweep.grid import combinations_of, named_models
    from atc_py.system.jobs import open_executor

    named = named_models(models)
    grid = combinations_of(named, *axes, specs=chosen.specs)
    jobs, dask, folder = place
    with (
        open_executor(jobs, dask, chosen.memory, apart=True) as executor,
        progress(quiet=quiet, lines=True) as on_stage,
    ):
        return run_sweep(grid, named, chosen, executor, KeptRows(folder), on_stage)


def _least(option: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values of an axis, which must have one."""
    if not values:
        raise BAD_OPTION.error(
            Text("{option} is given without a value", option=option),
            help=Text("leave it out for the default"),
        )
    return values


def _options(given: dict[str, Any]) -> SweepOptions:
    samples = _samples(given)
    specs: Path | None = given["op_specs"]
    compiling: dict[str, Any] = {
        "cann": given["cann"],
        "semantics": given["semantics"],
    }
    if given["strict_list"]:
        compiling["strict_list"] = True
    if given["fix"] is not None:
        compiling["fix"] = given["fix"]
    if specs is not None:
        compiling["op_specs"] = str(specs.absolute())
    if given["input_shape"]:
        compiling["input_shape"] = parse_shapes(joined_shapes(given["input_shape"]))
    running = {"seed": given["seed"], "device": given["device"]}
    return SweepOptions(
        compiling=compiling,
        specs=None if specs is None else specs.absolute(),
        running=None if samples is None else running,
        samples=1 if samples is None else samples,
        proposes=given["propose"],
        profiles=given["profile"],
        language=None if given["no_reports"] else language(),
        seconds=given["seconds"],
        memory=None if given["max_memory"] is None else parse_size(given["max_memory"]),
        retries=given["retry"],
    )


def _samples(given: dict[str, Any]) -> int | Path | None:
    """A number of random samples, or where they are; None where nothing is compared."""
    chosen = one_kind(data=given["data"], random=given["random_samples"], compare=given["compare"])
    if chosen is None or isinstance(chosen, int):
        return chosen
    text = str(chosen)
    if given["compare"] and text.isascii() and text.isdigit():
        return number_of_samples("--compare", text)
    if not exists(text):
        raise BAD_OPTION.error(
            Text("--data {text} is neither a file nor a folder", text=repr(text)),
            help=Text("give a folder with samples, or a number of random ones with --random"),
        )
    from atc_py.pipeline.running.sample_files import entries

    entries(Path(text))
    return Path(text)


def _write(done: SweepRun, folder: Path, *, parquet: bool) -> None:
    from atc_py.report.sweep.html_page import sweep_html
    from atc_py.report.sweep.rows import measured_csv, sweep_csv, sweep_lines, sweep_parquet

    rows = [row for row, _ in done.rows]
    files = {
        "table.jsonl": sweep_lines(rows),
        "table.csv": sweep_csv(rows),
        "measured.csv": measured_csv(done.rows),
        "index.html": sweep_html(rows, language()),
    }
    if parquet:
        files["table.parquet"] = sweep_parquet(rows)
    write_files({folder / name: data for name, data in files.items()})


def _close(done: SweepRun, folder: Path, *, as_json: bool) -> int:
    from atc_py.report.sweep.reasons import reasons_table, rows_table

    rows = [row for row, _ in done.rows]
    counts = Counter(row.verdict.value for row in rows)
    table = folder / "index.html"
    if as_json:
        facts = {"rows": len(rows), "kept": done.kept, "seconds": round(done.seconds, 3)}
        failed = [found.as_json() for found in _findings(done.failed)]
        facts_of = {**facts, "verdicts": dict(counts), "table": str(table), "diagnostics": failed}
        print_json(facts_of)
    else:
        print_diagnostics(_findings(done.failed)[:_MOST_FAILED], as_json=False)
        verdicts = COMMA.join(
            Text(
                "{n} {verdict}",
                n=count,
                verdict=Text(verdict if count == 1 else _PLURALS.get(verdict, verdict)),
            )
            for verdict, count in counts.most_common()
        )
        head = plural(len(rows), "{n} row", "{n} rows")
        if done.kept:
            kept = done.kept
            head += Text(", {kept} of them from an earlier run", kept=kept)
        verdicts += _not_compared(rows)
        print_line((head + COLON + verdicts).in_language(language()))
        tables = rows_table(rows), reasons_table(rows)
        print_tables(table for table in tables if table is not None)
        print_line(f"{done.seconds:.1f} s")
        say(Text("table: {table}", table=table))
    if done.failed:
        return int(ExitCode.DEVICE)
    whole = counts[SweepVerdict.COMPILES.value] == len(rows)
    return int(ExitCode.DONE if whole else ExitCode.MODEL)


def _not_compared(rows: Sequence[SweepRow]) -> Text:
    count = sum(row.verdict is SweepVerdict.COMPILES and bool(row.reasons) for row in rows)
    if not count:
        return Text("")
    return Text(" ({count} of them not compared)", count=count)


def _findings(failed: Sequence[SweepRow]) -> list[Any]:
    found = []
    for row in failed:
        each = row.combination
        place = f"{each.model} {each.soc} {each.precision_mode} {each.operator_list}"
        message = Text(
            "the row {verdict}: {message}", verdict=Text(row.verdict.value), message=row.message
        )
        found.append(ROW_FAILED.diagnostic(message, place=Place(file=row.path, field=place)))
    return found
