"""The command line in this process, and small models to give it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.cli.main import main
from atc_py.text.language import speaking


@dataclass(frozen=True)
class Result:
    """The exit status and streams of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as a JSON document."""
        return json.loads(self.out)


@pytest.fixture
def atc(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Return runs `atc-py` with arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args: object) -> Result:
        with pytest.raises(SystemExit) as exit_, speaking("en"):  # --lang speaks for one command
            main([str(arg) for arg in args])
        captured = capsys.readouterr()
        # Documents may quote the traceback of a user's program inside a string.
        lines = (captured.out + captured.err).splitlines()
        assert not any(line.startswith("Traceback") for line in lines)
        return Result(int(exit_.value.code or 0), captured.out, captured.err)

    return run


def small_model(*, free: bool = False, operator: str = "Relu") -> onnx.ModelProto:
    """Return conv and one more operator; `free` leaves the batch open."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    shape: list[int | str] = ["batch" if free else 1, 3, 8, 8]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node(operator, ["c"], ["y"], name="last"),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a small sound model."""
    path = tmp_path / "small.onnx"
    onnx.save(small_model(), path)
    return path


@pytest.fixture
def om(atc: Callable[..., Result], model: Path) -> Path:
    """Return a small offline model."""
    assert atc("convert", model, "-o", "small.om").status == 0
    return Path("small.om")
