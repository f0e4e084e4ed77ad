"""A network in AMCT's own form: right to the error of its quantization, wrong without the fold."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import atc_py
from atc_py.diag.codes import ASSUMED_KERNELS
from tests.networks.amct import Network

Array = npt.NDArray[Any]

SOCS = ["sim", "Ascend310P3", "Ascend310", "Ascend950PR_9599"]


def off(found: Array, wanted: Array) -> float:
    """Return the root mean square of what differs, of what is wanted."""
    return float(np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2)))


def run(
    model: onnx.ModelProto, data: Array, folder: Path, soc: str, quant_bias: str = "auto"
) -> Array:
    """Return the results of the compiled model."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    done = atc_py.convert(path, folder / "model.om", soc=soc, verify=True, quant_bias=quant_bias)
    assert {each.code for each in done.warnings} <= {ASSUMED_KERNELS}
    with atc_py.load(folder / "model.om") as compiled:
        (found,) = compiled.run({"x": data}).values()
    return np.asarray(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("soc", SOCS)
def test_it_is_as_near_to_the_floats_as_its_quantization(
    soc: str, seed: int, tmp_path: Path
) -> None:
    network = Network(seed)
    data = network.data(7)
    wanted, own = network.floats(data), network.twin(data)
    found = run(network.deploy(), data, tmp_path, soc=soc)
    assert off(own, wanted) < 0.03
    # Beside what the twin rounds, the device rounds to float16 after each layer.
    assert off(found, wanted) < 1.25 * off(own, wanted) + 2.0**-10


@pytest.mark.parametrize("soc", SOCS)
def test_without_the_fold_it_is_off_by_far(soc: str, tmp_path: Path) -> None:
    network = Network(0)
    data = network.data(7)
    wanted = network.floats(data)
    found = run(network.deploy(), data, tmp_path, soc=soc, quant_bias="folded")
    assert off(found, wanted) > 0.5
    assert off(found, wanted) > 20 * off(network.twin(data), wanted)


def test_it_holds_what_the_fold_is_for() -> None:
    model = Network(0).deploy()
    operators = [node.op_type for node in model.graph.node]
    layers = {"Conv", "ConvTranspose", "MatMul", "Gemm", "MaxPool", "Concat", "Transpose"}
    assert layers <= set(operators)
    quants = [node for node in model.graph.node if node.op_type == "AscendQuant"]
    offsets = {each.f for node in quants for each in node.attribute if each.name == "offset"}
    assert len(offsets - {0.0}) >= 3
    biases = [name for each in model.graph.initializer if (name := each.name).endswith(".bias")]
    assert len(biases) == 3
    assert operators.count("AscendDequant") == 8


@pytest.mark.parametrize("quant_bias", ["unfolded", "folded"])
def test_compare_reads_both_sides_by_one_convention(quant_bias: str, tmp_path: Path) -> None:
    network = Network(0)
    onnx.save(network.deploy(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", network.data(7))
    done = atc_py.compare_model(
        tmp_path / "model.onnx",
        inputs=[str(tmp_path / "x.npy")],
        targets={"cosine": 0.999},
        quant_bias=quant_bias,
    )
    assert done.passed
