"""`export`: a compiled graph as an ONNX model that computes what the device computes."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atc_py.device.ort.functions import OPSET
from atc_py.device.ort.metadata import annotate
from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import write_model
from atc_py.options.output_paths import rewritten_output
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel
from atc_py.package.stored_types import TRANS_DATA
from atc_py.pipeline.opened import opened_model
from atc_py.results.conversion import Export
from atc_py.system.input_files import guarded_run

_FORM = "emulated"
"""What is appended to the model's name by default."""


@guarded_run()
def export_model(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    flat: bool = False,
    external_data: bool = False,
    on_stage: Callable[[str], None] | None = None,
    **options: Any,
) -> Export:
    """Write the compiled graph of a model as an ONNX model that computes what the device computes.

    Args:
        model: an ONNX model, which is compiled, or an offline model.
        output: path of the .onnx file; by default `NAME.emulated.onnx` beside the model.
        flat: write each target operator as nodes of the graph; else each is a function of the
            model, in the domain `ascend`, that the graph calls.
        external_data: put constants into a separate file, as is always done for 1.8 GB or more.
        on_stage: called with the name of each stage as it begins.
        **options: as `atc_py.convert` takes them; without meaning for an offline model.

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
    target = rewritten_output(path, output, _FORM, (_FORM,))
    with opened_model(path, on_stage=on_stage, **options) as package:
        if on_stage is not None:
            on_stage("export")
        return _written(package, path, target, flat=flat, external_data=external_data)


def _written(
    package: OfflineModel, path: Path, target: Path, *, flat: bool, external_data: bool
) -> Export:
    """Write the emulation of a compiled model to `target`; `path` is the file that it is made of."""
    description, emulated = package.description, emulate(package, flat=flat)
    if flat:
        emulated.drop_early_roundings()
    metadata = annotate(emulated, description)
    size, data = write_model(emulated, description.name, target, metadata, external=external_data)
    return Export(
        path,
        target,
        data,
        description.soc,
        description.options,
        OPSET,
        _operators(description),
        len(emulated.functions),
        len(emulated.nodes),
        size,
    )


def _operators(description: OmModel) -> dict[str, int]:
    found = Counter(node.op for node in description.nodes if node.op != TRANS_DATA)
    return dict(sorted(found.items()))
