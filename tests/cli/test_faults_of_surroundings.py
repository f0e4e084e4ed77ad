"""The command without a home, a locale, memory, readers or a clock, and beside another of its kind."""

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.cli.test_streams import ROOT, shell
from tests.faults.models import small_model
from tests.sampling import sampled

Atc = Callable[..., Result]

ODD = "n\udce4me-\u5b50"
"""A name that is no UTF-8 text, and that narrow encodings lack."""

DOS = ("keep.txt", "mix.json", "modes.txt", "switch.cfg", "baseline.json", "measured.csv")


def atc(folder: Path, *args: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Return the command in its own process; the environment has the settings and little else."""
    env = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "atc_py", *args],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        cwd=folder,
        env={**env, **settings},
        timeout=120,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize("home", sampled(["/proc"], [None, "relative"]))
def test_home_that_is_none_costs_the_template_cache_alone(tmp_path: Path, home: str | None) -> None:
    small_model(tmp_path)
    settings = {} if home is None else {"HOME": home}
    done = atc(tmp_path, "convert", "small.onnx", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.om", "small.onnx"]


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="names are Unicode there")
@pytest.mark.parametrize(
    "locale",
    sampled(
        [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
        [{"LC_ALL": "no_SUCH.ISO-8859-1", "PYTHONUTF8": "0"}],
    ),
)
def test_names_that_are_not_text_work_in_every_locale(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    small_model(tmp_path, f"{ODD}.onnx")
    for command in (
        ["convert", f"{ODD}.onnx", "--kernels", f"{ODD}.k"],
        ["run", f"{ODD}.om", "--random", "1", "-o", f"{ODD}.d", "--json"],
    ):
        done = atc(tmp_path, *command, **locale)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / f"{ODD}.d" / "y.npy").is_file()
    missing = atc(tmp_path, "check", f"x{ODD}.onnx", "--lang", "zh", **locale)
    assert missing.returncode == 3
    assert "ATC2001" in missing.stdout


@pytest.mark.parametrize(
    "command",
    sampled(
        ["check small.onnx --format html"],
        ["convert small.onnx", "profile small.onnx", "run small.om --random 1"],
    ),
)
def test_reader_that_leaves_early_is_not_an_error(tmp_path: Path, command: str) -> None:
    small_model(tmp_path)
    start = "" if "small.onnx" in command else "atc-py convert small.onnx >/dev/null && "
    done = shell(tmp_path, f"{start}atc-py {command} | head -c 1 >/dev/null")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems count otherwise")
@pytest.mark.parametrize("megabytes", [60, 420])
def test_memory_that_the_system_refuses_is_reported(tmp_path: Path, megabytes: int) -> None:
    small_model(tmp_path)
    limit = f"ulimit -v {megabytes * 1024}; export OPENBLAS_NUM_THREADS=1"
    for command in ("check small.onnx", "convert small.onnx", "compare small.onnx"):
        done = shell(tmp_path, f"{limit}; atc-py {command}")
        assert "Traceback" not in done.stderr
        if done.returncode:
            assert done.returncode == 3
            assert done.stderr.startswith("error[ATC2040 memory-limit]: ")
            assert "ulimit" in done.stderr
    assert not [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"]


def test_conversions_to_one_output_do_not_meet(tmp_path: Path) -> None:
    small_model(tmp_path)
    modes = ("force_fp16", "must_keep_origin_dtype")
    whole = []
    for mode in modes:
        assert atc(tmp_path, "convert", "small.onnx", "--precision-mode", mode).returncode == 0
        whole.append((tmp_path / "small.om").read_bytes())
    command = [sys.executable, "-m", "atc_py", "convert", "small.onnx", "--precision-mode"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([*command, mode], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)
        for mode in (*modes, modes[0])
    ]
    while any(process.poll() is None for process in running):
        assert (tmp_path / "small.om").read_bytes() in whole
        time.sleep(0.01)
    assert [process.returncode for process in running] == [0, 0, 0]
    assert (tmp_path / "small.om").read_bytes() in whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.om", "small.onnx"]


@pytest.mark.parametrize("now", [0.0, -86400.0, 2.0**33])
def test_clock_that_is_wrong_changes_nothing(
    atc: Atc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    small_model(tmp_path)
    assert atc("convert", "small.onnx", "-o", "today.om").status == 0
    os.utime("small.onnx", (now, now))
    monkeypatch.setattr(time, "time", lambda: now)
    assert atc("convert", "small.onnx", "-o", "then.om").status == 0
    assert atc("kernels", "small.onnx").status == 0
    assert Path("then.om").read_bytes() == Path("today.om").read_bytes()
    with zipfile.ZipFile("then.om") as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
def test_windows_line_ends_mean_the_same(atc: Atc, tmp_path: Path, mark: bytes) -> None:
    small_model(tmp_path)
    assert atc("check", "small.onnx", "--format", "json", "-o", "baseline.json").status == 0
    rows = [f'Add,"{n},1024;{n},1024",float16,{n / 100}\n' for n in (256, 512, 1024, 2048, 4096)]
    texts = {
        "keep.txt": "OpType::Sigmoid\nadd1\n",
        "mix.json": '{"black-list":\n {"to-add": ["Sigmoid"]}}\n',
        "modes.txt": "Sigmoid=high_precision\n",
        "switch.cfg": "merge-kernels:off\nfuse-layer-norm:off\n",
        "measured.csv": "op,shape,dtype,time_us\n" + "".join(rows),
        "baseline.json": Path("baseline.json").read_text(encoding="utf-8"),
    }
    assert tuple(sorted(texts)) == tuple(sorted(DOS))
    commands = (
        ("convert", "small.onnx", "-o", "a.om", "--keep-dtype", "keep.txt"),
        ("convert", "small.onnx", "-o", "b.om", "--precision-mode", "allow_mix_precision",
         "--modify-mixlist", "mix.json", "--op-precision-mode", "modes.txt"),
        ("convert", "small.onnx", "-o", "c.om", "--fusion-switch-file", "switch.cfg"),
        ("check", "small.onnx", "--baseline", "baseline.json"),
        ("profile", "--calibrate", "measured.csv", "--save-factors", "factors.json"),
    )  # fmt: skip
    results = []
    for ends in (b"\n", b"\r\n"):
        for name, text in texts.items():
            data = text.encode().replace(b"\n", ends)
            Path(name).write_bytes(mark + data if ends == b"\r\n" else data)
        done = [atc(*command) for command in commands]
        assert [(each.status, each.err) for each in done] == [(0, "")] * len(commands)
        results.append([Path(name).read_bytes() for name in ("a.om", "b.om", "c.om")])
    assert results[0] == results[1]


def test_specifications_and_templates_with_windows_line_ends_mean_the_same(
    atc: Atc, tmp_path: Path
) -> None:
    small_model(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "templates").mkdir()
    for source, target in (
        ("op_specs/base/math/sigmoid.yaml", "specs/sigmoid.yaml"),
        ("templates/kernels/elementwise.cpp.j2", "templates/kernels/elementwise.cpp.j2"),
    ):
        text = next(ROOT.glob(source.replace("math", "*"))).read_bytes()
        (tmp_path / target).parent.mkdir(exist_ok=True)
        (tmp_path / target).write_bytes(text.replace(b"\n", b"\r\n"))
    assert atc("convert", "small.onnx", "-o", "own.om").status == 0
    done = atc("convert", "small.onnx", "-o", "theirs.om", "--op-specs", "specs",
               "--templates", "templates")  # fmt: skip
    assert done.status == 0, done.err
    with zipfile.ZipFile("own.om") as own, zipfile.ZipFile("theirs.om") as theirs:
        kernels = [name for name in own.namelist() if name.endswith(".cpp")]
        assert kernels
        assert all(own.read(name) == theirs.read(name) for name in kernels)
