"""`convert`: options given as keywords, normalized, then compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.options.choices import (
    chosen_mode,
    input_shapes,
    precision_options,
)
from atc_py.options.compile_options import CompileOptions
from atc_py.options.output_paths import default_output, output_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from atc_py.options.choices import ConvertChoice
    from atc_py.results.conversion import Conversion

__all__ = ["convert"]


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
    """Compile an ONNX model to an offline model.

    Args:
        model: path of the .onnx file.
        output: path of the offline model; `.om` is appended where it is missing. By default the
            model's name with the suffix `.om` in the current folder.
        soc: name of the SoC; `sim` is the generic device.
        input_shape: dims for inputs, by name, or the text form `"x:1,3,224,224;y:..."`.
        kernels: folder for a copy of the kernel stubs.
        templates: folder of kernel templates that replace or extend atc-py's own.
        op_specs: folder of specifications that override the built-in ones.
        on_stage: called with the name of each stage as it begins.
        **choice: passes, precision mode and ATC's finer controls, see `ConvertChoice`.

    Returns:
        The record of the conversion: files, stages, operators before and after, sizes.

    Raises:
        AtcError: with every finding of the stage that could not be passed.
    """
    from atc_py.pipeline.compile import compile_model

    switches, dump_ir = choice.get("fusion_switch_file"), choice.get("dump_ir")
    options = CompileOptions(
        soc=soc,
        precision_mode=chosen_mode(choice),
        input_shapes=input_shapes(input_shape),
        disabled_passes=frozenset(choice.get("disable_pass", ())),
        fusion_switch_file=None if switches is None else Path(switches),
        dump_ir=None if dump_ir is None else output_folder("dump_ir", dump_ir),
        kernels=None if kernels is None else output_folder("kernels", kernels),
        templates=None if templates is None else Path(templates),
        verify=choice.get("verify", False),
        reuse_memory=not choice.get("disable_reuse_memory", False),
        op_specs=None if op_specs is None else Path(op_specs),
        precision=precision_options(choice),
    )
    return compile_model(Path(model), default_output(Path(model), output), options, on_stage)
