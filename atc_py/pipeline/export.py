"""`export`: a compiled graph as an ONNX model that computes what the device computes."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atc_py.device.ort.body import OPSET
from atc_py.device.ort.metadata import annotate
from atc_py.device.ort.model import Emulated, emulate
from atc_py.device.ort.plain import plain_model
from atc_py.device.ort.writing import write_model
from atc_py.diag import BAD_OPTION
from atc_py.options.option import optional_path
from atc_py.options.output_paths import rewritten_output
from atc_py.package.reader import OfflineModel
from atc_py.package.stored_types import TRANS_DATA
from atc_py.pipeline.opened import opened_model
from atc_py.results.conversion import Export
from atc_py.system.input_files import guarded_run
from atc_py.text import Text

_FORM, _PLAIN = "emulated", "plain"
"""What is appended to the model's name by default."""


@guarded_run()
def export_model(  # noqa: PLR0913  (keywords, each of them an option)
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    flat: bool = False,
    plain: bool = False,
    float32: bool = False,
    external_data: bool = False,
    like: str | os.PathLike[str] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **options: Any,
) -> Export:
    """Write the compiled graph of a model as an ONNX model that computes what the device computes.

    Args:
        model: an ONNX model, which is compiled, or an offline model.
        output: path of the .onnx file; by default `NAME.emulated.onnx` beside the model.
        flat: write each target operator as nodes of the graph; else each is a function of the
            model, in the domain `ascend`, that the graph calls.
        plain: write the network that the graph computes: without storage, Casts and roundings, all
            floats in float16.
        float32: with `plain`, all floats in float32.
        external_data: put constants into a separate file, as is always done for 1.8 GB or more.
        like: the ONNX file that an offline model of Huawei's atc was made of.
        on_stage: called with the name of each stage as it begins.
        **options: as `atc_py.convert` takes them; of an offline model `submodel`, as `load` does.

    Returns:
        The record: files, size, operators.

    Raises:
        AtcError: from reading and compiling; NO_ONNX_FORM for each such node; CANNOT_WRITE.

    Example:
        >>> import atc_py
        >>> done = atc_py.export_model("model.onnx", "emulated.onnx", soc="Ascend310P3")
        >>> done.output.stem
        'emulated'
    """
    path = Path(model)
    _check_form(flat=flat, plain=plain, float32=float32)
    form = _PLAIN if plain else _FORM
    target = rewritten_output(path, output, form, (_FORM, _PLAIN))
    with opened_model(path, like=optional_path(like), on_stage=on_stage, **options) as package:
        if on_stage is not None:
            on_stage("export")
        emulated = plain_model(package, wide=float32) if plain else emulate(package, flat=flat)
        if flat:
            emulated.drop_early_roundings()
        return _written(package, path, target, emulated, external_data=external_data)


def _check_form(*, flat: bool, plain: bool, float32: bool) -> None:
    if plain and flat:
        raise BAD_OPTION.error(
            Text("plain and flat exclude each other"), help=Text("a plain model is always flat")
        )
    if float32 and not plain:
        raise BAD_OPTION.error(
            Text("float32 applies only to a plain model"),
            help=Text("an emulation has the device's dtypes"),
        )


def _written(
    package: OfflineModel, path: Path, target: Path, emulated: Emulated, *, external_data: bool
) -> Export:
    """Write a compiled model to `target`; `path` is the file that it is made of."""
    description = package.description
    metadata = annotate(emulated, description)
    size, data = write_model(emulated, description.name, target, metadata, external=external_data)
    operators = Counter(node.op for node in description.nodes if node.op != TRANS_DATA)
    return Export(
        path,
        target,
        data,
        description.soc,
        description.options,
        OPSET,
        dict(sorted(operators.items())),
        len(emulated.functions),
        len(emulated.nodes),
        size,
        package.findings,
    )
