"""om2 archives: ZIP files that newer releases of CANN write, with documents, code and kernels.

The members stand in the archive's root or in one folder. Documents are read within bounds.
"""

import json
import struct
import zipfile
import zlib
from typing import Any

import msgspec

from atc_py.package.foreign import MANIFEST
from atc_py.package.ge.interface import GeInterface, GePort
from atc_py.package.ge.messages import dtype_name
from atc_py.package.ge.source import GeSource
from atc_py.text import Text

_MOST_DOCUMENT = 1 << 26
"""Bytes of a document, unpacked."""

_MOST_MODELS = 4096


class Om2Member(msgspec.Struct, frozen=True):
    """A member of the archive: its path, and its bytes unpacked."""

    path: str
    nbytes: int


class Om2Model(msgspec.Struct, frozen=True):
    """A model of the archive."""

    name: str
    interface: GeInterface  # inputs, outputs and gears
    workspace: int  # bytes of memory that it needs while it runs
    # CANN's attributes of the ops by name, each a mapping of attribute to type and value
    ops: dict[str, Any]


class Om2File(msgspec.Struct, frozen=True):
    """An om2 archive."""

    version: str  # of the format, as text
    command_line: str  # of the atc that wrote it
    members: list[Om2Member]
    models: list[Om2Model]

    def nbytes(self, part: str) -> int:
        """Bytes of the members below a folder such as data/constants/."""
        return sum(each.nbytes for each in self.members if f"/{part}" in f"/{each.path}")


def read_om2(source: GeSource) -> Om2File | None:
    """The archive in a file; None where it is a ZIP file of another kind."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            return _read(source, archive)
    except _ZIP_FAULTS as error:
        raise source.fault(Text("it is not a valid ZIP archive: {reason}", reason=error)) from error


_ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    UnicodeDecodeError,
)
"""What zipfile raises for archives that are damaged, or packed in a way that it does not know."""


def _read(source: GeSource, archive: zipfile.ZipFile) -> Om2File | None:
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    roots = [name.removesuffix(MANIFEST) for name in sizes if name.rpartition("/")[2] == MANIFEST]
    root = min(roots, key=len, default=None)
    if root is None or root.count("/") > 1:
        return None
    manifest = _document(source, archive, root + MANIFEST)
    if "om2_version" not in manifest:
        return None
    count = _integer(manifest, "model_num")
    if not 0 <= count <= _MOST_MODELS:
        raise source.fault(Text("it should have {count} models", count=count), MANIFEST)
    return Om2File(
        version=_text(manifest, "om2_version"),
        command_line=_text(manifest, "atc_command"),
        members=[Om2Member(name.removeprefix(root), size) for name, size in sizes.items()],
        models=[
            _model(source, archive, f"{root}data/model_{number}/", sizes) for number in range(count)
        ],
    )


def _model(
    source: GeSource, archive: zipfile.ZipFile, folder: str, sizes: dict[str, int]
) -> Om2Model:
    meta = _document(source, archive, folder + "model_meta.json")
    attributes = folder + "debug/op_attr.json"
    ops = _document(source, archive, attributes) if attributes in sizes else {}
    interface = GeInterface(
        inputs=[_port(row) for row in _rows(meta, "inputs")],
        outputs=[_port(row) for row in _rows(meta, "outputs")],
    )
    gears = meta.get("dynamic_batch_info")
    if isinstance(gears, list) and gears:
        interface.gears["gear"] = tuple(
            tuple(dim for dim in (gear if isinstance(gear, list) else [gear]) if type(dim) is int)
            for gear in gears
        )
    return Om2Model(_text(meta, "name"), interface, _integer(meta, "work_size"), ops)


def _port(row: dict[str, Any]) -> GePort:
    return GePort(
        name=_text(row, "name"),
        dtype=dtype_name(_text(row, "data_type")),
        dims=_dims(row, "shape"),
        format=_text(row, "format"),
        nbytes=_integer(row, "size"),
        picture_dims=_dims(row, "shape_v2"),
    )


def _document(source: GeSource, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """A document of the archive, which must be a JSON object."""
    try:
        with archive.open(name) as member:
            data = member.read(_MOST_DOCUMENT + 1)
    except KeyError as error:
        raise source.fault(Text("it has no member {name}", name=name), name) from error
    if len(data) > _MOST_DOCUMENT:
        raise source.fault(
            Text("{name} has more than {most} bytes", name=name, most=_MOST_DOCUMENT), name
        )
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise source.fault(
            Text("{name} is not JSON: {reason}", name=name, reason=error), name
        ) from error
    if not isinstance(document, dict):
        raise source.fault(Text("{name} is not a JSON object", name=name), name)
    return document


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def _integer(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    return value if type(value) is int else 0


def _rows(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = document.get(key)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _dims(document: dict[str, Any], key: str) -> tuple[int, ...]:
    value = document.get(key)
    return tuple(dim for dim in value if type(dim) is int) if isinstance(value, list) else ()
