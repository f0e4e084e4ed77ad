"""The kernels of a model, as its offline model lists them."""

from collections.abc import Mapping
from pathlib import Path

from atc_py.compare.kernels.index import KernelEntry, decode_index
from atc_py.diag import NOT_TRUSTED, OM_CONTENT, Place
from atc_py.kernels.kernels import INDEX
from atc_py.package.archive import KERNELS
from atc_py.package.foreign import is_offline
from atc_py.package.reader import OfflineModel
from atc_py.system.structs import Result
from atc_py.text import Text


class KernelList(Result, frozen=True):
    """The list of a model's kernels as `kernels.json` has it.

    Attributes:
        soc: what they are planned for.
        buffers: bytes of a core's ub, l1, l0a, l0b and l0c.
        kernels: an object for each kernel.
    """

    soc: str
    buffers: Mapping[str, int]
    kernels: tuple[KernelEntry, ...]


def kernel_texts(model: OfflineModel) -> dict[str, str]:
    """Text of each kernel file by its path below `kernels/`."""
    return {
        member.removeprefix(KERNELS): model.text(member)
        for member in model.members
        if member.startswith(KERNELS)
    }


def index_place(model: OfflineModel) -> Place:
    return Place(file=str(model.path), field=KERNELS + INDEX)


def read_kernels(model: OfflineModel) -> KernelList:
    """The list of the model's kernels; empty where no node launches one."""
    member = KERNELS + INDEX
    place = index_place(model)
    if member not in model.members:
        if any(name.startswith(KERNELS) for name in model.members):
            raise OM_CONTENT.error(
                Text("{path} has kernels but no list of them", path=model.path),
                place=place,
                help=Text("convert the model again with this version of atc-py"),
            )
        return KernelList(model.description.soc, {}, ())
    index = decode_index(model.text(member), place)
    return KernelList(index["soc"], index["buffers"], tuple(index["kernels"]))


def check_trust(path: Path, *, trusted: bool) -> None:
    """Refuse to build the kernels that an offline model carries unless its user trusts them.

    Its digests say that the file is as it was written, not who wrote it; kernels of an ONNX model
    come from templates of this machine.
    """
    if not trusted and is_offline(path):
        raise NOT_TRUSTED.error(
            Text(
                "{path} carries C++ that --verify would build and run on this machine with your "
                "permissions",
                path=path,
            ),
            place=Place(file=str(path)),
            help=Text("also give --trust if you know who wrote the file, or verify the ONNX model"),
        )
