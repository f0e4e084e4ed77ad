"""Writing offline models: weights one at a time, texts, the description last."""

from itertools import chain
from pathlib import Path

import msgspec
from msgspec.structs import replace

from atc_py.ir import Graph
from atc_py.package.archive import MODEL, REPORT, ArchiveWriter, kernel_member
from atc_py.package.codec import encode_model, encode_report
from atc_py.package.describe import describe, weight_members
from atc_py.package.read_ahead import ReadAhead, npy_header
from atc_py.package.schema import OmModel, PackageContents
from atc_py.system.atomic_files import atomic_write


class WrittenModel(msgspec.Struct, frozen=True):
    """Record of a written model."""

    path: Path
    file_bytes: int
    weight_bytes: int  # bytes of the constants' elements in it
    members: int
    description: OmModel


def write_model(
    graph: Graph,
    path: Path,
    contents: PackageContents,
    *,
    durable: bool = True,
    description: OmModel | None = None,
) -> WrittenModel:
    """Write `graph` as an offline model; the same graph and contents give the same bytes.

    Each constant is read once, see `ReadAhead`. `description` is that of the graph, if it is made.

    Raises:
        AtcError: CANNOT_WRITE; the previous file at `path` is then unchanged.
        ValueError: the graph is not typed, or a constant is not what its value's type says.
    """
    constants = weight_members(graph)
    description = description or describe(graph, contents, constants)
    with atomic_write(path, durable=durable) as file:
        archive = ArchiveWriter(file)
        with ReadAhead(constants) as ahead:
            for value, member in constants.items():
                header = npy_header(value.type.dtype, value.type.shape)
                size = len(header) + value.type.nbytes
                archive.add(member, size, chain([header], ahead.chunks(value)))
        for name, text in sorted(contents.kernels.items()):
            archive.add_bytes(kernel_member(name), text.encode())
        archive.add_bytes(REPORT, encode_report(contents.report))
        description = replace(description, members=dict(archive.members))
        document = encode_model(description)
        size = archive.finish(archive.add_bytes(MODEL, document).sha256)
    weight_bytes = sum(value.type.nbytes for value in constants)
    return WrittenModel(path, size, weight_bytes, len(archive.members), description)
