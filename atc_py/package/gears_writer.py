"""Writing offline models with gears: a graph for each, weights and kernels once each content."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from atc_py.ir import CastConst, ConstData, Graph, Value
from atc_py.options.gears import Gears
from atc_py.package.archive import (
    MODEL,
    REPORT,
    ArchiveWriter,
    gear_member,
    kernel_member,
    weight_member,
)
from atc_py.package.codec import encode_index, encode_model, encode_report
from atc_py.package.describe import describe
from atc_py.package.read_ahead import ReadAhead, npy_header
from atc_py.package.schema import (
    FORMAT,
    GEARS_VERSION,
    PLAIN_GEARS_VERSION,
    OmGear,
    OmGearInput,
    OmGears,
    OmIndex,
    OmModel,
    PackageContents,
    padding_record,
    shape_data_of,
)
from atc_py.system.atomic_files import atomic_write


@dataclass(frozen=True, slots=True)
class CompiledGear:
    """The graph of a gear, and what goes with it."""

    graph: Graph
    contents: PackageContents


@dataclass(frozen=True, slots=True)
class WrittenGears:
    """Record of a written model with gears."""

    path: Path
    file_bytes: int
    weight_bytes: int  # bytes of the constants' elements in it, those of all gears counted once
    descriptions: tuple[OmModel, ...]  # of the graph of each gear


def write_gears(compiled: Sequence[CompiledGear], gears: Gears, path: Path) -> WrittenGears:
    """Write the graphs of all gears as one offline model; the same ones give the same bytes.

    Raises:
        AtcError: CANNOT_WRITE; the previous file at `path` is then unchanged.
        ValueError: a graph is not typed, or a constant is not what its value's type says.
    """
    first = compiled[0].contents
    with atomic_write(path) as file:
        archive = ArchiveWriter(file)
        weights = _Weights(archive)
        members = [weights.members_of(each.graph) for each in compiled]
        texts = _Texts(archive)
        listed: list[OmGear] = []
        descriptions: list[OmModel] = []
        for number, (each, own) in enumerate(zip(compiled, members, strict=True)):
            description = describe(each.graph, each.contents, own)
            descriptions.append(description)
            files = texts.add_kernels(each.contents.kernels, number)
            model = gear_member(number, MODEL)
            archive.add_bytes(model, encode_model(description))
            report = texts.add(REPORT, encode_report(each.contents.report), number)
            listed.append(OmGear(list(gears.gears[number]), model, report, files))
        inputs = [OmGearInput(name, list(dims)) for name, dims in gears.shapes.items()]
        padding = padding_record(gears.padding)
        index = OmIndex(
            format=FORMAT,
            format_version=PLAIN_GEARS_VERSION if padding is None else GEARS_VERSION,
            producer=first.producer,
            name=compiled[0].graph.name,
            soc=first.soc,
            options=dict(first.options),
            gears=OmGears(gears.kind.value, inputs, shape_data_of(gears), listed, padding),
            members=dict(archive.members),
        )
        size = archive.finish(archive.add_bytes(MODEL, encode_index(index)).sha256)
    return WrittenGears(path, size, weights.nbytes, tuple(descriptions))


class _Texts:
    """Kernel files and reports of an archive: a member for each content."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self._members: dict[tuple[str, bytes], str] = {}

    def add(self, name: str, data: bytes, gear: int) -> str:
        """The member with what is called `name` in a gear; it is written if it is new."""
        member = self._members.get((name, data))
        if member is None:
            taken = name in self._archive.members
            member = gear_member(gear, name) if taken else name
            self._members[name, data] = member
            self._archive.add_bytes(member, data)
        return member

    def add_kernels(self, files: Mapping[str, str], gear: int) -> dict[str, str]:
        placed = {
            name: self.add(kernel_member(name), text.encode(), gear)
            for name, text in sorted(files.items())
        }
        return {name: member for name, member in placed.items() if member != kernel_member(name)}


class _Weights:
    """The constants of an archive: a member for each content, written when it first comes.

    Constants with the same source, cast alike, are known to be equal without a look at their data.
    """

    def __init__(self, archive: ArchiveWriter) -> None:
        self.nbytes = 0
        self._archive = archive
        self._by_source: dict[Hashable, str] = {}
        self._by_digest: dict[str, str] = {}
        self._kept: list[ConstData] = []

    def members_of(self, graph: Graph) -> dict[Value, str]:
        """The member of each constant of a graph, written if it is new."""
        found: dict[Value, str] = {}
        unseen: list[Value] = []
        for value in graph.constants():
            member = self._by_source.get(_identity(value))
            if member is None:
                unseen.append(value)
            else:
                found[value] = member
        with ReadAhead(unseen) as ahead:
            for value in unseen:
                found[value] = self._written(value, ahead)
        return found

    def _written(self, value: Value, ahead: ReadAhead) -> str:
        header = npy_header(value.type.dtype, value.type.shape)
        member = weight_member(len(self._by_digest), value.name)
        size = len(header) + value.type.nbytes
        written = self._archive.add(member, size, chain([header], ahead.chunks(value)))
        known = self._by_digest.setdefault(written.sha256, member)
        if known == member:
            self.nbytes += value.type.nbytes
        else:
            self._archive.take_back()
            member = known
        if value.const is not None:
            self._by_source[_identity(value)] = member
            self._kept.append(value.const)
        return member


def _identity(value: Value) -> Hashable:
    """A key that constants of equal data share; sources must stay alive while it is used."""
    const, casts = value.const, []
    while isinstance(const, CastConst):
        casts.append((const.dtype, const.clip))
        const = const.source
    return value.type.dtype, value.type.shape, id(const), tuple(casts)
