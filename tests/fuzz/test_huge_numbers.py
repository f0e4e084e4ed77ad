"""A few models with one number made huge; `make huge` tries more."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.fix.rule import load_rules
from tests.fix.cases import write_case
from tests.fuzz.huge import HugeTrial, huge_model
from tests.fuzz.trial import Step
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]
SEED, COUNT = 2, 40


@pytest.mark.parametrize("number", sampled([0], range(1, COUNT)))
def test_no_command_takes_more_than_its_limit(number: int) -> None:
    # A process of its own: forks of this one would have its memory.
    command = ["-m", "tests.fuzz.huge", f"--seed={SEED}", f"--first={number}", "--count=1"]
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_case_is_the_same_whenever_it_is_made() -> None:
    assert huge_model(SEED, 4) == huge_model(SEED, 4)
    assert len({huge_model(SEED, number).data for number in range(9)}) == 9


def test_memory_beyond_the_limit_is_a_failure() -> None:
    assert HugeTrial(Step("check", 0, ()), 100, 1.0).failure == ""
    assert "took 900 MiB" in HugeTrial(Step("check", 0, ()), 900, 1.0).failure


@pytest.mark.parametrize("rule", ["loop-as-gru", "scan-unroll"])
def test_scan_over_more_inputs_than_it_has_takes_no_room(rule: str, tmp_path: Path) -> None:
    path = write_case(load_rules()[rule].example, tmp_path / "case.onnx")
    model = onnx.load(path)
    (count,) = (each for each in model.graph.node[0].attribute if each.name == "num_scan_inputs")
    count.i = 2**22
    onnx.save(model, path)
    tracemalloc.start()
    assert atc_py.check_models(path).models[0].standing.value == "error"
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
