"""Which C++ is built and run on this machine: atc-py's own, and code that the user trusts."""

from pathlib import Path

from atc_py.diag import NOT_TRUSTED, Place
from atc_py.package.foreign import is_offline
from atc_py.text import Text


def check_trust(path: Path, *, trusted: bool) -> None:
    """Refuse to build the kernels that an offline model carries unless its user trusts them.

    Its digests say that the file is as it was written, not who wrote it; kernels of an ONNX model
    come from templates of this machine.

    Raises:
        AtcError: NOT_TRUSTED.
    """
    if not trusted and is_offline(path):
        raise NOT_TRUSTED.error(
            Text(
                "{path} carries C++ that --verify would build and run here with your rights",
                path=path,
            ),
            place=Place(file=str(path)),
            help=Text(
                "give --trust too where you know who wrote the file, or verify the ONNX model"
            ),
        )
