"""Threads of one process compile and load models at the same time, the first time too."""

import subprocess
import sys
from pathlib import Path

import onnx

from tests.cli.conftest import small_model

PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor

import atc_py

sys.setswitchinterval(1e-5)


def work(at):
    atc_py.convert("small.onnx", f"{at}.om")
    with atc_py.load(f"{at}.om") as model:
        return model.inputs[0].name


with ThreadPoolExecutor(6) as executor:
    print(*executor.map(work, range(6)))
"""


def test_threads_may_be_the_first_to_decode(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "small.onnx")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, "x x x x x x\n"), done.stderr
