"""Archives whose digests are right but whose description is wrong."""

import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import NOT_OM, OM_CONTENT, OM_MEMBER, OM_VERSION
from atc_py.package import archive as archive_module
from atc_py.package import records
from atc_py.package.archive import ArchiveWriter
from atc_py.package.reader import open_model
from atc_py.package.schema import FORMAT_VERSION, GEARS_VERSION
from tests.package.conftest import Seal


def refusal(path: Path) -> tuple[Code, str]:
    """Return code and messages with which a file is refused."""
    with pytest.raises(AtcError) as caught:
        open_model(path)
    assert all(finding.help and finding.place for finding in caught.value.diagnostics)
    return caught.value.diagnostics[0].code, str(caught.value)


def described(om: Path) -> dict[str, Any]:
    """Return the description as plain data."""
    with open_model(om) as model:
        data: dict[str, Any] = msgspec.json.decode(model.text("model.json"))
    return data


def test_unchanged_archive_is_accepted(seal: Seal) -> None:
    open_model(seal()).close()


def test_other_format_is_not_ours(seal: Seal) -> None:
    code, message = refusal(seal({"format": "someone's"}))
    assert code is NOT_OM
    assert "someone's" in message


@pytest.mark.parametrize("version", [GEARS_VERSION + 1, 0, 1000])
def test_other_version_is_refused_by_number(seal: Seal, version: int) -> None:
    code, message = refusal(seal({"format_version": version, "future": {"key": []}}))
    assert code is OM_VERSION
    assert f"version {version} " in message
    assert f"version {FORMAT_VERSION}" in message


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": 5}, "$.name"),
        ({"inputs": [{"name": "x"}]}, "$.inputs[0]"),
        ({"nodes": [{"op": 1}]}, "$.nodes[0].op"),
        ({"extra": 1}, "extra"),
        ({"tensors": [{"name": "t", "dtype": "int8", "shape": [1.5]}]}, "$.tensors[0].shape[0]"),
        ({"format": None}, "$.format"),
    ],
)
def test_broken_schema_is_refused_with_its_path(
    seal: Seal, change: dict[str, object], where: str
) -> None:
    code, message = refusal(seal(change))
    assert code is OM_CONTENT
    assert where in message


@pytest.mark.parametrize(
    "document",
    [b"", b"{", b"[]", b"null", b'{"format": "\xff"}', b"[" * 100_000, b'{"x":' + b"[" * 100_000],
    ids=["empty", "cut", "list", "null", "not-utf8", "deep", "deep-inside"],
)
def test_document_that_is_not_a_description_is_refused(seal: Seal, document: bytes) -> None:
    assert refusal(seal(document=document))[0] is OM_CONTENT


@pytest.mark.parametrize(
    "report", [b"", b"[1]", b'{"a": "\xff"}', b'{"a":' + b"[" * 100_000], ids=range(4)
)
def test_report_that_is_not_an_object_is_refused(seal: Seal, report: bytes) -> None:
    code, message = refusal(seal(extra={"report.json": report}))
    assert code is OM_CONTENT
    assert "report.json" in message


CHANGES = [
    ("tensors", 0, {"name": ""}, "a tensor must have a name"),
    ("tensors", 0, {"dtype": "float8"}, "float8"),
    ("tensors", 0, {"format": "NCWH"}, "NCWH"),
    ("tensors", 0, {"shape": [2, -3]}, "2x-3"),
    ("tensors", 0, {"shape": [1] * 33}, "shape"),
    ("tensors", 0, {"shape": [0, 2**63]}, "shape"),
    ("tensors", 0, {"member": "weights/0000_w.npy"}, "two"),
    ("tensors", 1, {"member": "weights/none.npy"}, "none.npy"),
    ("tensors", 1, {"member": "report.json"}, "report.json"),
    ("tensors", 1, {"member": None}, "before it is used"),
    ("tensors", 1, {"dtype": "bfloat16"}, "bfloat16"),
    ("tensors", 1, {"dtype": "float32"}, "float32"),
    ("tensors", 1, {"dtype": "int16"}, "int16"),
    ("tensors", 1, {"shape": [3, 2]}, "3x2"),
    ("tensors", 1, {"shape": [6]}, "'shape': (2, 3)"),
    ("tensors", 1, {"shape": [2**40, 2**20]}, "bytes"),
    ("tensors", 1, {"member": "weights/0001_ones.npy"}, ""),
    ("inputs", 0, {"tensor": 5}, "[0, 4], found 5"),
    ("inputs", 0, {"tensor": -1}, "found -1"),
    ("inputs", 0, {"tensor": 3}, "two"),
    ("outputs", 0, {"tensor": 5}, "found 5"),
    ("outputs", 0, {"tensor": -1}, "found -1"),
    ("nodes", 0, {"engine": "gpu"}, "gpu"),
    ("nodes", 0, {"inputs": [0, -2]}, "found -2"),
    ("nodes", 0, {"inputs": [0, 10**30]}, "found 1000"),
    ("nodes", 0, {"inputs": [4]}, "before it is used"),
    ("nodes", 0, {"outputs": [-1]}, "found -1"),
    ("nodes", 0, {"outputs": [5]}, "found 5"),
    ("nodes", 0, {"outputs": [0]}, "two"),
    ("nodes", 1, {"outputs": []}, "source"),
    ("nodes", 0, {"nonfinite": {"low": "1e5x"}}, "1e5x"),
    ("nodes", 0, {"nonfinite": {"low": ["inf", ""]}}, "number"),
]


