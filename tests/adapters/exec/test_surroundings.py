"""What a program sees of `exec` in its environment: nothing; and interpreters that the hook cannot enter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atc_py.adapters.exec.run import defeating_flags
from tests.adapters.exec.conftest import PROGRAMS, ROOT, Ran, command, environment

Run = Callable[..., Ran]


def both(tmp_path: Path, python: str = sys.executable, **others: str) -> tuple[Any, Any]:
    """Return what the program sees without `exec`, and under it."""
    program = [python, str(PROGRAMS / "surroundings.py")]
    found = []
    # The launcher itself needs the checkout, which is in no PYTHONPATH of the program's.
    launcher = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{LAUNCH}"]
    for line in (program, [*launcher, *program]):
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env={**kept, **others},
            timeout=120,
        )
        found.append(json.loads(done.stdout))
    return found[0], found[1]


LAUNCH = "from atc_py.cli.main import main; main(['exec', '--', *sys.argv[1:]])"


@pytest.mark.parametrize("paths", [None, "", "one", f"one{os.pathsep}two", "one:"])
def test_program_and_children_see_their_own_environment(tmp_path: Path, paths: str | None) -> None:
    others = {} if paths is None else {"PYTHONPATH": paths}
    plain, under = both(tmp_path, **others)
    assert under == plain


def test_sitecustomize_of_the_user_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("MARK = 'mine'\n", encoding="utf-8")
    plain, under = both(tmp_path, PYTHONPATH=str(tmp_path / "own"))
    assert plain["custom"] == plain["child"]["custom"] == "mine"
    assert under == plain


def test_error_in_sitecustomize_of_the_user_is_said_as_without(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('mine')\n", encoding="utf-8")
    line = [sys.executable, "-c", "print('on')"]
    env = environment(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    plain, under = (
        subprocess.run(each, capture_output=True, text=True, check=True, env=env, cwd=tmp_path)
        for each in (line, command("--", *line))
    )
    assert under.stdout == plain.stdout == "on\n"
    assert "ValueError: mine" in plain.stderr
    assert plain.stderr in under.stderr


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("python x.py", ()),
        ("python3.11 -I x.py", ("-I",)),
        ("/usr/bin/python3 -sE x.py", ("-E",)),
        ("python -X dev -W error -S -c pass", ("-S",)),
        ("python -Wonce x.py -I", ()),
        ("python -c pass -I", ()),
        ("python -Bm mod -E", ()),
        ("python - -I", ()),
        ("python --version", ()),
        ("python -IS x.py", ("-I", "-S")),
        ("pytest -E", ()),
        ("python", ()),
    ],
)
def test_options_of_python_that_keep_the_hook_out_are_found(
    words: str, flags: tuple[str, ...]
) -> None:
    assert defeating_flags(words.split()) == flags


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_program_that_the_hook_cannot_enter_is_reported(tmp_path: Path, flag: str) -> None:
    done = under(tmp_path, sys.executable, flag, "-c", "print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert f"runs with {flag}, which keeps the hook from loading" in done.stderr
    assert "ATC7062" in done.stderr


def test_program_in_another_language_is_reported(tmp_path: Path) -> None:
    done = under(tmp_path, "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "sh started no Python that atc-py could hook" in done.stderr


def test_program_without_sessions_is_reported(tmp_path: Path) -> None:
    done = under(tmp_path, sys.executable, "-c", "pass")
    assert "ATC7062" in done.stderr
    assert "the program did not import onnxruntime" in done.stderr
    done = under(tmp_path, sys.executable, "-c", "import onnxruntime")
    assert "the program created no session" in done.stderr


def test_program_without_onnxruntime_fails_as_before_with_a_hint(tmp_path: Path) -> None:
    bare = bare_python(tmp_path)
    done = under(tmp_path, bare, "-c", "import onnxruntime")
    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'onnxruntime'" in done.stderr
    assert "warning[ATC7064" in done.stderr
    assert "atc-py[ort]" in done.stderr
    quiet = under(tmp_path, bare, "-c", "try: import onnxruntime\nexcept ImportError: print('no')")
    assert (quiet.returncode, quiet.stdout) == (0, "no\n")
    assert "ATC7064" in quiet.stderr


def test_environment_without_atc_py_gets_its_libraries_for_sessions_alone(
    tmp_path: Path, small: Path
) -> None:
    bare = bare_python(tmp_path, "numpy", "numpy.libs", "onnxruntime", "flatbuffers", "google")
    lines = (
        "import numpy, onnxruntime, sys\n"
        "s = onnxruntime.InferenceSession(sys.argv[1])\n"
        "print(s.run(None, {'x': numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape)\n"
        "import yaml2_that_is_nowhere\n"
    )
    done = under(tmp_path, bare, "-c", lines, small)
    assert done.stdout == "(1, 4, 8, 8)\n", done.stderr
    assert "yaml2_that_is_nowhere" in done.stderr
    assert "ATC7061" not in done.stderr
    assert "small.onnx  NPU" in done.stderr
    missing = under(tmp_path, bare, "-c", "import onnxruntime, msgspec")
    assert "No module named 'msgspec'" in missing.stderr


def test_libraries_that_are_too_old_are_said(tmp_path: Path, small: Path) -> None:
    bare = bare_python(tmp_path, "numpy", "numpy.libs", "onnxruntime", "flatbuffers", "google")
    site = next((bare.parent.parent / "lib").glob("python*/site-packages"))
    (site / "onnx-1.2.0.dist-info").mkdir()
    (site / "onnx-1.2.0.dist-info" / "METADATA").write_text("Name: onnx\nVersion: 1.2.0\n")
    lines = (
        "import numpy, onnxruntime, sys\n"
        "s = onnxruntime.InferenceSession(sys.argv[1])\n"
        "print(s.run(None, {'x': numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape)\n"
    )
    done = under(tmp_path, bare, "-c", lines, small)
    assert (done.returncode, done.stdout) == (0, "(1, 4, 8, 8)\n"), done.stderr
    assert "ATC7063" in done.stderr
    assert "onnx 1.2.0" in done.stderr
    strict = under(tmp_path, bare, "-c", lines, small, options=("--strict",))
    assert (strict.returncode, strict.stdout) == (2, ""), strict.stderr


def test_compiled_modules_of_another_python_are_not_used(tmp_path: Path, small: Path) -> None:
    bare = bare_python(tmp_path, "numpy", "numpy.libs", "onnxruntime", "flatbuffers", "google")
    launcher = (
        "import sys, atc_py.adapters.exec.run as run\n"
        "run.python_tag = lambda: 'cpython-399'\n"
        "from atc_py.cli.main import main\n"
        "main(['exec', '--', *sys.argv[1:]])\n"
    )
    lines = (
        "import numpy, onnxruntime, sys\n"
        "s = onnxruntime.InferenceSession(sys.argv[1])\n"
        "print(s.run(None, {'x': numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", launcher, bare, "-c", lines, small],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(),
        timeout=120,
    )
    assert done.stdout == "(1, 4, 8, 8)\n"
    assert "ATC7063" in done.stderr
    assert ", which atc-py needs: " in done.stderr


def test_program_with_another_atc_py_keeps_it(tmp_path: Path, small: Path) -> None:
    (tmp_path / "atc_py").mkdir()
    (tmp_path / "atc_py" / "__init__.py").write_text("MINE = 3\n", encoding="utf-8")
    lines = (
        "import sys; sys.path.insert(0, '')\n"
        "import atc_py, numpy, onnxruntime\n"
        "s = onnxruntime.InferenceSession(sys.argv[1])\n"
        "print(atc_py.MINE, s.run(None, {'x': numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape)\n"
    )
    (tmp_path / "program.py").write_text(lines, encoding="utf-8")
    launcher = f"import sys; sys.path[0] = {str(ROOT)!r}\n{LAUNCH}"
    done = subprocess.run(
        [sys.executable, "-c", launcher, sys.executable, "program.py", small],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.stdout == "3 (1, 4, 8, 8)\n"
    assert "ATC7063" in done.stderr
    assert "another atc_py" in done.stderr


OTHERS = sorted(
    Path(sys.base_prefix).parent.glob("*/bin/python") if "versions" in sys.base_prefix else []
)


@pytest.mark.parametrize("python", OTHERS, ids=[path.parent.parent.name for path in OTHERS])
def test_any_python_starts_and_sees_nothing(tmp_path: Path, python: Path) -> None:
    lines = (
        "import sys; print([p for p in sys.path if 'startup' in p], 'sitecustomize' in sys.modules)"
    )
    done = under(tmp_path, python, "-c", lines)
    assert (done.returncode, done.stdout.split()) == (0, ["[]", "False"]) or done.stdout.startswith(
        "([], False)"
    ), done.stderr
    assert done.stderr.count("warning[") == 1
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 10))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("ATC7063" in done.stderr) == (version.stdout == "False\n")
    if version.stdout == "True\n":
        plain, seen = both(tmp_path, str(python))
        assert seen == plain


def under(
    tmp_path: Path, *line: object, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program under `exec`; no temporary folder is left."""
    done = subprocess.run(
        command(*options, "--", *line),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path)),
        timeout=120,
    )
    assert list(tmp_path.glob("atc-py-*")) == []
    assert "sitecustomize" not in done.stderr
    return done


def bare_python(tmp_path: Path, *packages: str) -> Path:
    """Return a Python with those packages of this environment, and nothing else."""
    folder = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    for name in packages:
        found = next(Path(each) / name for each in sys.path if (Path(each) / name).exists())
        (site / name).symlink_to(found)
    shutil.rmtree(folder / "include", ignore_errors=True)
    return folder / "bin" / "python"
