"""`convert`: options given as keywords, normalized, then compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from atc_py.options.choices import (
    ConvertChoice,
    chosen_gears,
    chosen_mode,
    chosen_rules,
    optional_path,
    precision_options,
    reject_unknown,
    shapes_and_ranges,
)
from atc_py.options.compile_options import CompileOptions
from atc_py.options.input_format import InputFormat
from atc_py.options.out_nodes import parse_out_nodes
from atc_py.options.output_paths import default_output, output_folder
from atc_py.system.input_files import guarded_run
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from atc_py.results.conversion import Conversion


@guarded_run()
def convert(  # noqa: PLR0913  (the options of the tool's main job)
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    kernels: str | os.PathLike[str] | None = None,
    templates: str | os.PathLike[str] | None = None,
    op_specs: str | os.PathLike[str] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **choice: Unpack[ConvertChoice],
) -> Conversion:
    """Compile an ONNX model to an offline model; return the record of the conversion.

    Args:
        model: path of the .onnx file.
        output: path of the offline model; `.om` is appended where it is missing. NAME.om by default.
        soc: name of the SoC; `sim` is the generic device.
        input_shape: dims for inputs, by name, or the text form `"x:1,3,224,224;y:..."`.
        kernels: folder for a copy of the kernel stubs.
        templates: folder of kernel templates that replace or extend atc-py's own.
        op_specs: folder of specifications that override the built-in ones.
        on_stage: called with the name of each stage as it begins.
        **choice: passes, precision mode and ATC's finer controls, see `ConvertChoice`.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: with every finding of the failing stage.

    Example:
        >>> import atc_py
        >>> done = atc_py.convert("model.onnx", "model.om", precision_mode="must_keep_origin_dtype")
        >>> done.facts.source_operators, done.facts.launches
        ({'Conv': 1, 'Relu': 1}, 3)
        >>> atc_py.convert("refused.onnx", "refused.om")
        Traceback (most recent call last):
        atc_py.check.added_findings.RulesBrokenError: ATC3001: Mish is not on the operator list
    """
    reject_unknown("convert", choice, ConvertChoice)
    options = replace(
        compile_options("convert", choice, soc, input_shape),
        kernels=output_folder("kernels", kernels),
        templates=optional_path(templates),
        op_specs=optional_path(op_specs),
    )
    return _compiled(Path(model), default_output(Path(model), output), options, on_stage)


def _compiled(
    model: Path, target: Path, options: CompileOptions, on_stage: Callable[[str], None] | None
) -> Conversion:
    """Compile the model, or each of its gears."""
    if options.gears is not None:
        from atc_py.pipeline.gears import compile_gears

        return compile_gears(model, target, options, options.gears, on_stage)
    from atc_py.pipeline.compile import compile_model

    return compile_model(model, target, options, on_stage)


def compile_options(
    function: str,
    choice: ConvertChoice,
    soc: str,
    input_shape: str | Mapping[str, Sequence[int]],
) -> CompileOptions:
    """The options that keywords of `function` say.

    Raises:
        TypeError: a key of `fix` is unknown.
        AtcError: an option has no meaning.
    """
    rules = choice.get("fix")
    gears = chosen_gears(choice, input_shape)
    shapes, ranges = ({}, {}) if gears is not None else shapes_and_ranges(input_shape)
    return CompileOptions(
        soc=soc,
        precision_mode=chosen_mode(choice),
        input_shapes=shapes,
        ranges=ranges,
        disabled_passes=frozenset(choice.get("disable_pass", ())),
        fusion_switch_file=optional_path(choice.get("fusion_switch_file")),
        dump_ir=output_folder("dump_ir", choice.get("dump_ir")),
        verify=choice.get("verify", False),
        reuse_memory=not choice.get("disable_reuse_memory", False),
        small_channel=choice.get("enable_small_channel", False),
        precision=precision_options(choice),
        fix=None if rules is None else chosen_rules(function, rules),
        out_nodes=parse_out_nodes(choice.get("out_nodes", "")),
        input_format=InputFormat.chosen(choice.get("input_format", InputFormat.NCHW.value)),
        gears=gears,
        replace_shapes=choice.get("replace_shapes", False),
        atc_cmdline=choice.get("atc_cmdline", ""),
        graph_name=choice.get("graph_name", ""),
        aipp=optional_path(choice.get("aipp")),
    )
