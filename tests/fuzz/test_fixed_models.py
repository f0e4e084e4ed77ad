"""A short round of models through `fix`; `python -m tests.fuzz.fix` tries more."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.fuzz.fix import WORKER
from tests.fuzz.fix_cases import fix_case
from tests.fuzz.fix_trial import try_fix
from tests.fuzz.seed_models import SHARED
from tests.fuzz.sweep import Round, sweep
from tests.sampling import sampled

SEED = 5
CHUNKS, CHUNK = 100, 20


@pytest.mark.parametrize("chunk", sampled([0], range(1, CHUNKS)))
def test_models_are_fixed_or_refused(chunk: int) -> None:
    shared = chunk % 2 == 1 and SHARED.is_dir()
    tally = sweep(Round(seed=SEED, first=chunk * CHUNK, count=CHUNK, shared=shared, worker=WORKER))
    assert tally.failures == []
    assert tally.tried == CHUNK
    assert tally.ends["compared", 0] > 0, "a round in which nothing is written tries little"


def test_case_is_the_same_whenever_it_is_made() -> None:
    first, again = (fix_case(3, 14, shared=False) for _ in range(2))
    assert first == again
    assert first != fix_case(4, 14, shared=False)


def saved(path: Path, scale: float) -> None:
    """Write a model that scales its input."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "scale"], ["y"])],
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [onnx.numpy_helper.from_array(np.array(scale, np.float32), "scale")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)]), path)


@pytest.mark.parametrize(("scale", "fault"), [(2.0, ""), (2.1, "output y differs")])
def test_result_that_differs_is_a_failure(
    scale: float, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    saved(path, 2.0)
    write = try_fix.__globals__["run_command"]

    def run_command(*args: str) -> object:
        """Write another model than `fix` does."""
        step = write(*args)
        saved(tmp_path / "fixed.onnx", scale)
        return step

    monkeypatch.setitem(try_fix.__globals__, "run_command", run_command)
    found = try_fix(path, "base")
    assert found.steps[-1].command == "compared"
    assert fault in found.failure
    assert bool(fault) == bool(found.failure)


def test_file_that_is_left_over_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    saved(path, 2.0)
    (tmp_path / ".fixed.onnx.0.tmp").touch()
    assert "left over" in try_fix(path, "base").failure
