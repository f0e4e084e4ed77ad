"""`atc-py plan`: the cheapest dtypes of a model's nodes that reach a target."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from atc_py.cli import options
from atc_py.cli.comparing_options import SEED, samples
from atc_py.cli.console import deliver, print_blocks, print_diagnostics, progress, say
from atc_py.diag import BELOW_TARGET, Diagnostic
from atc_py.options.command_options import PlanOptions
from atc_py.options.compile_options import CompileOptions
from atc_py.options.output_paths import output_file
from atc_py.results.plan import DtypePlan
from atc_py.text import Text

# Written out because the defining modules take long to import; a test compares them.
_FORMATS = ("text", "json", "html")
_TRIALS = 120

_KEEP, _CUSTOM = "keep_dtype.txt", "customize_dtypes.txt"
"""Names of the option files."""


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--target", "targets", multiple=True, required=True, metavar="FIGURE=NUMBER",
    help="Target for every output over all samples: cosine=0.999 or snr=40 (dB).",
)  # fmt: skip
@samples
@SEED
@options.options_of(PlanOptions, "judge")
@click.option(
    "--trials", type=click.IntRange(min=4), default=_TRIALS, show_default=True,
    help="Largest number of compilations.",
)  # fmt: skip
@options.options_of(PlanOptions, "jobs", "bfloat16")
@click.option(
    "--int8", type=click.Path(), metavar="FILE",
    help="Allow layers on int8, calibrated with the samples, and write the mixed ONNX model to "
    "FILE if the plan has such layers.",
)  # fmt: skip
@options.options_of(
    CompileOptions, "soc", "precision_mode_v2", "precision", "semantics", "cann", "fix",
    "input_shape", "op_specs",
)  # fmt: skip
@options.MAX_MEMORY
@options.report_option(_FORMATS)
@click.option("-o", "--output", type=click.Path(), help="File for the report.")
@click.option(
    "--write", type=click.Path(path_type=Path), metavar="FOLDER",
    help=f"Folder for the option files of `convert`: {_KEEP} and {_CUSTOM}, as far as there is anything "
    "to write. It is made if it is not there.",
)  # fmt: skip
@options.REPORT_AS_JSON
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show the whole curve and every node, not only those with the largest error.",
)
@click.pass_context
def plan(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    targets: tuple[str, ...],
    int8: str | None,
    form: str | None,
    output: str | None,
    write: Path | None,
    as_json: bool,
    verbose: bool,
    **settings: Any,
) -> None:
    """Find the fastest dtypes for MODEL's nodes that still reach an accuracy target.

    Each node computes in float16, float32, bfloat16 where the SoC has it, or int8 with --int8. The
    error of a node is measured by changing that node alone; times come from the cost model and
    include casts between neighbors. The plan is compiled, estimated and run on the samples, and
    adjusted until it reaches the target.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 one of the two did not run, or no assignment reaches the target.
    """
    import atc_py
    from atc_py.compare.targets import read_targets

    form = options.report_format(form, as_json=as_json)
    least = read_targets(targets, "--target")
    path = None if output is None else output_file(output, [model], "--output")
    mixed = None if int8 is None else output_file(int8, [model], "--int8")
    with progress(quiet=form == "json", lines=True) as on_stage:
        done = atc_py.plan_model(
            model, target=least, int8=mixed,
            on_stage=on_stage, **settings,
        )  # fmt: skip
    paths = path, write, mixed
    context.exit(_finish(done, form, paths, as_json=as_json, verbose=verbose))


def _finish(
    done: DtypePlan,
    form: str,
    paths: tuple[Path | None, Path | None, Path | None],
    *,
    as_json: bool,
    verbose: bool,
) -> int:
    from atc_py.report.planning.tables import head_lines, plan_blocks, render_plan

    path, write, mixed = paths
    files = [] if write is None else _write_files(done, write)
    files += [("MODEL", mixed)] if mixed is not None and done.chosen.int8 else []
    findings = _missed(done)
    deliver(
        form, path, partial(render_plan, form, done, findings), as_json=as_json,
        whole=lambda: print_blocks(plan_blocks(done, whole=verbose)),
        brief=lambda: say(*head_lines(done)),
    )  # fmt: skip
    if form == "text" or (path is not None and not as_json):
        _close(done, files, findings)
    return findings[0].code.exit if findings else 0


def _write_files(done: DtypePlan, folder: Path) -> list[tuple[str, Path]]:
    from atc_py.system.atomic_files import make_folder, write_files

    found = []
    for option, name, text in (
        ("--keep-dtype", _KEEP, done.keep_text),
        ("--customize-dtypes", _CUSTOM, done.custom_text),
    ):
        if text:
            make_folder(folder)
            write_files({folder / name: text})
            found.append((option, folder / name))
    return found


def _missed(done: DtypePlan) -> list[Diagnostic]:
    """BELOW_TARGET for a target that no assignment reaches."""
    if done.reached:
        return []
    return [
        BELOW_TARGET.diagnostic(
            Text("no assignment of dtypes was found that reaches the target"),
            help=Text(
                "set a target that the model can reach, or allow more compilations with --trials"
            ),
        )
    ]


def _close(done: DtypePlan, files: list[tuple[str, Path]], findings: list[Diagnostic]) -> None:
    if files:
        mixed = next((file for option, file in files if option == "MODEL"), None)
        given = " ".join(f"{option} {file}" for option, file in files if option != "MODEL")
        text = Text("written; convert with {options}", options=given)
        if mixed is not None:
            text = Text(
                "written; convert {model}, the mixed model, with {options}",
                model=mixed,
                options=given or Text("no further option"),
            )
        say(text)
    print_diagnostics((*done.warnings, *findings), as_json=False)
