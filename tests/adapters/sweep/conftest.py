"""A small zoo of models, and the command line to sweep it."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py.system.jobs
from tests.cli.conftest import atc as atc
from tests.cli.conftest import small_model
from tests.system.jobs.conftest import cluster as cluster
from tests.system.jobs.failing import FailingExecutor


def refused_model() -> onnx.ModelProto:
    """Return a model with an operator that the list does not have."""
    info = helper.make_tensor_value_info
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], name="norm")
    scale = numpy_helper.from_array(np.ones(8, np.float32), "s")
    graph = helper.make_graph(
        [node], "refused", [info("x", 1, [2, 8])], [info("y", 1, [2, 8])], [scale]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Return a folder with a sound model, one in a folder below, a refused and an unreadable one."""
    folder = tmp_path / "zoo"
    (folder / "inner").mkdir(parents=True)
    onnx.save(small_model(), folder / "conv.onnx")
    onnx.save(small_model(operator="Sigmoid"), folder / "inner" / "conv.onnx")
    onnx.save(refused_model(), folder / "norm.onnx")
    (folder / "junk.onnx").write_bytes(b"junk")
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run rows in this process, where a test is about what they come to, not about what runs them."""

    def open_executor(*_given: Any, **_chosen: Any) -> AbstractContextManager[FailingExecutor]:
        return nullcontext(FailingExecutor())

    monkeypatch.setattr(atc_py.system.jobs, "open_executor", open_executor)
