"""The end of a program: its status, its signals, its streams, and what is left of it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.exec.conftest import PROGRAMS, ROOT, Ran, command, environment

Run = Callable[..., Ran]

ENDS = PROGRAMS / "ends.py"


def started(tmp_path: Path, small: Path, *way: object) -> subprocess.Popen[str]:
    """Start a program that prints `ready`, and then waits; return the launcher."""
    line = command("--report", tmp_path / "r.json", "--", sys.executable, ENDS, small, *way)
    launcher = subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path)),
        start_new_session=True,
    )
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    return launcher


def ended(tmp_path: Path, launcher: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the status and standard error; nothing is left, and the report has the run."""
    _, err = launcher.communicate(timeout=60)
    assert list(tmp_path.glob("*atc-py*")) == []
    (model,) = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["models"]
    assert model["npu"]["runs"] == 1
    return launcher.returncode, err


@pytest.mark.parametrize(
    ("way", "status"), [("exit", 0), ("exit", 7), ("_exit", 255), ("_exit", 3)]
)
def test_exit_status_is_the_programs(ran: Run, small: Path, way: str, status: int) -> None:
    done = ran("ends.py", small, way, status)
    assert (done.status, done.report["status"]) == (status, status)
    assert done.model["npu"]["runs"] == 1


def test_error_of_the_program_is_its_own(ran: Run, small: Path) -> None:
    done = ran("ends.py", small, "raises")
    assert done.status == 1
    assert "ValueError: of the program's own" in done.err
    assert "atc_py" not in done.err.partition("Models")[0]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGUSR1"])
def test_program_killed_by_a_signal_gives_128_and_its_number(
    ran: Run, small: Path, name: str
) -> None:
    number = getattr(signal, name)
    done = ran("ends.py", small, "killed", int(number))
    assert done.status == 128 + number
    assert done.model["npu"]["runs"] == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_signal_to_the_launcher_reaches_the_program(tmp_path: Path, small: Path, name: str) -> None:
    number = getattr(signal, name)
    launcher = started(tmp_path, small, "handles", int(number))
    time.sleep(0.3)  # the program sets its handler after `ready`
    launcher.send_signal(number)
    status, _ = ended(tmp_path, launcher)
    assert status == 33


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signal_that_ends_the_program_leaves_nothing(
    tmp_path: Path, small: Path, name: str, status: int
) -> None:
    launcher = started(tmp_path, small, "waits")
    launcher.send_signal(getattr(signal, name))
    found, err = ended(tmp_path, launcher)
    assert found == status
    assert ("KeyboardInterrupt" in err) == (name == "SIGINT")


def test_stopped_program_stops_the_launcher_and_goes_on_with_it(
    tmp_path: Path, small: Path
) -> None:
    launcher = started(tmp_path, small, "waits")
    (child,) = children(launcher.pid)
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: state(launcher.pid) == "T")
    assert state(child) == "T"
    launcher.send_signal(signal.SIGCONT)
    wait_for(lambda: state(child) != "T" and state(launcher.pid) != "T")
    launcher.terminate()
    assert ended(tmp_path, launcher)[0] == 143


def test_terminal_is_the_programs_and_its_interrupt_comes_once(tmp_path: Path) -> None:
    lines = (
        "import os, signal, sys, time\n"
        "count = []\n"
        "signal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
        "print([os.isatty(each) for each in range(3)], flush=True)\n"
        "until = time.monotonic() + 1\n"
        "while time.monotonic() < until: time.sleep(0.1)\n"
        "print('interrupts', len(count), flush=True)\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        line = command("--", sys.executable, "-c", lines)
        os.execve(line[0], line, environment(TMPDIR=str(tmp_path)))  # noqa: S606
    text = read_until(terminal, "[True, True, True]")
    os.write(terminal, b"\x03")
    text += read_until(terminal, "interrupts 1")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, text
    assert list(tmp_path.glob("*atc-py*")) == []


def test_streams_are_the_programs_own(tmp_path: Path) -> None:
    lines = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.stderr.write('e')"
    data = bytes(range(256)) * 4096
    done = subprocess.run(
        command("--", sys.executable, "-c", lines),
        input=data,
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env=environment(),
        timeout=60,
    )
    assert done.stdout == data
    assert done.stderr.startswith(b"e")


def children(process: int) -> list[int]:
    """Return the processes that one started."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    return [int(each) for each in text.split()]


def state(process: int) -> str:
    """Return the letter of a process's state."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return text.rpartition(") ")[2][0]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def read_until(terminal: int, wanted: str) -> str:
    """Return what a terminal shows up to a text."""
    text = ""
    while wanted not in text:
        text += os.read(terminal, 1000).decode(errors="replace")
    return text


def test_systems_that_cannot_wait_for_signals_handle_them(tmp_path: Path) -> None:
    launcher = (
        "import signal, sys\n"
        "del signal.sigtimedwait\n"
        "from atc_py.cli.main import main\n"
        "main(['exec', '--', sys.executable, '-c', sys.argv[1]])\n"
    )
    program = (
        "import signal, sys, threading\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait(30)\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", launcher, program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path)),
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    started.terminate()
    started.communicate(timeout=30)
    assert started.returncode == 9
    assert list(tmp_path.iterdir()) == []


def test_process_that_outlives_the_program_sees_nothing_of_it(tmp_path: Path) -> None:
    rest = (
        "import os, subprocess, sys, time; time.sleep(1.5); "
        'show = \'import os, sys; print(sorted(set(os.environ) & {"PYTHONPATH", "ATC_PY_EXEC"}),'
        ' [p for p in sys.path if "startup" in p])\'; '
        "subprocess.run([sys.executable, '-c', show], stdout=open('late.txt', 'w'))"
    )
    lines = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {rest!r}])"
    env = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    launcher = "import sys; sys.path.insert(0, sys.argv[1]); from atc_py.cli.main import main; "
    launcher += "main(['exec', '--', *sys.argv[2:]])"
    line = [sys.executable, "-c", launcher, str(ROOT), sys.executable, "-c", lines]
    subprocess.run(line, check=True, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL, timeout=60)
    late = tmp_path / "late.txt"
    wait_for(lambda: late.exists() and late.read_text(encoding="utf-8") != "")
    assert late.read_text(encoding="utf-8") == "[] []\n"


def test_process_killed_while_it_compiles_leaves_nothing(tmp_path: Path, small: Path) -> None:
    lines = (
        "import os, signal, sys, threading\n"
        "import onnxruntime\n"
        "import atc_py.system.temp_folders as temp_folders\n"
        "temp_folders.shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "onnxruntime.InferenceSession(sys.argv[1])\n"
    )
    done = subprocess.run(
        command("--", sys.executable, "-c", lines, small),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path)),
        timeout=120,
    )
    assert done.returncode == 137, done.stderr
    assert list(tmp_path.glob("*atc-py*")) == []
