"""`convert`: options given as keywords, normalized, then compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from atc_py.options.compile_options import CompileOptions
from atc_py.options.keywords import ConvertKeywords
from atc_py.options.option import parse_options, reject_unknown
from atc_py.options.output_paths import default_output
from atc_py.system.input_files import guarded_run

if TYPE_CHECKING:
    from atc_py.onnx_graph.reading.onnx_file import OnnxFile
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
    **keywords: Unpack[ConvertKeywords],
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
        **keywords: passes, precision mode and ATC's finer controls, see `ConvertKeywords`.

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
        atc_py.check.findings_builder.RulesBrokenError: ATC3001: Mish is not on the operator list
    """
    reject_unknown("convert", keywords, ConvertKeywords)
    options = parse_options(
        "convert", CompileOptions, keywords, soc=soc, input_shape=input_shape, kernels=kernels,
        templates=templates, op_specs=op_specs,
    )  # fmt: skip
    return compile_file(Path(model), default_output(Path(model), output), options, on_stage)


@guarded_run()
def compile_file(
    model: Path,
    target: Path,
    options: CompileOptions,
    on_stage: Callable[[str], None] | None = None,
    read: Callable[[Path], OnnxFile] | None = None,
    *,
    to_run: bool = False,
) -> Conversion:
    """Compile the model, or each of its gears; one shape that is only `to_run` without kernels.

    `read` reads the model, unless it has gears.
    """
    gears = options.gears or options.auto_gears
    if gears is not None:
        from atc_py.pipeline.gears import compile_gears

        return compile_gears(model, target, options, gears, on_stage)
    from atc_py.pipeline.compile import compile_model

    return compile_model(model, target, options, on_stage, read, to_run=to_run)
