"""`atc-py check` of folders and patterns: every model once, a summary, several processes."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.diag import all_codes
from atc_py.options.model_paths import model_paths
from atc_py.pipeline import check as checking
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text
from atc_py.system import jobs
from atc_py.system.jobs import TaskFailure, TaskFailureKind
from atc_py.text import Text
from tests.cli.conftest import Result, small_model
from tests.system.jobs.failing import FailingExecutor

Atc = Callable[..., Result]


@pytest.fixture
def nets(atc: Atc) -> Atc:
    """Make a folder with a sound model, one that is refused and one below; return the command."""
    Path("nets/inner").mkdir(parents=True)
    onnx.save(small_model(), "nets/b.onnx")
    onnx.save(small_model(operator="Strange"), "nets/a.onnx")
    onnx.save(small_model(), "nets/inner/c.onnx")
    Path("nets/readme.txt").write_text("about", encoding="utf-8")
    return atc


def models_of(done: Result) -> list[str]:
    """Return the paths in a check's JSON document."""
    return [each["path"] for each in done.json["models"]]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (("nets",), ["nets/a.onnx", "nets/b.onnx", "nets/inner/c.onnx"]),
        (("nets/*.onnx",), ["nets/a.onnx", "nets/b.onnx"]),
        (("nets/**/*.onnx",), ["nets/a.onnx", "nets/b.onnx", "nets/inner/c.onnx"]),
        (("nets/inner/?.onnx", "nets/b.onnx"), ["nets/inner/c.onnx", "nets/b.onnx"]),
        (
            ("nets/b.onnx", "nets", "nets/b.onnx"),
            ["nets/b.onnx", "nets/a.onnx", "nets/inner/c.onnx"],
        ),
    ],
)
def test_each_model_is_checked_once(nets: Atc, given: tuple[str, ...], found: list[str]) -> None:
    assert models_of(nets("check", *given, "--json")) == found


def test_summary_comes_last(nets: Atc) -> None:
    done = nets("check", "nets")
    assert done.status == 1
    summary = done.out[done.out.index("\nSummary\n") :].splitlines()
    assert [line.split()[0] for line in summary[3:7]] == [
        "nets/a.onnx", "nets/b.onnx", "nets/inner/c.onnx", "total",
    ]  # fmt: skip


def test_file_whose_name_is_a_pattern_is_that_file(nets: Atc) -> None:
    onnx.save(small_model(), "n[1].onnx")
    assert models_of(nets("check", "n[1].onnx", "--json")) == ["n[1].onnx"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("empty", "cannot read empty: no .onnx file is in this folder"),
        ("nets/*.om", "cannot read nets/*.om: no file matches"),
        ("none/**", "cannot read none/**: no file matches"),
    ],
)
def test_nothing_to_check_is_refused(nets: Atc, given: str, words: str) -> None:
    Path("empty").mkdir()
    done = nets("check", given)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"error[ATC2001 file-not-found]: {words}")


def test_report_is_not_written_over_a_model_of_the_folder(nets: Atc) -> None:
    before = Path("nets/b.onnx").read_bytes()
    done = nets("check", "nets", "-o", "nets/b.onnx", "--format", "json")
    assert done.status == 2
    assert Path("nets/b.onnx").read_bytes() == before


@pytest.mark.usefixtures("nets")
def test_processes_find_what_one_finds() -> None:
    Path("nets/d.onnx").write_bytes(b"no model")
    paths = model_paths(["nets"])
    stages: list[str] = []
    alone = atc_py.check_models(paths, soc="Ascend310P3")
    apart = atc_py.check_models(paths, soc="Ascend310P3", processes=2, on_stage=stages.append)
    assert apart == alone
    assert check_text(check_document(apart, "en")) == check_text(check_document(alone, "en"))
    assert stages == [f"{count} of 4 models" for count in (1, 2, 3, 4)]


@pytest.mark.usefixtures("nets")
def test_names_of_all_models_count_in_processes_too() -> None:
    with pytest.raises(atc_py.AtcError, match="no model has an input 'z'"):
        atc_py.check_models(["nets/a.onnx", "nets/b.onnx"], input_shape="z:1", processes=2)


@pytest.mark.parametrize(("worth", "apart"), [(1e9, 0), (-1.0, 2)])
@pytest.mark.usefixtures("nets")
def test_processes_start_where_the_first_models_say_that_it_pays(
    monkeypatch: pytest.MonkeyPatch, worth: float, apart: int
) -> None:
    rest: list[Path] = []

    def noted(models: list[Path], check: Callable[[Path], object], _n: int) -> object:
        rest.extend(models)
        return [check(path) for path in models]

    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr(checking, "_WORTH", worth)
    monkeypatch.setattr(checking, "_checked_apart", noted)
    paths = model_paths(["nets"])
    assert len(atc_py.check_models(paths, processes=None).models) == 3
    assert rest == (paths[-apart:] if apart else [])


@pytest.mark.usefixtures("nets")
def test_process_that_dies_leaves_the_rest_to_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = FailingExecutor({1: TaskFailure(TaskFailureKind.CRASHED, Text("it ended"))})
    monkeypatch.setattr(jobs, "open_executor", lambda *_, **__: nullcontext(executor))
    paths = model_paths(["nets"])
    assert atc_py.check_models(paths, processes=2) == atc_py.check_models(paths)
    assert len(executor.given) == len(paths)


@pytest.mark.usefixtures("nets")
def test_processes_do_not_run_the_program_that_asks_for_them_again() -> None:
    Path("program.py").write_text(
        "import atc_py\n"
        "print(len(atc_py.check_models(['nets/a.onnx', 'nets/b.onnx'], processes=2).models))\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_codes_keep_their_identity_between_processes() -> None:
    for code in all_codes():
        assert pickle.loads(pickle.dumps(code)) is code  # noqa: S301  (it is this test's own)
