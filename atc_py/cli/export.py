"""`atc-py export`: write a compiled graph as an ONNX model that computes what the device computes."""

from pathlib import Path
from typing import Any

import click

from atc_py.cli import options
from atc_py.cli.console import print_diagnostics, print_json, print_tables, progress
from atc_py.cli.gear_options import named_gear
from atc_py.options.compile_options import CompileOptions
from atc_py.options.named_gear import NamedGear


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(),
    help="ONNX file to write; by default NAME.emulated.onnx in the folder of MODEL.",
)  # fmt: skip
@click.option(
    "--flat", is_flag=True,
    help="Write every target operator as nodes of the graph, not as a function that it calls.",
)  # fmt: skip
@click.option(
    "--plain", is_flag=True,
    help="Write the network that MODEL computes, without Casts, roundings and storage formats; "
    "all floats are float16. The default file is NAME.plain.onnx.",
)  # fmt: skip
@click.option("--float32", is_flag=True, help="With --plain: all floats are float32.")
@click.option("--external-data", is_flag=True, help="Write constants to a separate file.")
@options.options_of(
    CompileOptions, "soc", "precision_mode", "precision", "semantics", "cann", "fix", "input_shape",
    "aipp", "op_specs",
)  # fmt: skip
@options.LIKE
@options.SUBMODEL
@named_gear
@options.MAX_MEMORY
@options.AS_JSON
@click.pass_context
def export(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    flat: bool,
    plain: bool,
    float32: bool,
    external_data: bool,
    like: Path | None,
    gear: NamedGear | None,
    as_json: bool,
    **compiling: Any,
) -> None:
    """Write MODEL, compiled, as an ONNX model with the arithmetic of the NPU.

    MODEL is an ONNX file, which is compiled first, or an offline model. The result has plain ONNX
    operators, rounds where the device rounds, and runs in any ONNX runtime; viewers show each
    operator of the device by its name, with its body. For an offline model with gears, the chosen
    gear is written, by default the largest. A model of Huawei's own atc is turned back into ONNX.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 an operator has no ONNX form.
    """
    from atc_py.pipeline.export import export_model
    from atc_py.report.conversion_lines import export_tables

    options.refuse_compiling(context, model, "soc")
    with progress(quiet=as_json) as on_stage:
        done = export_model(
            model,
            output,
            flat=flat,
            plain=plain,
            float32=float32,
            external_data=external_data,
            like=like,
            on_stage=on_stage,
            gear=gear,
            **compiling,
        )
    if as_json:
        print_json(done.as_json())
        return
    print_tables(export_tables(done))
    print_diagnostics(done.warnings, as_json=False)
