"""numpy with one thread of BLAS: for this process alone, and not where the user says how many."""

import json
import os
import subprocess
import sys

import pytest

_THREADS = "OPENBLAS_NUM_THREADS"
_CODE = """
import json, os
from atc_py.system.late_modules import prepare_imports
prepare_imports()
import numpy
assert type(numpy.__loader__).__name__ == "SourceFileLoader"
assert numpy.__spec__.loader is numpy.__loader__
from threadpoolctl import threadpool_info
counts = [each["num_threads"] for each in threadpool_info() if each["internal_api"] == "openblas"]
print(json.dumps([counts, os.environ.get("OPENBLAS_NUM_THREADS")]))
"""


@pytest.mark.parametrize(("given", "threads"), [(None, 1), ("2", min(2, os.cpu_count() or 1))])
def test_number_of_threads(given: str | None, threads: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != _THREADS}
    if given is not None:
        environment[_THREADS] = given
    command = [sys.executable, "-c", _CODE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    counts, left = json.loads(done.stdout)
    if not counts:
        pytest.skip("numpy has another BLAS here")
    assert counts == [threads]
    assert left == given
