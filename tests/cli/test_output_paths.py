"""Names for outputs that name no file, or one that must not be lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import atc_py

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

    Atc = Callable[..., Result]


@pytest.mark.parametrize(
    "output", ["", ".", "..", "/", "sub/", "sub/.", "./", ".om", "sub/.om", "-"]
)
def test_output_that_names_no_file_is_refused(atc: Atc, model: Path, output: str) -> None:
    Path("sub").mkdir()
    before = sorted(Path().rglob("*"))
    done = atc("convert", model, "-o", output)
    assert done.status == 2
    assert done.err.startswith(f"error[ATC1001 bad-option-value]: the output {output!r} names no")
    assert sorted(Path().rglob("*")) == before


def test_no_file_is_called_as_standard_output_is(atc: Atc, model: Path) -> None:
    for arguments in (
        ("check", model, "--output", "-"),
        ("profile", model, "-o", "-"),
        ("quantize", model, "-o", "-"),
    ):
        done = atc(*arguments)
        assert done.status == 2, arguments
    assert not Path("-").exists()


@pytest.mark.parametrize("output", ["sub", "sub.om", "/dev/null", "pipe"])
def test_output_that_is_no_file_is_refused_at_once(atc: Atc, output: str) -> None:
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
        assert "is the model itself" in done.err
        assert model.read_bytes() == data
    assert atc("convert", "soft.om", "-o", "other").status == 0


def test_empty_folder_names_are_refused(atc: Atc, om: Path, model: Path) -> None:
    before = sorted(Path().rglob("*"))
    for command in (
        ("convert", model, "-o", "n.om", "--dump-ir", ""),
        ("convert", model, "-o", "n.om", "--kernels", ""),
        ("run", om, "--random", 0, "-o", ""),
    ):
        done = atc(*command)
        assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")
        assert "names no folder" in done.err
    assert sorted(Path().rglob("*")) == before
    with pytest.raises(atc_py.AtcError, match="kernels is empty"):
        atc_py.convert(model, "n.om", kernels="")


@pytest.mark.parametrize("model", ["", ".", "/"])
def test_model_without_a_name_is_not_blamed_on_the_output(atc: Atc, model: str) -> None:
    done = atc("convert", model)
    assert (done.status, done.err[:14]) == (3, "error[ATC2001 ")
