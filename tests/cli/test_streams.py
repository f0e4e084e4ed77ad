"""Standard output and standard error that are closed, full, or that nobody reads."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from atc_py.cli.console import print_json, print_tables
from atc_py.report.tables import Table
from tests.cli.conftest import small_model
from tests.sampling import alternating, sampled, some

ROOT = Path(__file__).resolve().parents[2]
ATC = f"{sys.executable} -m atc_py"

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110


def shell(folder: Path, command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Return the outcome of `command` in a shell, where `atc-py` is the command under test."""
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command.replace("atc-py", ATC)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **settings},
    )


@needs_full
@pytest.mark.parametrize(
    "command",
    sampled(
        ["--help", "ops list", "ops show Conv --json"], ["--version", "", "ops", "explain --json"]
    ),
)
def test_full_stdout_is_a_file_that_cannot_be_written(tmp_path: Path, command: str) -> None:
    done = shell(tmp_path, f"atc-py {command} >/dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith("error[ATC2007 cannot-write-output]: cannot write standard out")
    assert "Traceback" not in done.stderr


@needs_full
def test_findings_in_json_go_to_stderr_where_stdout_is_full(tmp_path: Path) -> None:
    done = shell(tmp_path, "atc-py convert gone.onnx --json >/dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith("error[ATC2001 file-not-found]")
    assert done.stderr.count("error[") == 1


@needs_full
@pytest.mark.parametrize("stream", ["/dev/full", "&-"])
def test_stderr_that_takes_nothing_keeps_the_exit_status(tmp_path: Path, stream: str) -> None:
    assert shell(tmp_path, f"atc-py convert gone.onnx 2>{stream}").returncode == 3
    assert shell(tmp_path, f"atc-py convert --nothing 2>{stream}").returncode == 2
    done = shell(tmp_path, f"atc-py --version 2>{stream}")
    assert (done.returncode, done.stdout.startswith("atc-py, version")) == (0, True)


@needs_full
def test_warnings_that_cannot_be_printed_do_not_stop_a_run(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "small.onnx")
    np.save(tmp_path / "big.npy", np.full((1, 3, 8, 8), 60000, np.float32))
    done = shell(
        tmp_path, "atc-py convert small.onnx && atc-py run small.om -i big.npy 2>/dev/full"
    )
    assert done.returncode == 0
    assert "Outputs" in done.stdout


VERDICTS = {
    "check bad.onnx": 1,
    "check bad.onnx --format html": 1,
    "check bad.onnx --json": 1,
    "convert bad.onnx": 1,
    "run small.om --random 0 --expect zeros.npy": 4,
    "compare small.onnx --fail-under snr=1000": 4,
    "kernels small.om --verify --trust": 4,
    "ops validate bad.yaml": 3,
    "ops show Cnov": 2,
    "": 2,
}
"""Commands that fail on what they find, with their exit statuses."""


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with what VERDICTS fail on."""
    folder = tmp_path_factory.mktemp("failing")
    onnx.save(small_model(), folder / "small.onnx")
    onnx.save(small_model(operator="Strange"), folder / "bad.onnx")
    np.save(folder / "zeros.npy", np.zeros((1, 4, 8, 8), np.float32))
    (folder / "bad.yaml").write_text("op: 3\n", encoding="utf-8")
    assert shell(folder, "atc-py convert small.onnx").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("command", "reader"),
    alternating([*VERDICTS], ["| true", "2>&1 | true", "| head -c 1", ">&-", "<&- >&- 2>&-"], 3),
)
def test_verdict_stays_where_nobody_reads_it(failing: Path, command: str, reader: str) -> None:
    done = shell(failing, f"(sleep 0.1; exec atc-py {command}) {reader}", CXX="no-compiler")
    assert done.returncode == VERDICTS[command]
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "2>" in reader or (command.startswith("check") and reader != ">&-"):
        assert done.stderr == ""


@needs_full
@pytest.mark.parametrize("command", some([each for each in VERDICTS if "check" in each], 3))
def test_verdict_that_cannot_be_printed_is_a_file_that_cannot_be_written(
    failing: Path, command: str
) -> None:
    done = shell(failing, f"atc-py {command} >/dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith("error[ATC2007 cannot-write-output]: cannot write standard out")
    assert done.stderr.count("error[") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="sets the size of a pipe")
def test_slow_reader_of_a_stream_without_waiting_gets_everything(tmp_path: Path) -> None:
    small_pipe = "import fcntl, os, sys; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)"
    code = f"{small_pipe}; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])"
    start = f"{sys.executable} -c '{code}' {ATC} ops list --json"
    done = shell(tmp_path, f"{start} | (sleep 3; cat)")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shell(tmp_path, "atc-py ops list --json").stdout
    assert len(done.stdout) > 4096


def test_pipe_of_another_process_that_breaks_is_a_bug(tmp_path: Path) -> None:
    code = (
        "import atc_py.diag as c\n"
        "def broken():\n    raise BrokenPipeError(32, 'Broken pipe')\n"
        "c.all_codes = broken\n"
        "from atc_py.cli.main import main\nmain(['explain'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr[:14]) == (70, "error[ATC9001 ")


def test_output_never_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom atc_py.cli.guards import guarded_streams\n"
        "with guarded_streams():\n"
        "    with open('file', 'w') as file:\n        assert file.fileno() > 2\n"
        "        os.write(1, b'x')\n        os.write(2, b'x')\n        print('lost')\n"
    )
    done = shell(tmp_path, f'{sys.executable} -c "{code}" <&- >&- 2>&-')
    assert done.returncode == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_closed_stdout_loses_what_is_printed_and_nothing_else(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "small.onnx")
    for command in ("convert small.onnx", "info small.om", "--help", "ops list --json"):
        done = shell(tmp_path, f"atc-py {command} >&-")
        assert (done.returncode, done.stderr) == (0, "")
    done = shell(tmp_path, "atc-py info gone.om >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_stdout_open_for_reading_only_cannot_be_written(tmp_path: Path) -> None:
    done = shell(tmp_path, "atc-py --version 1</dev/null")
    assert (done.returncode, done.stderr[:14]) == (3, "error[ATC2007 ")


@pytest.mark.parametrize(
    ("command", "status"),
    sampled(
        [("explain --json", 0), ("convert gone.onnx --json", 3)],
        [("ops list", 0), ("explain", 0), ("--help", 0), ("convert --passes", 0)],
    ),
)
def test_reader_that_is_gone_is_not_an_error(tmp_path: Path, command: str, status: int) -> None:
    done = shell(tmp_path, f"(sleep 0.2; exec atc-py {command}) | true")
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("encoding", sampled(["ascii"], ["latin-1", "utf-8"]))
def test_text_that_the_encoding_lacks_is_escaped(tmp_path: Path, encoding: str) -> None:
    done = shell(tmp_path, "atc-py ops show Conv", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_stays_json_in_a_narrow_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"name": "\u5377\u79ef\x1b\udcff"})
    stream.flush()
    assert json.loads(raw.getvalue()) == {"name": "\u5377\u79ef\x1b\udcff"}


def test_bug_with_a_sound_stdout_is_still_a_bug(tmp_path: Path) -> None:
    code = (
        "import atc_py.diag as c\n"
        "def broken():\n    raise OSError('what nobody expected')\n"
        "c.all_codes = broken\n"
        "from atc_py.cli.main import main\nmain(['explain'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr[:14]) == (70, "error[ATC9001 ")


@pytest.mark.parametrize("terminal", [False, True])
def test_tables_cannot_command_the_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    evil = "a\x1b]0;t\x07b\nc\rd\0e\u202ef\x9bg[red]h"
    print_tables([Table(evil, ("name",), ((evil,),))])
    text = stream.getvalue()
    assert text.count(r"a\x1b]0;t\x07b\nc\rd\x00e\u202ef\x9bg[red]h") == 2
    assert all(c.isprintable() or c == "\n" for c in text)
