"""Reading offline models: verified when opened, arrays straight from the mapped file."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from atc_py.diag import NOT_OM, OM_CONTENT, AtcError, Diagnostic, Place
from atc_py.options.ranges import Ranges, parse_ranges
from atc_py.package.read_ahead import npy_header, view_array
from atc_py.package.schema import GEARS_VERSION, INPUT_RANGES, PLAIN_GEARS_VERSION
from atc_py.package.verify import VerifiedFile, verify
from atc_py.system.input_files import map_file, unmap
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text


class OfflineModel:
    """An offline model whose every byte has been verified; made by `open_model`.

    One with gears is the model of its largest gear; `at_gear` returns those of the others.

    Attributes:
        gears: the lists of shapes that it holds graphs for; None where it has one shape.
        gear: position of the gear whose graph this is; None where it has one shape.
        archive: the file with the model's archive, which another process may open as well; of a model
            of Huawei's atc a temporary one.
        findings: about the file, that do not keep it from being used.
        cores: that launches run on, by the name of a node, where the file says it.
        kept: what ends with the model; None where nothing but the mapping does.
        description: what `model.json` says.
        report: what `report.json` says.
        members: size in bytes of each archive member, in the file's order.
    """

    def __init__(
        self, path: Path, data: mmap.mmap, file: VerifiedFile, gear: int | None = None
    ) -> None:
        """Make a model of a mapped file and its verified contents, those of one gear."""
        self.path = self.archive = path
        self.findings: tuple[Diagnostic, ...] = ()
        self.cores: Mapping[str, int] = {}
        self.kept: ExitStack | None = None
        self.gears = file.gears
        if gear is None and file.gears is not None:
            gear = file.gears.largest
        self.gear = gear
        verified = file.models[gear or 0]
        self.description = verified.description
        self.report = verified.report
        self.members = {name: entry.size for name, entry in verified.entries.items()}
        self._data = data
        self._file = file
        self._entries = verified.entries
        self._types = {
            tensor.member: (DType(tensor.dtype), closed_shape(tuple(tensor.shape)))
            for tensor in self.description.tensors
            if tensor.member is not None
        }

    @property
    def format_version(self) -> int:
        if self.gears is None:
            return self.description.format_version
        return PLAIN_GEARS_VERSION if self.gears.padding is None else GEARS_VERSION

    @property
    def ranges(self) -> Ranges:
        """The inputs with dims that each run decides, and the ranges of all their dims."""
        text = self.description.options.get(INPUT_RANGES, "")
        return parse_ranges(text) if text else {}

    def array(self, member: str) -> npt.NDArray[np.generic]:
        """The data of a constant, read-only and not copied; it stays valid after `close`.

        Raises:
            AtcError: OM_CONTENT where no constant has that member.
        """
        if member not in self._types:
            raise self._missing_member(member, Text("no constant has"))
        dtype, shape = self._types[member]
        start = self._entries[member].data_offset + len(npy_header(dtype, shape))
        return view_array(self._data, start, dtype, shape)

    def at_gear(self, gear: int) -> OfflineModel:
        """The model of one gear, which ends with this one.

        Raises:
            ValueError: there is no such gear.
        """
        if self.gears is None or gear not in range(len(self.gears.gears)):
            raise ValueError(Text("{path} has no gear {gear}", path=self.path, gear=gear))
        if gear == self.gear:
            return self
        found = OfflineModel(self.path, self._data, self._file, gear)
        found.archive, found.findings = self.archive, self.findings
        return found

    def text(self, member: str) -> str:
        """A member as text.

        Raises:
            AtcError: OM_CONTENT if the member is missing, or it is not UTF-8.
        """
        if member not in self._entries:
            raise self._missing_member(member, Text("there is no"))
        try:
            return self._entries[member].data_in(self._data).decode()
        except UnicodeDecodeError as error:
            raise OM_CONTENT.error(
                Text(
                    "{member} in {path} is not UTF-8 text: {error}",
                    member=member,
                    path=self.path,
                    error=error,
                ),
                place=Place(file=str(self.path), field=member),
                help=Text("ask for a kernel, or for `model.json` or `report.json`"),
            ) from error

    def close(self) -> None:
        """Let the file go; while arrays of it are alive, they keep it mapped."""
        unmap(self._data)
        if self.kept is not None:
            self.kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _missing_member(self, member: str, what: str) -> AtcError:
        return OM_CONTENT.error(
            Text(
                "{what} member {member} in {path}", what=what, member=repr(member), path=self.path
            ),
            place=Place(file=str(self.path), field=member),
            help=Text("`unzip -l` lists the members"),
        )


def open_model(path: Path) -> OfflineModel:
    """Open an offline model and verify all of it: headers, digests, schema, cross-references.

    Raises:
        AtcError: FILE_NOT_FOUND or FILE_UNREADABLE; NOT_OM for other or truncated files;
            OM_VERSION; OM_MEMBER for each damaged part; OM_CONTENT for contradictions;
            OM_PLAN for a memory plan that is not sound.
    """
    data = map_archive(path)
    try:
        return OfflineModel(path, data, verify(data, str(path)))
    except BaseException:
        unmap(data)
        raise


def map_archive(path: Path) -> mmap.mmap:
    data = map_file(path)
    if isinstance(data, bytes):
        raise NOT_OM.error(
            Text("{path} is not an offline model: it is empty", path=path),
            place=Place(file=str(path)),
            help=Text("convert the ONNX model with `atc-py convert`"),
        )
    return data
