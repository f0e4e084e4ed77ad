"""`atc-py info`: show the content of an offline model, or of an ONNX file."""

from pathlib import Path

import click

from atc_py.cli.console import print_json, print_tables
from atc_py.cli.gear_options import named_gear
from atc_py.cli.options import AS_JSON
from atc_py.options.named_gear import NamedGear
from atc_py.system.json_text import plain_values
from atc_py.text import Text


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--precision",
    is_flag=True,
    help="Show the dtypes of every node with the rule that chose them, and every Cast.",
)
@click.option(
    "--layout", is_flag=True, help="Show how values are stored, and the reason for every TransData."
)
@click.option("--ops", is_flag=True, help="For a model of Huawei's atc, list every launch.")
@named_gear
@AS_JSON
def info(
    *,
    model: Path,
    precision: bool,
    layout: bool,
    ops: bool,
    gear: NamedGear | None,
    as_json: bool,
) -> None:
    """Show what MODEL, an offline model or an ONNX file, contains.

    For an offline model, digests are verified; gears are listed and the chosen one is shown, by
    default the largest. For an ONNX file, inputs, outputs, opsets, operators,
    parameters, size and the files that hold its weights are shown; nothing is compiled. For an
    offline model of Huawei's own atc, everything in the file is shown: versions, SoC, command line,
    inputs, outputs, AIPP, memory, tasks, launches and what was fused. The JSON that mode 1 of atc
    writes is read too.
    """
    from atc_py.package.foreign import is_huawei, is_model_json, is_onnx_file

    if precision and layout:
        raise click.UsageError("--precision and --layout exclude each other: give one of them")
    if is_huawei(model) or is_model_json(model):
        if precision or layout or gear is not None:
            raise click.UsageError(
                Text(
                    "--precision, --layout and gears apply to offline models of atc-py, but "
                    "{model} is one of Huawei's atc: --ops lists its launches with dtypes and "
                    "formats",
                    model=model,
                )
            )
        _show_huawei(model, ops=ops, as_json=as_json)
        return
    is_onnx = is_onnx_file(model)
    if ops:
        _refuse_ops(model, is_onnx=is_onnx)
    if is_onnx:
        if precision or layout or gear is not None:
            raise click.UsageError(
                Text(
                    "--precision, --layout and gears apply to offline models, but {model} is "
                    "an ONNX model: convert it first",
                    model=model,
                )
            )
        _show_onnx(model, as_json=as_json)
        return
    _show_offline(model, gear, precision=precision, layout=layout, as_json=as_json)


def _refuse_ops(model: Path, *, is_onnx: bool) -> None:
    """Refuse --ops for a model of another kind; what is no model at all is refused as that."""
    from atc_py.package.reader import open_model

    if not is_onnx:
        open_model(model).close()
    raise click.UsageError(
        Text("--ops applies to offline models of Huawei's atc, which {model} is not", model=model)
    )


def _show_huawei(model: Path, *, ops: bool, as_json: bool) -> None:
    from atc_py.package.ge.model import open_huawei
    from atc_py.pipeline.huawei_facts import huawei_facts
    from atc_py.report.model.huawei_model import huawei_tables

    with open_huawei(model) as file:
        facts = huawei_facts(file, with_ops=ops)
    if as_json:
        print_json(plain_values(facts))
        return
    print_tables(huawei_tables(facts))


def _show_onnx(model: Path, *, as_json: bool) -> None:
    from atc_py.pipeline.onnx_facts import onnx_facts
    from atc_py.report.model.onnx_file import onnx_tables

    facts = onnx_facts(model)
    if as_json:
        print_json(plain_values(facts))
        return
    print_tables(onnx_tables(facts))


def _show_offline(
    model: Path, gear: NamedGear | None, *, precision: bool, layout: bool, as_json: bool
) -> None:
    from atc_py.device.opening import open_verified
    from atc_py.report.model.offline_model import model_json, model_tables
    from atc_py.report.model.records import (
        LayoutRecord,
        PrecisionRecord,
        layout_tables,
        precision_tables,
        read_record,
    )

    with open_verified(model) as opened:
        package = opened if gear is None else opened.at_gear(gear.position_in(opened.gears))
        if precision:
            found = read_record(package.report, "precision", PrecisionRecord, str(model))
            if as_json:
                print_json(found)
            else:
                print_tables(precision_tables(found))
            return
        if layout:
            record = read_record(package.report, "layout", LayoutRecord, str(model))
            if as_json:
                print_json(record)
            else:
                print_tables(layout_tables(record))
            return
        size = model.stat().st_size
        if as_json:
            print_json(model_json(package, size))
            return
        print_tables(model_tables(package, size))
