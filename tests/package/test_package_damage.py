"""Damage anywhere in the file is found and named; other files are refused."""

import os
import random
import zipfile
from pathlib import Path

import pytest

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import FILE_NOT_FOUND, FILE_UNREADABLE, NOT_OM, OM_MEMBER
from atc_py.package import integrity
from atc_py.package.reader import open_model
from atc_py.package.records import Entry, directory_offset, parse_directory


def refusal(path: Path) -> tuple[Code, list[str | None]]:
    """Return the code with which a file is refused, and the places named."""
    with pytest.raises(AtcError) as caught:
        open_model(path)
    findings = caught.value.diagnostics
    for finding in findings:
        assert finding.help
        assert finding.place is not None
        assert finding.place.file == str(path)
        assert finding.code is findings[0].code
    return findings[0].code, [finding.place.field for finding in findings if finding.place]


def entries_of(om: Path) -> list[Entry]:
    """Return the members of a sound file."""
    raw = om.read_bytes()
    return parse_directory(raw[directory_offset(raw) :])


def parts(om: Path, size: int) -> list[tuple[str, int]]:
    """Return the contents of the file and the offset of its end."""
    return [*((entry.name, entry.end) for entry in entries_of(om)), ("directory", size)]


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_changed_byte_is_found_and_its_part_named(om: Path, flip: int) -> None:
    raw = om.read_bytes()
    regions = iter(parts(om, len(raw)))
    part, end = next(regions)
    with om.open("r+b", buffering=0) as file:
        for position, byte in enumerate(raw):
            if position >= end:
                part, end = next(regions)
            os.pwrite(file.fileno(), bytes([byte ^ flip]), position)
            assert refusal(om) == (OM_MEMBER, [part]), position
            os.pwrite(file.fileno(), bytes([byte]), position)
    open_model(om).close()


def test_every_truncation_is_refused(om: Path) -> None:
    raw = om.read_bytes()
    for size in range(len(raw) - 1, -1, -1):
        os.truncate(om, size)
        assert refusal(om)[0] is NOT_OM, size


@pytest.mark.parametrize("extra", [b"\0", b"x" * 100, b"PK\x05\x06" + bytes(18)])
def test_appended_bytes_are_refused(om: Path, extra: bytes) -> None:
    om.write_bytes(om.read_bytes() + extra)
    assert refusal(om)[0] is NOT_OM


def test_prepended_bytes_are_refused(om: Path) -> None:
    om.write_bytes(b"#!" + om.read_bytes())
    assert refusal(om) == (OM_MEMBER, ["directory"])


def test_bytes_taken_out_of_the_middle_are_refused(om: Path) -> None:
    raw = om.read_bytes()
    om.write_bytes(raw[:100] + raw[164:])
    assert refusal(om) == (OM_MEMBER, ["directory"])


def test_all_damaged_members_are_named(om: Path) -> None:
    raw = bytearray(om.read_bytes())
    entries = {entry.name: entry for entry in entries_of(om)}
    raw[entries["weights/0001_ones.npy"].data_offset + 70] ^= 1
    raw[entries["report.json"].data_offset] ^= 1
    raw[entries["kernels/add.cpp"].offset] ^= 1
    om.write_bytes(raw)
    code, named = refusal(om)
    assert code is OM_MEMBER
    assert sorted(map(str, named)) == ["kernels/add.cpp", "report.json", "weights/0001_ones.npy"]


def test_damage_is_found_by_threads_too(om: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "_WORTH_THREADS", 1)
    open_model(om).close()
    raw = bytearray(om.read_bytes())
    raw[64 + 130] ^= 1
    om.write_bytes(raw)
    assert refusal(om) == (OM_MEMBER, ["weights/0000_w.npy"])


def test_members_swapped_between_sound_models_are_found(om: Path) -> None:
    raw = bytearray(om.read_bytes())
    first, second, *_ = entries_of(om)
    one, two = raw[first.data_offset : first.end], raw[second.data_offset : second.end]
    raw[first.data_offset : first.end], raw[second.data_offset : second.end] = two, one
    om.write_bytes(raw)
    assert refusal(om)[1] == [first.name, second.name]


@pytest.mark.parametrize("size", [1, 3, 4, 21, 22, 100, 1000, 5000])
def test_random_bytes_are_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.om"
    path.write_bytes(random.Random(size).randbytes(size))  # noqa: S311  (no secret)
    assert refusal(path)[0] is NOT_OM


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.om").touch()
    assert refusal(tmp_path / "m.om")[0] is NOT_OM


def test_plain_zip_is_refused(om: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.om"
    with zipfile.ZipFile(om) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert refusal(path)[0] is NOT_OM


def test_other_zip_with_our_comment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.om"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("model.json", "{}")
        target.comment = b"atc-py offline model" + b" " * 183
    assert refusal(path)[0] in {NOT_OM, OM_MEMBER}


def test_huawei_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.om"
    path.write_bytes(b"IMOD" + bytes(1000))
    with pytest.raises(AtcError, match="Huawei") as caught:
        open_model(path)
    assert caught.value.diagnostics[0].code is NOT_OM


def test_absent_file_and_folder_are_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "none.om")[0] is FILE_NOT_FOUND
    assert refusal(tmp_path)[0] is FILE_NOT_FOUND
    assert refusal(tmp_path / "file" / "m.om")[0] is FILE_NOT_FOUND


def test_what_cannot_be_read_is_unreadable(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert refusal(loop)[0] is FILE_UNREADABLE
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe")[0] is FILE_UNREADABLE


def test_forbidden_file_is_unreadable(om: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("atc_py.system.input_files.os.open", refuse)
    assert refusal(om)[0] is FILE_UNREADABLE
