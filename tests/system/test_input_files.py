"""Files of users: what is not there, no text, or without an end is refused with its own code."""

import os
import socket
from pathlib import Path

import pytest

from atc_py.diag import AtcError, Code, Diagnostic
from atc_py.diag.codes import FILE_NOT_FOUND, FILE_NOT_TEXT, FILE_TOO_LARGE, FILE_UNREADABLE
from atc_py.system.input_files import read_bytes, read_text


def refusal(path: Path, most: int = 1000) -> Diagnostic:
    """Return with what a file is refused."""
    with pytest.raises(AtcError) as caught:
        read_text(path, most)
    (found,) = caught.value.diagnostics
    assert found.place is not None
    assert found.place.file == str(path)
    return found


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"", ""), (b"a\nb", "a\nb"), (b"\xef\xbb\xbfa", "a"), ("ä\u202e".encode(), "ä\u202e")],
)
def test_text_is_read_without_its_byte_order_mark(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "f").write_bytes(data)
    assert read_text(tmp_path / "f", len(data)) == text


@pytest.mark.parametrize(
    ("data", "line", "byte"),
    [
        (b"\xff\xfea\0", 1, "0xff"),
        (b"a\nb\n\xc3(", 3, "0xc3"),
        (b"\xef\xbb\xbfa\n\xed\xa0\x80", 2, "0xed"),
        (b"a\xc3", 1, "0xc3"),
    ],
)
def test_bytes_that_are_not_text_are_refused_with_their_line(
    tmp_path: Path, data: bytes, line: int, byte: str
) -> None:
    (tmp_path / "f").write_bytes(data)
    found = refusal(tmp_path / "f")
    assert found.code is FILE_NOT_TEXT
    assert found.place is not None
    assert found.place.line == line
    assert byte in found.message
    assert "permission" not in found.code.remedy


def test_larger_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1001)
    assert refusal(tmp_path / "f").code is FILE_TOO_LARGE
    assert read_bytes(tmp_path / "f", 1001) == b"x" * 1001


@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
def test_other_things_than_files_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    if kind == "device":
        Path("f").symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo("f")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("f")
    found = refusal(Path("f"))
    assert found.code is FILE_UNREADABLE
    assert kind == "socket" or "save its content as a file" in str(found.help)


def test_streams_are_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    try:
        assert read_bytes(Path(f"/dev/fd/{reading}"), 10) == b"text"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("gone", FILE_NOT_FOUND),
        (".", FILE_NOT_FOUND),
        ("file/below", FILE_NOT_FOUND),
        ("loop", FILE_UNREADABLE),
        ("n" * 300, FILE_UNREADABLE),
    ],
)
def test_files_that_cannot_be_opened_are_refused(tmp_path: Path, name: str, code: Code) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert refusal(tmp_path / name).code is code
