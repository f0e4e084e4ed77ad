"""Names for outputs that name no file, or one that must not be lost."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import atc_py
from tests.cli.conftest import Result
from tests.cli.test_faults_of_files import CALIBRATION

Atc = Callable[..., Result]


@pytest.mark.parametrize(
    "output", ["", ".", "..", "/", "sub/", "sub/.", "./", ".om", "sub/.om", "-"]
)
def test_output_that_names_no_file_is_refused(atc: Atc, model: Path, output: str) -> None:
    Path("sub").mkdir()
    before = sorted(Path().rglob("*"))
    done = atc("convert", model, "-o", output)
    assert done.status == 2
    assert done.err.startswith(
        f"error[ATC1001 bad-option-value]: the output {output!r} does not name"
    )
    assert sorted(Path().rglob("*")) == before


WRITERS: dict[str, tuple[object, ...]] = {
    "convert": ("convert", "small.onnx", "-o"),
    "convert --kernels": ("convert", "small.onnx", "-o", "n.om", "--kernels"),
    "convert --dump-ir": ("convert", "small.onnx", "-o", "n.om", "--dump-ir"),
    "aipp": ("aipp", "aipp.cfg", "picture.npy", "-o"),
    "check": ("check", "small.onnx", "-o"),
    "check --check-report": ("check", "small.onnx", "--check-report"),
    "compare": ("compare", "small.onnx", "-o"),
    "compare --suggest": ("compare", "small.onnx", "--suggest"),
    "diff": ("diff", "small.om", "small.om", "--html"),
    "kernels": ("kernels", "small.om", "-o"),
    "profile": ("profile", "small.onnx", "-o"),
    "profile --trace": ("profile", "small.onnx", "--trace"),
    "profile --save-factors": ("profile", "--calibrate", "cal.csv", "--save-factors"),
    "quantize": ("quantize", "small.onnx", "-o"),
    "run": ("run", "small.om", "--random", 0, "-o"),
}
"""Command lines that end before the name of a file or folder to write."""

FOLDERS = {"convert --kernels", "convert --dump-ir", "kernels", "run"}
"""Those that write a folder, which is made where it is missing."""


@pytest.mark.parametrize("command", WRITERS)
def test_standard_streams_and_devices_are_not_outputs(atc: Atc, om: Path, command: str) -> None:
    assert om.exists()
    Path("cal.csv").write_text(CALIBRATION)
    Path("log").write_text("older")
    Path("link.om").symlink_to("/dev/stdout")
    os.mkfifo("pipe")
    before = sorted(Path().rglob("*"))
    with Path("log").open() as log:
        for output, status in (
            ("-", 2),
            ("/dev/stdout", 3),
            ("/dev/stderr", 3),
            ("/dev/null", 3),
            (f"/dev/fd/{log.fileno()}", 3),
            (f"/proc/self/fd/{log.fileno()}", 3),
            ("link.om", 3),
            ("pipe", 3),
        ):
            done = atc(*WRITERS[command], output)
            code = "ATC1001 bad-option-value" if status == 2 else "ATC2007 cannot-write-output"
            assert (done.status, done.err.partition("]")[0]) == (status, f"error[{code}"), output
            assert output in done.err
    assert sorted(Path().rglob("*")) == before
    assert Path("log").read_text() == "older"


@pytest.mark.parametrize("output", ["sub", "sub.om", "/dev/null", "pipe"])
def test_output_that_is_not_a_file_is_refused_at_once(atc: Atc, output: str) -> None:
    Path("sub").mkdir()
    Path("sub.om").mkdir()
    os.mkfifo("pipe")
    before = sorted(Path().rglob("*"))
    done = atc("convert", "gone.onnx", "-o", output)
    assert (done.status, done.err[:14]) == (3, "error[ATC2007 ")
    assert "help: give the name of a file" in done.err
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(("output", "file"), [("a", "a.om"), ("a.b", "a.b.om"), ("..om", "..om")])
def test_output_gets_the_suffix_where_it_lacks_it(
    atc: Atc, model: Path, output: str, file: str
) -> None:
    assert atc("convert", model, "-o", output).status == 0
    assert Path(file).is_file()


def test_output_that_is_the_model_is_refused(atc: Atc, model: Path) -> None:
    data = model.read_bytes()
    model = model.rename("model.om")
    Path("hard.om").hardlink_to(model)
    Path("soft.om").symlink_to(model.name)
    for arguments in ((), ("-o", "model"), ("-o", "./hard.om"), ("-o", "soft.om")):
        done = atc("convert", model, *arguments)
        assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")
        assert "is a file that is read" in done.err
        assert model.read_bytes() == data
    assert atc("convert", "soft.om", "-o", "other").status == 0


def test_name_with_a_nul_byte_is_refused(model: Path) -> None:
    for call in (atc_py.convert, atc_py.quantize_model):
        with pytest.raises(atc_py.AtcError, match="does not name a file"):
            call(model, "a\0b")
    with pytest.raises(atc_py.AtcError, match="does not name a folder"):
        atc_py.convert(model, "n.om", kernels="a\0b")


def test_empty_folder_names_are_refused(atc: Atc, om: Path, model: Path) -> None:
    before = sorted(Path().rglob("*"))
    for command in (
        ("convert", model, "-o", "n.om", "--dump-ir", ""),
        ("convert", model, "-o", "n.om", "--kernels", ""),
        ("run", om, "--random", 0, "-o", ""),
    ):
        done = atc(*command)
        assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")
        assert "must name a folder" in done.err
    assert sorted(Path().rglob("*")) == before
    with pytest.raises(atc_py.AtcError, match="kernels is empty"):
        atc_py.convert(model, "n.om", kernels="")


@pytest.mark.parametrize("model", ["", ".", "/"])
def test_model_without_a_name_is_not_blamed_on_the_output(atc: Atc, model: str) -> None:
    for command in ("convert", "quantize"):
        done = atc(command, model)
        assert (done.status, done.err[:14]) == (3, "error[ATC2001 ")


@pytest.mark.parametrize("command", [each for each in WRITERS if each not in FOLDERS])
def test_missing_folder_is_reported_before_any_work(
    atc: Atc, om: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert om.exists()
    Path("cal.csv").write_text(CALIBRATION)

    def work(*_: object, **__: object) -> None:
        raise AssertionError("work began")

    for place in ("compile.read_model", "check.read_model", "profile.read_measurements"):
        monkeypatch.setattr(f"atc_py.pipeline.{place}", work)
    done = atc(*WRITERS[command], "gone/file")
    assert (done.status, done.err[:14]) == (3, "error[ATC2007 ")
    assert "there is no folder gone" in done.err
    assert "help: create the folder first" in done.err
