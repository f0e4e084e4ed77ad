"""Writing offline models: weights one at a time, texts, the description last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from atc_py.package.archive import ArchiveWriter
from atc_py.package.codec import encode_model, encode_report
from atc_py.package.contents import PackageContents
from atc_py.package.describe import describe
from atc_py.package.names import MODEL, REPORT, kernel_member, weight_member
from atc_py.package.npy import array_chunks, npy_header
from atc_py.system.atomic_files import atomic_write
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from atc_py.ir import Graph, TensorType, Value
    from atc_py.package.schema import OmModel

__all__ = ["PackageContents", "WrittenModel", "write_model"]


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """Record of a written model.

    Attributes:
        path: the file.
        file_bytes: its size.
        weight_bytes: bytes of the constants' elements in it.
        members: number of archive members.
        description: what `model.json` says.
    """

    path: Path
    file_bytes: int
    weight_bytes: int
    members: int
    description: OmModel


def write_model(graph: Graph, path: Path, contents: PackageContents) -> WrittenModel:
    """Write `graph` as an offline model; the same graph and contents give the same bytes.

    Each constant is read once; while one is written, the next is computed on another core, so
    at most two are in memory.

    Raises:
        AtcError: CANNOT_WRITE; the previous file at `path` is then unchanged.
        ValueError: the graph is not typed, or a constant is not what its value's type says.
    """
    constants = {
        value: weight_member(number, value.name) for number, value in enumerate(graph.constants())
    }
    description = describe(graph, contents, constants)
    with atomic_write(path) as file:
        archive = ArchiveWriter(file)
        for value, member, array in _read_ahead(constants):
            _add_weight(archive, member, value.type, array)
            del array  # or it would live until the one after the next is there
        for name, text in sorted(contents.kernels.items()):
            archive.add_bytes(kernel_member(name), text.encode())
        archive.add_bytes(REPORT, encode_report(contents.report))
        description = replace(description, members=dict(archive.members))
        document = encode_model(description)
        size = archive.finish(archive.add_bytes(MODEL, document).sha256)
    weight_bytes = sum(value.type.nbytes for value in constants)
    return WrittenModel(path, size, weight_bytes, len(archive.members), description)


def _read_ahead(
    constants: Mapping[Value, str],
) -> Iterator[tuple[Value, str, npt.NDArray[np.generic]]]:
    """Yield each constant with its member and data, which lives until the next one is requested."""
    items = list(constants.items())
    with ThreadPoolExecutor(1) as reader:
        coming = [reader.submit(_data, value, member) for value, member in items[:1]]
        for position, (value, member) in enumerate(items):
            array = coming.pop().result()
            coming += [reader.submit(_data, *item) for item in items[position + 1 : position + 2]]
            yield value, member, array
            del array
            if value.const is not None:
                value.const.release()


def _data(value: Value, member: str) -> npt.NDArray[np.generic]:
    """Return the data of a constant, checked against its type."""
    if value.const is None:
        raise ValueError(f"{member} has no data")
    array, type_ = value.const.numpy(), value.type
    if DType.from_numpy(array.dtype) is not type_.dtype or array.shape != type_.shape:
        raise ValueError(
            f"the data of {member} is {array.dtype.name}{list(array.shape)}, "
            f"its type {type_.dtype.value}{list(type_.shape)}"
        )
    return array


def _add_weight(
    archive: ArchiveWriter, member: str, type_: TensorType, array: npt.NDArray[np.generic]
) -> None:
    """Add one constant as an .npy file."""
    header = npy_header(type_.dtype, type_.shape)
    archive.add(member, len(header) + type_.nbytes, chain([header], array_chunks(array)))
