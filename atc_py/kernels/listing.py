"""The kernels of a model, from its offline model or compiled on the way."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atc_py.diag import Place
from atc_py.diag.codes import OM_CONTENT
from atc_py.emit.kernels import INDEX
from atc_py.kernels.index import decode_index
from atc_py.package.names import KERNELS
from atc_py.work_folder import work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from atc_py.kernels.index import KernelEntry
    from atc_py.package.reader import OfflineModel

__all__ = [
    "KernelList",
    "index_place",
    "is_offline",
    "kernel_texts",
    "opened_model",
    "read_kernels",
]


@dataclass(frozen=True, slots=True)
class KernelList:
    """The list of a model's kernels as `kernels.json` has it.

    Attributes:
        soc: what they are planned for.
        buffers: bytes of a core's ub, l1, l0a, l0b and l0c.
        kernels: an object for each kernel.
    """

    soc: str
    buffers: Mapping[str, int]
    kernels: tuple[KernelEntry, ...]

    def as_json(self) -> dict[str, Any]:
        """The list as JSON prints it."""
        return {"soc": self.soc, "buffers": dict(self.buffers), "kernels": list(self.kernels)}


@contextmanager
def opened_model(path: Path, **options: Any) -> Iterator[OfflineModel]:
    """The offline model `path`; an ONNX model is compiled to one that goes away again.

    Args:
        path: an offline model, or an ONNX model.
        options: as `atc_py.convert` takes them; without meaning for an offline model.

    Raises:
        AtcError: the file cannot be read or compiled.
    """
    from atc_py.api import convert
    from atc_py.package.reader import open_model

    if is_offline(path):
        with open_model(path) as model:
            yield model
        return
    with work_folder() as folder:
        compiled = folder / "model.om"
        convert(path, compiled, **options)
        with open_model(compiled) as model:
            yield model


def is_offline(path: Path) -> bool:
    """Whether the file begins as an archive does; the readers say what else is wrong with it.

    Pipes and devices are left to the readers, too: to open one may take for ever.
    """
    try:
        if not path.is_file():
            return path.suffix == ".om"
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return path.suffix == ".om"


def kernel_texts(model: OfflineModel) -> dict[str, str]:
    """Text of each kernel file by its path below `kernels/`."""
    return {
        member.removeprefix(KERNELS): model.text(member)
        for member in model.members
        if member.startswith(KERNELS)
    }


def index_place(model: OfflineModel) -> Place:
    """Where the list of a model's kernels lies."""
    return Place(file=str(model.path), field=KERNELS + INDEX)


def read_kernels(model: OfflineModel) -> KernelList:
    """The list of the model's kernels; empty where no node launches one.

    Raises:
        AtcError: OM_CONTENT where nodes have kernels but the list of them is not there, or does
            not follow its schema.
    """
    member = KERNELS + INDEX
    place = index_place(model)
    if member not in model.members:
        if any(name.startswith(KERNELS) for name in model.members):
            raise OM_CONTENT.error(
                f"{model.path} has kernels but no list of them",
                place=place,
                help="convert the model again with this version of atc-py",
            )
        return KernelList(model.description.soc, {}, ())
    index = decode_index(model.text(member), place)
    return KernelList(index["soc"], index["buffers"], tuple(index["kernels"]))
