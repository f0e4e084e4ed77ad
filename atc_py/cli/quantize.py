"""`atc-py quantize`: quantize a float ONNX model, or write a quantized one in another form."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from atc_py.cli.console import print_blocks, print_diagnostics, print_json, print_tables, progress
from atc_py.cli.options import (
    AS_JSON,
    MAX_MEMORY,
    options_of,
)
from atc_py.options.command_options import BOTH, RewriteOptions
from atc_py.options.compile_options import CompileOptions
from atc_py.options.option import keywords_of
from atc_py.options.output_paths import output_file
from atc_py.quantizing.options import QuantizeOptions
from atc_py.text import Text
from atc_py.text.language import spoken

_SAMPLES = ("data", "random", "record")
"""Keywords that say that the model is a float model."""

_CALIBRATING = (
    keywords_of(QuantizeOptions) - keywords_of(RewriteOptions) - {*_SAMPLES, "skip", "time_soc"}
) | {"report"}
"""Parameters that concern the calibration alone; a SoC may be named where no times are estimated."""

_SKIP_HELP = (
    "Layer that stays in floats, or OpType::T for all layers of an operator; with --fix, the rule "
    "to leave out. May be repeated."
)


def _rules_or_layers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fix and the options that choose rules; --skip names layers where samples are given."""
    with_rules = options_of(CompileOptions, "fix")(command)

    @wraps(with_rules)
    def chosen(*args: Any, skip: tuple[str, ...], **kwargs: Any) -> object:
        if any(kwargs[name] for name in _SAMPLES):
            return with_rules(*args, skip=(), layers_to_skip=skip, **kwargs)
        return with_rules(*args, skip=skip, layers_to_skip=(), **kwargs)

    for option in getattr(chosen, "__click_params__", ()):
        if option.name == "skip":
            option.help, option.metavar = _SKIP_HELP, "NAME"
    return chosen


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@options_of(
    QuantizeOptions,
    without=("format", "external_data"),
    after={"seed": options_of(CompileOptions, "input_shape")},
)
@click.option(
    "--report", type=click.Path(), metavar="FILE",
    help="Write the whole report, with the histograms, to a file that ends in .html, .json or .txt.",
)  # fmt: skip
@options_of(QuantizeOptions, "format")
@click.option(
    "-o", "--output", type=click.Path(),
    help="ONNX file to write; by default NAME.FORMAT.onnx in the folder of MODEL.",
)  # fmt: skip
@options_of(QuantizeOptions, "external_data")
@options_of(CompileOptions, "quant_bias", "operator_list", "strict_list")
@_rules_or_layers
@MAX_MEMORY
@AS_JSON
@click.pass_context
def quantize(context: click.Context, /, **given: Any) -> None:
    """Quantize MODEL, a float ONNX file, or write a quantized one in another form.

    With --data, --random or --record, MODEL is a float model. It is run on the samples, and its
    convolutions and matrix products are written on int8 with the scales that follow.

    Without these options, MODEL must already be quantized: with QuantizeLinear or QLinear...
    operators from another tool, or with those of the Ascend form. Only its form changes.

    The written model is checked against an operator list, which the result names; findings do not
    fail the command.
    """
    as_json = given.pop("as_json")
    if any(given[name] for name in _SAMPLES):
        _quantize_float(context, given, as_json=as_json)
        return
    _refuse(context, _CALIBRATING, "{option} has no effect without --data, --random or --record")
    if given["format"] == BOTH:
        raise click.UsageError("--format both has no effect without --data, --random or --record")
    _rewrite({**given}, as_json=as_json)


def _quantize_float(context: click.Context, given: dict[str, Any], *, as_json: bool) -> None:
    import atc_py
    from atc_py.report.quantizing.tables import float_quantization_tables, summary_line

    if given.pop("fix") is not None:
        raise click.UsageError(
            "--fix is for quantized models; write the float model with `atc-py fix` first"
        )
    _refuse(context, {"quant_bias"}, "{option} is for quantized models")
    given.pop("quant_bias")
    report = _report_path(given.pop("report"), given["model"])
    with progress(quiet=as_json, lines=True) as on_stage:
        done = atc_py.quantize(
            given.pop("model"),
            given.pop("output"),
            skip=given.pop("layers_to_skip"),
            **given,
            on_stage=on_stage,
        )
    if report is not None:
        from atc_py.report.quantizing.formats import render_quantization
        from atc_py.system.atomic_files import write_files

        write_files({report: render_quantization(done, report)})
    if as_json:
        print_json(done.as_json())
        return
    print_blocks([spoken(summary_line(done)), ""])
    print_tables(float_quantization_tables(done), narrow=True)
    print_diagnostics(done.warnings, as_json=False)


def _report_path(report: str | None, model: Path) -> Path | None:
    from atc_py.report.quantizing.formats import check_ending

    if report is None:
        return None
    path = output_file(report, [model], "--report")
    check_ending(path)
    return path


def _rewrite(given: dict[str, Any], *, as_json: bool) -> None:
    import atc_py
    from atc_py.report.quantizing.tables import quantization_tables
    from atc_py.target import find_soc

    for name in (*_CALIBRATING, *_SAMPLES, "layers_to_skip"):
        del given[name]
    if soc := given.pop("time_soc"):
        find_soc(soc)  # named out of habit: the form is that of every SoC
    with progress(quiet=as_json) as on_stage:
        done = atc_py.quantize_model(
            given.pop("model"),
            given.pop("output"),
            **given,
            on_stage=on_stage,
        )
    if as_json:
        print_json(done.as_json())
        return
    print_tables(quantization_tables(done))


def _refuse(context: click.Context, names: set[str] | frozenset[str], why: str) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in names and is_given:
            raise click.UsageError(Text(why, option=parameter.opts[0]))
