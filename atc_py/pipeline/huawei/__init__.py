"""Offline models opened, whoever wrote them: Huawei's atc's are imported as graphs of the target."""

from pathlib import Path

from atc_py.device.opening import open_verified
from atc_py.diag import BAD_OPTION, Place
from atc_py.package.foreign import is_huawei
from atc_py.package.reader import OfflineModel
from atc_py.text import Text

__all__ = ["open_offline"]


def open_offline(path: Path, like: Path | None = None, submodel: str | None = None) -> OfflineModel:
    """Open an offline model such that the device would load it; Huawei's are imported.

    `like` is the ONNX file that a model of Huawei's was made of, which has what its fused launches
    lost; `submodel` the position or name of the model of a file of Huawei's that has several.

    Raises:
        AtcError: as `open_verified` and `open_huawei` do; HUAWEI_NOT_RUN.
    """
    if is_huawei(path):
        from atc_py.pipeline.huawei.opening import open_imported

        return open_imported(path, like, submodel)
    if submodel is not None:
        text = Text("--submodel applies to files of Huawei's atc, which {path} is not", path=path)
        raise BAD_OPTION.error(text, place=Place(str(path)), help=Text("leave it out"))
    return open_verified(path)
