"""Every tool on networks that take pictures: export, devices, storage, kernels, estimates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.package.reader import open_model
from tests.aipp_graph.networks import DYNAMIC, NV12, RGB, config, network
from tests.cli.conftest import Result
from tests.sampling import sampled

Array = NDArray[Any]


def result(om: Path, data: Array, **how: Any) -> Array:
    """Return the result of one run."""
    with atc_py.load(om, **how) as model:
        return model.run({"x0": data})["y"]


def test_devices_and_storages_agree(tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [(2, 3, 8, 12)]), tmp_path / "a.om"
    atc_py.convert(model, om, aipp=config(tmp_path, NV12), soc="Ascend310P3")
    data = np.random.default_rng(6).integers(0, 256, (2, 12, 12, 1)).astype(np.uint8)
    plain = result(om, data)
    np.testing.assert_array_equal(result(om, data, storage="exact"), plain)
    # float16 sums of a convolution may be rounded one way or the other
    np.testing.assert_allclose(result(om, data, device="ort"), plain, atol=0.02)


SOCS = (
    "Ascend310", "Ascend310B1", "Ascend310P3", "Ascend610", "Ascend910A", "Ascend910B1",
    "Ascend910_9391", "Ascend950PR_9599", "Hi3796CV300CS",
)  # fmt: skip


@pytest.mark.parametrize("soc", SOCS)
def test_every_soc_has_the_kernel(soc: str, tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [(1, 3, 16, 16)]), tmp_path / "a.om"
    atc_py.convert(model, om, aipp=config(tmp_path, RGB), soc=soc, verify=True)
    with open_model(om) as package:
        (node,) = (each for each in package.description.nodes if each.op == "Aipp")
    assert node.engine == "aicore"


@pytest.mark.parametrize("message", sampled([DYNAMIC], [NV12]))
def test_kernels_are_the_simulators(
    message: str, atc: Callable[..., Result], tmp_path: Path
) -> None:
    # Nothing but the kernel of AIPP and a short one is built.
    text = '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3,8,12] x) => (float[2,3,8,12] y) '
    onnx.save(onnx.parser.parse_model(text + "{ y = Relu(x) }"), tmp_path / "m.onnx")
    atc("convert", tmp_path / "m.onnx", "--aipp", config(tmp_path, message), "-o", "a.om")
    done = atc("kernels", "--verify", "--trust", "a.om", "--json")
    assert done.status == 0, done.err
    (found,) = (each for each in done.json["kernels"] if each["name"].startswith("aipp"))
    assert found["result"] == "equal"


def test_reports_name_the_operator(atc: Callable[..., Result], tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, NV12)
    assert "Aipp" in atc("profile", model, "--aipp", file).out
    assert "Aipp" in atc("kernels", model, "--aipp", file).out
    assert atc("export", model, "--aipp", file, "-o", "e.onnx").status == 0


def test_settings_of_a_run_have_no_onnx_form(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om")
    for command in (["export", "a.om"], ["run", "a.om", "--random", 1, "--device", "ort"]):
        refused = atc(*command)
        assert refused.status == 4
        assert "ATC7040" in refused.err


def test_aipp_of_an_offline_model_is_decided(atc: Callable[..., Result], tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, NV12)
    atc("convert", model, "--aipp", file, "-o", "a.om")
    for command in ("export", "profile", "kernels"):
        assert atc(command, "a.om", "--aipp", file).status == 2
