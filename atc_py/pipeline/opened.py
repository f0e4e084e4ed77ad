"""Offline models opened, whoever wrote them; ONNX models are compiled first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atc_py.diag import NO_SUCH_GEAR
from atc_py.package.foreign import is_offline
from atc_py.package.reader import OfflineModel, open_model
from atc_py.pipeline.huawei import open_offline
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.options.named_gear import NamedGear


@contextmanager
def opened_model(
    path: Path,
    gear: NamedGear | None = None,
    like: Path | None = None,
    submodel: str | None = None,
    **options: Any,
) -> Iterator[OfflineModel]:
    """Open the offline model `path`; an ONNX model is compiled to a temporary one.

    A model with gears is opened at `gear`, the largest if None. `like` and `submodel` are those of
    `open_offline`; `options`, as `atc_py.convert` takes them, have no meaning for an offline model.

    Raises:
        AtcError: the file cannot be read or compiled; NO_SUCH_GEAR for a gear that it does not have.
    """
    from atc_py.pipeline.convert import convert

    if is_offline(path):
        with open_offline(path, like, submodel) as model:
            yield model if gear is None else model.at_gear(gear.position_in(model.gears))
        return
    if gear is not None:
        raise NO_SUCH_GEAR.error(
            Text(
                "{option} names a gear of an offline model, but {path} is an ONNX model",
                option=gear.option,
                path=path,
            ),
            help=Text("give the gear's dims with --input-shape"),
        )
    with work_folder() as folder:
        compiled = folder / "model.om"
        convert(path, compiled, **options)
        with open_model(compiled) as model:
            yield model
