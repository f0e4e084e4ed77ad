"""A small model, and a kit of it that tests share."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from atc_py.adapters.board.expectations import Draws
from atc_py.adapters.board.pack import Packed, PackRequest, pack_board

SOC = "Ascend310P3"


def residual_model(batch: int | str = 1, size: Sequence[int | str] = (8, 8)) -> onnx.ModelProto:
    """Two convolutions with a shortcut; three nodes have no name, and two have one name."""
    random, info = np.random.default_rng(0), helper.make_tensor_value_info

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((random.standard_normal(shape) / 4).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["d"], name="second", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["d", "r"], ["s"], name="second"),
        helper.make_node("GlobalAveragePool", ["s"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g"], ["y"], name="dense"),
    ]
    initializers = [weights("w", 16, 3, 3, 3), weights("b", 16), weights("v", 16, 16, 3, 3)]
    graph = helper.make_graph(
        nodes,
        "residual",
        [info("x", 1, [batch, 3, *size])],
        [info("y", 1, [batch, 5])],
        [*initializers, weights("g", 16, 5)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def request(**changes: Any) -> PackRequest:
    given: dict[str, Any] = {
        "modes": ("force_fp16",),
        "unfused": False,
        "draws": Draws((), None, 0),
        "room": None,
        "executes": 2,
        "repeats": 3,
    }
    return PackRequest(**{**given, **changes})


def pack(model: onnx.ModelProto, folder: Path, given: PackRequest, **keywords: Any) -> Packed:
    """Save a model and pack it as `folder/kit`."""
    path = folder / "residual.onnx"
    onnx.save(model, path)
    return pack_board(path, folder / "kit", {"soc": SOC, **keywords}, given)


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """A kit with both variants; tests that change it take a copy."""
    return pack(residual_model(), tmp_path_factory.mktemp("packed"), request(unfused=True))


@pytest.fixture
def kit(packed: Packed, tmp_path: Path) -> Path:
    """A copy of that kit."""
    return Path(shutil.copytree(packed.folder, tmp_path / "kit"))
