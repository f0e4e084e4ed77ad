"""Signs in the first bytes of files that say what they are."""

from contextlib import suppress
from mmap import mmap
from pathlib import Path

from atc_py.package.records import is_directory_end

_VARINT, _BYTES = 0, 2
_FIELDS = {1: _VARINT, 5: _VARINT, **dict.fromkeys((2, 3, 4, 6, 7, 8, 14, 20, 25, 26), _BYTES)}
"""Numbers of the fields of ONNX's ModelProto with their kinds."""

_IR_VERSION = b"\x08"
"""First byte of the field that stands first in every model."""

ZIP_MAGIC, HUAWEI_MAGIC = b"PK\x03\x04", b"IMOD"
MANIFEST = "manifest.json"
"""Name of the file that says of a ZIP archive that it is om2 of Huawei's."""

_TAIL = 1024
"""Bytes at the end of a file that surely hold the end of an archive of atc-py."""

_JSON_HEAD = 64
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"

_HEAD = 1 << 16
"""Bytes at the start of a file that identify its kind."""

_GRAPH = 7
_LONGEST_VARINT = 10


def is_onnx(data: mmap | bytes) -> bool:
    """Tell whether bytes begin as an ONNX model does: with fields of its own up to the graph."""
    if data[:1] != _IR_VERSION:
        return False
    at: int | None = 0
    while at is not None and at < len(data):
        tag, at = _varint(data, at)
        field, kind = tag >> 3, tag & 7
        if _FIELDS.get(field) != kind:
            return False
        if field == _GRAPH:
            return True
        value, at = _varint(data, at)
        if kind == _BYTES and at is not None:
            at += value
    return False


def is_onnx_file(path: Path) -> bool:
    """True if the file is named as an ONNX model or begins as one."""
    return path.suffix == ".onnx" or is_onnx(_head(path))


def is_offline(path: Path) -> bool:
    """True if the file begins as an archive, or is named as one and is not an ONNX model.

    The readers say what else is wrong with it.
    """
    head = _head(path)
    return head.startswith((b"PK", HUAWEI_MAGIC)) or (path.suffix == ".om" and not is_onnx(head))


def is_model_json(path: Path) -> bool:
    """True if a file begins as JSON does, as that of mode 1."""
    return _head(path)[:_JSON_HEAD].lstrip(_BEFORE_JSON)[:1] == b"{"


def is_huawei(path: Path) -> bool:
    """True if a file begins as one of Huawei's atc, or is an om2 archive."""
    head = _head(path)
    if not head.startswith(ZIP_MAGIC):
        return head.startswith(HUAWEI_MAGIC)
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, 2) - _TAIL, 0))
            return not is_directory_end(file.read()) and _has_manifest(path)
    except (OSError, ValueError):
        return False


def _head(path: Path) -> bytes:
    """The bytes that identify the kind of a file; none of pipes and devices, whose opening may block."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_HEAD)
    return b""


def _has_manifest(path: Path) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.rpartition("/")[2] == MANIFEST for name in archive.namelist())
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return False


def _varint(data: mmap | bytes, at: int | None) -> tuple[int, int | None]:
    """Read the number at a place; return the place after it too, None where there is none."""
    value = 0
    for count, byte in enumerate(data[at : at + _LONGEST_VARINT] if at is not None else b""):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:  # noqa: PLR2004  (the bit that says that more follows)
            return value, (at or 0) + count + 1
    return value, None
