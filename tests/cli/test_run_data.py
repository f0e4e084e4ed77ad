"""Data for runs that are damaged, hostile, given twice, or of a type that numpy cannot name."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import atc_py
from atc_py.pipeline.running.feeds import odd_feeds, read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.tensor.dtypes import DType
from tests.cli.conftest import Result

Atc = Callable[..., Result]

SHAPE = (1, 3, 8, 8)


def npy(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """Return an .npy file with that header."""
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
        ([("x", good)], "not a .npy array"),
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


def test_endless_raw_file_is_refused(atc: Atc, om: Path) -> None:
    Path("x.bin").symlink_to("/dev/zero")
    done = atc("run", om, "--input", "x.bin")
    assert (done.status, done.err[:14]) == (3, "error[ATC2002 ")


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
    assert f"{text!r} does not name a file" in done.err


@pytest.mark.parametrize(
    "arguments", [("--random", "-1"), ("--tolerance", "nan"), ("--tolerance", "inf")]
)
def test_numbers_without_sense_are_refused(atc: Atc, om: Path, arguments: tuple[str, ...]) -> None:
    done = atc("run", om, "--random", "1", *arguments)
    assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")


def test_long_argument_is_not_a_bug(atc: Atc, om: Path) -> None:
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
def test_inputs_that_are_not_mapping_are_refused(om: Path, inputs: Any) -> None:
    with (
        atc_py.load(om) as model,
        pytest.raises(atc_py.AtcError, match=r"ATC1007: inputs must be a mapping .* found"),
    ):
        model.run(inputs)


@pytest.mark.parametrize("command", ["run", "compare"])
def test_array_of_another_name_is_used_with_a_warning(
    atc: Atc, model: Path, om: Path, command: str
) -> None:
    array = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    np.savez("b.npz", features=array)
    file = om if command == "run" else model
    done = atc(command, file, "-i", "b.npz")
    assert done.status == 0
    assert done.err.startswith("warning[ATC1030 array-of-other-name]: b.npz has one array, ")
    assert '"features"; it is used for "x"' in done.err
    (warning,) = atc(command, file, "-i", "b.npz", "--json").json["warnings"]
    assert warning["code"] == "ATC1030"
    assert atc(command, file, "-i", "x=b.npz").err == ""
    np.savez("b.npz", x=array)
    assert atc(command, file, "-i", "b.npz").err == ""


def test_expected_array_of_another_name_is_used_with_a_warning(atc: Atc, om: Path) -> None:
    assert atc("run", om, "--random", 0, "-o", "out").status == 0
    np.savez("b.npz", result=np.load("out/y.npy"))
    done = atc("run", om, "--random", 0, "--expect", "b.npz")
    assert (done.status, done.err[:14]) == (0, "warning[ATC103")
    assert '"result"; it is used for "y"' in done.err


def test_arrays_of_other_names_are_refused_with_all_names(atc: Atc, om: Path) -> None:
    array = np.ones(SHAPE, np.float32)
    np.savez("b.npz", x=array, mask=array, extra=array)
    done = atc("run", om, "-i", "b.npz")
    assert (done.status, done.err[:14]) == (2, "error[ATC1007 ")
    assert "that the model does not have: extra, mask" in done.err
    assert "names are x;" in done.err
    np.savez("b.npz", mask=array, extra=array)
    done = atc("run", om, "-i", "x=b.npz")
    assert (done.status, done.err[:14]) == (2, "error[ATC1007 ")
    assert 'b.npz has no array "x"; it has mask, extra' in done.err


def test_lone_array_is_not_an_input_of_a_model_with_two(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", c=np.ones(3, np.float32))
    ports = [Port(name, DType.FLOAT32, (3,)) for name in "ab"]
    with pytest.raises(atc_py.AtcError, match="that the model does not have: c"):
        read_feeds([f"{tmp_path}/b.npz"], ports)
    assert set(read_feeds([f"b={tmp_path}/b.npz"], ports)) == {"b"}


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.nan, "has 2 NaN among 192 values, the first at index [0, 1, 2, 3]: nan"),
        (-np.inf, "has 2 infinite among 192 values, the first at index [0, 1, 2, 3]: -inf"),
    ],
)
def test_data_that_are_not_finite_are_warned_of(
    atc: Atc, model: Path, om: Path, command: str, value: float, text: str
) -> None:
    array = np.ones(SHAPE, np.float32)
    array[0, 1, 2, 3] = array[0, 2, 7, 7] = value
    np.save("x.npy", array)
    file = om if command == "run" else model
    done = atc(command, file, "-i", "x.npy")
    assert done.status == 0
    assert done.err.startswith("warning[ATC1031 input-not-finite]: input x")
    assert text in done.err
    assert done.err.count("warning[") == 1
    warnings = atc(command, file, "-i", "x.npy", "--json").json["warnings"]
    assert [each["place"] for each in warnings] == [{"field": "input x"}]


def test_scalar_and_narrow_floats_are_looked_at() -> None:
    feeds: dict[str, Any] = {
        "a": np.array(np.nan, np.float32),
        "b": np.array([1, np.inf, np.nan], ml_dtypes.bfloat16),
        "c": np.array([1, 2], np.int64),
        "d": np.zeros((0, 3), np.float16),
    }
    messages = [each.message for each in odd_feeds(feeds)]
    assert messages == [
        "input a has 1 NaN among 1 values, the first at index []: nan",
        "input b has 1 NaN and 1 infinite among 3 values, the first at index [1]: inf",
    ]
