"""int4 results in what people see: files of a run, what is expected of one, and info."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Result

Atc = Callable[..., Result]

NUMBERS = [-8, 7, 0, -1, 3]


@pytest.fixture
def om(atc: Atc, tmp_path: Path) -> Path:
    """Return AscendQuant to int4, and an int4 constant, as results."""
    quant = helper.make_node(
        "AscendQuant", ["x"], ["y"], name="quant", scale=1.0, offset=0.0, dst_type="INT4"
    )
    graph = helper.make_graph(
        [quant],
        "int4",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [4])],
        [
            helper.make_tensor_value_info("y", TensorProto.INT4, [4]),
            helper.make_tensor_value_info("w", TensorProto.INT4, [5]),
        ],
        [helper.make_tensor("w", TensorProto.INT4, [5], NUMBERS)],
    )
    opset = [helper.make_opsetid("", 13)]
    path = tmp_path / "int4.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    assert atc("convert", str(path)).status == 0
    return tmp_path / "int4.om"


def test_results_in_int4_are_written_as_int8_and_compared(atc: Atc, om: Path) -> None:
    x = om.with_name("x.npy")
    np.save(x, np.array([9.0, -9.0, 2.5, 0.4], np.float16))
    folder = om.with_name("out")
    done = atc("run", str(om), "-i", f"x={x}", "--output", str(folder))
    assert done.status == 0, done.out
    y = np.load(folder / "y.npy", allow_pickle=False)
    assert (y.dtype, y.tolist()) == (np.dtype(np.int8), [7, -8, 2, 0])
    assert np.load(folder / "w.npy", allow_pickle=False).tolist() == NUMBERS
    expect = ("--expect", f"y={folder / 'y.npy'}", "--expect", f"w={folder / 'w.npy'}")
    assert atc("run", str(om), "-i", f"x={x}", *expect).status == 0
    np.save(folder / "y.npy", y[::-1])
    wrong = atc("run", str(om), "-i", f"x={x}", "--expect", f"y={folder / 'y.npy'}")
    assert wrong.status == 4
    assert "y differs" in wrong.out + wrong.err


def test_info_names_int4(atc: Atc, om: Path) -> None:
    done = atc("info", str(om))
    assert done.status == 0
    assert "int4" in done.out