@pytest.mark.parametrize(("part", "position", "change", "word"), CHANGES)
def test_contradiction_is_refused(
    om: Path, seal: Seal, part: str, position: int, change: dict[str, object], word: str
) -> None:
    items = described(om)[part]
    items[position].update(change)
    path = seal({part: items})
    if not word:
        open_model(path).close()
        return
    code, message = refusal(path)
    assert code is OM_CONTENT
    assert word in message


def test_all_contradictions_are_reported(om: Path, seal: Seal) -> None:
    tensors = described(om)["tensors"]
    tensors[0]["dtype"], tensors[3]["format"] = "?", "!"
    with pytest.raises(AtcError) as caught:
        open_model(seal({"tensors": tensors}))
    assert [d.place.field for d in caught.value.diagnostics if d.place] == [
        "tensors[0]",
        "tensors[3]",
    ]


def test_member_that_is_not_listed_is_refused(om: Path, seal: Seal) -> None:
    members = described(om)["members"]
    code, message = refusal(seal({"members": members}, extra={"weights/more.npy": b""}))
    assert code is OM_CONTENT
    assert "'weights/more.npy' that model.json does not list" in message


def test_listed_member_that_is_missing_is_refused(om: Path, seal: Seal) -> None:
    members = described(om)["members"]
    code, message = refusal(seal({"members": members}, leave_out="kernels/add.cpp"))
    assert code is OM_CONTENT
    assert "'kernels/add.cpp' that the archive does not have" in message


def test_member_of_other_size_than_listed_is_refused(om: Path, seal: Seal) -> None:
    members = described(om)["members"]
    members["report.json"]["size"] += 1
    code, message = refusal(seal({"members": members}))
    assert code is OM_CONTENT
    assert "report.json must have" in message


def test_wrong_digest_in_the_list_is_damage(om: Path, seal: Seal) -> None:
    members = described(om)["members"]
    members["report.json"]["sha256"] = "0" * 64
    assert refusal(seal({"members": members}))[0] is OM_MEMBER


def test_archive_without_report_is_refused(seal: Seal) -> None:
    code, message = refusal(seal(leave_out="report.json"))
    assert code is OM_CONTENT
    assert "must have a member report.json" in message


def raw_archive(path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an archive with any names, as no writer of ours would make it."""
    monkeypatch.setattr(archive_module, "is_safe_member", lambda _: True)
    with path.open("wb") as file:
        writer = ArchiveWriter(file)
        for name in names:
            writer.members.clear()
            writer.add_bytes(name, b"")
        writer.finish("0" * 64)
    return path


@pytest.mark.parametrize(
    "name",
    ["/etc/x", "../x", "a/../x", "a/./x", "a//x", "C:x", "a\\x", ".x", "a\0", "a/", "", "x\n"],
)
def test_dangerous_member_name_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["report.json", name, "model.json"]
    code, message = refusal(raw_archive(tmp_path / "m.om", names, monkeypatch))
    assert code is OM_CONTENT
    assert "plain relative path" in message


def test_member_name_that_stands_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["report.json", "weights/w.npy", "weights/w.npy", "model.json"]
    code, message = refusal(raw_archive(tmp_path / "m.om", names, monkeypatch))
    assert code is OM_CONTENT
    assert "occurs 2 times" in message


def test_archive_without_description_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, message = refusal(raw_archive(tmp_path / "m.om", ["report.json"], monkeypatch))
    assert code is OM_CONTENT
    assert "must have a member model.json" in message


@pytest.mark.parametrize("size", [2**32 - 1, 2**63, 2**64 - 1])
def test_member_that_claims_to_be_larger_than_the_file_is_refused(
    tmp_path: Path, size: int
) -> None:
    entry = records.Entry("model.json", 2**32, 0, 0)
    tail = records.directory([entry], "0" * 64)
    claimed = tail.replace(struct.pack("<Q", entry.size), struct.pack("<Q", size))
    assert claimed != tail
    path = tmp_path / "m.om"
    path.write_bytes(records.local_header(entry) + claimed)
    assert refusal(path)[0] is OM_MEMBER
