"""A sample of the kill sweep; `make kill-sweep` is the whole."""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.kill_sweep import Sweep
from tests.faults.models import small_model
from tests.sampling import WHOLE


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(small_model(tmp_path), tmp_path)


def test_conversion_that_is_stopped_leaves_old_or_new_files(sweep: Sweep) -> None:
    instants = 4 if WHOLE in os.environ else 2
    sweep.run(instants)
    assert sweep.faults == []
    assert sum(count for seen in sweep.ends.values() for count in seen.values()) == 3 * instants


def test_sweep_sees_what_is_wrong(sweep: Sweep) -> None:
    out = sweep.folder / "out"
    sweep._restore()
    (out / "model.om").write_bytes(b"half")
    (out / "stages" / "00_lowered.ir").unlink()
    (out / ".model.om.0.tmp").touch()
    faults = sweep._faults_of_files(signal.SIGTERM)
    assert faults == [
        "model.om is neither the older nor the newer one",
        "stages/00_lowered.ir is gone",
        ".model.om.0.tmp is left behind",
    ]
    assert sweep._faults_of_end(signal.SIGTERM, 70, "error[ATC9001 x]") != []
    assert sweep._faults_of_end(signal.SIGTERM, 143, "Traceback") != []
    assert sweep._faults_of_end(signal.SIGKILL, 1, "") != []
    assert sweep._faults_of_end(signal.SIGINT, -2, "Traceback (most recent call last)") != []
    assert sweep._faults_of_end(signal.SIGINT, 130, "interrupted; each file is") == []
