"""`atc-py quantize`: write a quantized ONNX model in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from atc_py.cli.console import print_json, print_tables, progress
from atc_py.cli.options import AS_JSON, LIST, MAX_MEMORY, QUANT_BIAS, fix_rules

__all__ = ["quantize"]


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["ascend", "qdq"]), default="ascend", show_default=True,
    help="ascend: AscendQuant, layers on int8, AscendDequant, as Ascend's toolkit accepts them; "
    "qdq: QuantizeLinear and DequantizeLinear, as ONNX runtimes use them.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(),
    help="ONNX file to write; by default NAME.FORMAT.onnx in the folder of MODEL.",
)  # fmt: skip
@click.option("--external-data", is_flag=True, help="Write weights to a separate file.")
@QUANT_BIAS
@LIST
@fix_rules
@MAX_MEMORY
@AS_JSON
def quantize(
    *,
    model: Path,
    form: str,
    output: str | None,
    external_data: bool,
    as_json: bool,
    **choice: Any,
) -> None:
    """Write MODEL, a quantized ONNX file, in another form.

    This changes the form and quantizes nothing: MODEL has QuantizeLinear or QLinear... operators
    from another tool, or those of the Ascend form. The result names the operator list whose rules
    what is written was compared with; no rule of it fails the command.
    """
    import atc_py
    from atc_py.report.model.quantized_files import quantization_tables

    with progress(quiet=as_json) as on_stage:
        done = atc_py.quantize_model(
            model,
            output,
            format=form,
            external_data=external_data,
            **choice,
            on_stage=on_stage,
        )
    if as_json:
        print_json(done.as_json())
        return
    print_tables(quantization_tables(done))
