"""Data for runs that are damaged, hostile, given twice, or of a type that numpy cannot name."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import atc_py
from atc_py.running.feeds import read_feeds
from atc_py.running.model import Port
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

    Atc = Callable[..., Result]

SHAPE = (1, 3, 8, 8)


def npy(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An .npy file with that header."""
    size = 2 if version == (1, 0) else 4
    text = header.encode("latin-1")
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(size, "little") + text + data


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


FLOATS = bytes(4 * 192)

DAMAGED: dict[str, tuple[bytes, str]] = {
    "tokens": (npy("{'descr': '''\n"), ""),
    "syntax": (npy("{'descr' ]\n"), ""),
    "indent": (npy("  {\n 1\n    2L"), ""),
    "escape": (npy("{'descr': '\\d', 'fortran_order': False, 'shape': ()}\n"), ""),
    "nul": (npy("{'descr': \0}\n"), ""),
    "deep": (npy("(" * 9000 + "\n"), ""),
    "huge": (npy(described("'<f4'", "(1152921504606846976, 4)")), "claims"),
    "more": (npy(described("'<f4'", str(SHAPE)), FLOATS[:-1]), "claims 768 bytes"),
    "overflow": (npy(described("'<f4'", "(4294967296, 4294967296)")), "claims"),
    "negative": (npy(described("'<f4'", "(-1, -192)"), FLOATS), "claims"),
    "empty": (b"", ""),
    "cut": (npy(described("'<f4'", str(SHAPE)))[:30], ""),
    "version": (npy(described("'<f4'", str(SHAPE)), FLOATS, (9, 9)), ""),
    "void": (npy(described("'|V4'", str(SHAPE)), FLOATS), "void"),
    "pairs": (npy(described("'|V2'", str(SHAPE)), FLOATS), "two bytes"),
    "complex": (npy(described("'<c8'", str(SHAPE)), FLOATS * 2), "complex64"),
    "text": (npy(described("'<U1'", str(SHAPE)), FLOATS), "str"),
    "object": (npy(described("'|O'", "(1,)"), b"\x80\x04N."), "object"),
    "record": (npy(described("[('a', '<f4')]", str(SHAPE)), FLOATS), "void"),
    "time": (npy(described("'<M8[s]'", str(SHAPE)), FLOATS * 2), "datetime"),
    "long": (npy(described("'<f16'", str(SHAPE)), FLOATS * 4), ""),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("option", ["--input", "--expect"])
def test_damaged_npy_is_refused_with_its_code(atc: Atc, om: Path, name: str, option: str) -> None:
    content, text = DAMAGED[name]
    Path("bad.npy").write_bytes(content)
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("x.npy" if option == "--input" else "y.npy", content)
    for file in ("bad.npy", "bad.npz"):
        done = atc("run", om, "--random", 0, option, file)
        assert done.status == 3
        assert done.err.startswith(f"error[ATC2008 bad-data-file]: {file} cannot be read: "), done
        assert text in done.err
        assert len(done.err) < 1000


def test_archive_with_other_things_is_refused(atc: Atc, om: Path) -> None:
    good = npy(described("'<f4'", str(SHAPE)), FLOATS)
    cases: list[tuple[list[tuple[str, bytes]], str]] = [
        ([("x.npy", good), ("readme.txt", b"hello")], "readme.txt"),
        ([("x", good)], "no .npy array"),
        ([("x.npy", good), ("folder/", b"")], "folder/"),
        ([], "holds no arrays"),
    ]
    for members, text in cases:
        with zipfile.ZipFile("x.npz", "w") as archive:
            for name, data in members:
                archive.writestr(name, data)
        done = atc("run", om, "--input", "x.npz")
        assert (done.status, text in done.err) == (3, True), done.err
        assert done.err.startswith("error[ATC2008 ")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archive_with_a_name_twice_is_refused(atc: Atc, om: Path) -> None:
    with zipfile.ZipFile("x.npz", "w") as archive:
        for _ in range(2):
            archive.writestr("x.npy", npy(described("'<f4'", str(SHAPE)), FLOATS))
    done = atc("run", om, "--input", "x.npz")
    assert (done.status, "holds 'x' twice" in done.err) == (3, True)


def test_archive_with_damaged_bytes_is_refused(atc: Atc, om: Path) -> None:
    np.savez("x.npz", x=np.ones(SHAPE, np.float32))
    data = bytearray(Path("x.npz").read_bytes())
    data[400] ^= 1
    Path("x.npz").write_bytes(data)
    done = atc("run", om, "--input", "x.npz")
    assert (done.status, done.err[:14]) == (3, "error[ATC2008 ")


def test_later_npy_versions_and_byte_orders_are_read(atc: Atc, om: Path) -> None:
    array = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    contents = [
        npy(described("'<f4'", str(SHAPE)), array.tobytes(), (2, 0)),
        npy(described("'<f4'", str(SHAPE)), array.tobytes(), (3, 0)),
        npy(described("'>f4'", str(SHAPE)), array.astype(">f4").tobytes()),
    ]
    np.save("x.npy", array)
    assert atc("run", om, "-i", "x.npy", "-o", "plain").status == 0
    for content in contents:
        Path("x.npy").write_bytes(content)
        assert atc("run", om, "-i", "x.npy", "-o", "other").status == 0
        np.testing.assert_array_equal(np.load("other/y.npy"), np.load("plain/y.npy"))


@pytest.mark.parametrize("suffix", ["npy", "npz", "bin"])
def test_bfloat16_comes_back_from_files(tmp_path: Path, suffix: str) -> None:
    array = np.array([[1.5, -2.0], [np.inf, 0.0]], ml_dtypes.bfloat16)
    path = tmp_path / f"a.{suffix}"
    if suffix == "bin":
        path.write_bytes(array.tobytes())
    elif suffix == "npy":
        np.save(path, array)
    else:
        np.savez(path, a=array)
    read = read_feeds([str(path)], [Port("a", DType.BFLOAT16, (2, 2))])["a"]
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


def test_raw_file_without_end_is_refused(atc: Atc, om: Path) -> None:
    Path("x.bin").symlink_to("/dev/zero")
    done = atc("run", om, "--input", "x.bin")
    assert (done.status, done.err[:14]) == (2, "error[ATC1007 ")


def test_data_given_twice_are_refused(atc: Atc, om: Path) -> None:
    np.save("a.npy", np.ones(SHAPE, np.float32))
    np.savez("a.npz", x=np.ones(SHAPE, np.float32))
    for second in ("a.npy", "x=a.npy", "a.npz"):
        done = atc("run", om, "-i", "a.npy", "-i", second)
        assert (done.status, done.err[:14]) == (2, "error[ATC1007 ")
        assert "x are given twice" in done.err


@pytest.mark.parametrize("text", ["", "x="])
def test_data_without_a_file_name_are_refused(atc: Atc, om: Path, text: str) -> None:
    done = atc("run", om, "-i", text)
    assert (done.status, done.err[:14]) == (2, "error[ATC1007 ")
    assert f"{text!r} names no file" in done.err


@pytest.mark.parametrize(
    "arguments", [("--random", "-1"), ("--tolerance", "nan"), ("--tolerance", "inf")]
)
def test_numbers_without_sense_are_refused(atc: Atc, om: Path, arguments: tuple[str, ...]) -> None:
    done = atc("run", om, "--random", "1", *arguments)
    assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")


def test_long_argument_is_no_bug(atc: Atc, om: Path) -> None:
    assert atc("run", om, "-i", "z=" + "a" * 5000).status == 2
    assert atc("run", om, "-i", "a" * 5000).status == 3


def test_mismatch_in_json_is_one_document(atc: Atc, om: Path) -> None:
    np.save("y.npy", np.zeros((1, 4, 8, 8), np.float32))
    done = atc("run", om, "--random", 0, "--expect", "y.npy", "--json")
    assert (done.status, done.err) == (4, "")
    document: Any = json.loads(done.out)
    assert [found["code"] for found in document["diagnostics"]] == ["ATC7003"]
    assert document["comparisons"][0]["passed"] is False
    assert atc("run", om, "--random", 0, "--json").json["diagnostics"] == []


@pytest.mark.parametrize("inputs", [None, [], 3])
def test_inputs_that_are_no_mapping_are_refused(om: Path, inputs: Any) -> None:
    with (
        atc_py.load(om) as model,
        pytest.raises(atc_py.AtcError, match=r"ATC1007: inputs must be a mapping .* found"),
    ):
        model.run(inputs)
