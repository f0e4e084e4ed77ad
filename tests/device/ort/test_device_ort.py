"""Device `ort`: its contract, its refusals, and the commands that take it."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import atc_py
from atc_py.cli.main import cli
from atc_py.device.ort.backend import OrtBackend
from atc_py.device.ort.body import EMULATIONS
from atc_py.diag import AtcError, Code
from atc_py.diag.codes import (
    BAD_OPTION,
    BAD_RUN_INPUT,
    DEVICE_FAILED,
    MISSING_RUN_INPUT,
    NO_ONNX_FORM,
    NO_ONNXRUNTIME,
)
from atc_py.system.structs import replace
from tests.check.checks import residual_network
from tests.device.models import Attributes, ModelBuilder, run_model
from tests.device.ort.twin import run_functions, run_on_ort
from tests.onnx_graph import onnx_files

IMAGE = np.random.default_rng(0).standard_normal((1, 3, 8, 8), dtype=np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    path = onnx_files.save(residual_network(13), folder)
    atc_py.convert(path, folder / "model.om")
    return path


@pytest.fixture
def om(model: Path) -> Path:
    return model.with_suffix(".om")


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def refusal(error: AtcError) -> Code:
    (found,) = error.diagnostics
    return found.code


def test_outputs_are_those_of_the_simulator(om: Path) -> None:
    with atc_py.load(om) as one, atc_py.load(om, device="ort") as other:
        expected, found = one.run({"x": IMAGE}), other.run({"x": IMAGE})
        assert other.profile() == ()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        close(found[name], array)


def test_device_with_a_time_limit_runs_in_a_process_of_its_own(om: Path) -> None:
    with atc_py.load(om, device="ort") as one, atc_py.load(om, device="ort", timeout=300) as other:
        for name, array in one.run({"x": IMAGE}).items():
            np.testing.assert_array_equal(other.run({"x": IMAGE})[name], array)


@pytest.mark.parametrize(
    ("feeds", "code"),
    [
        ({}, MISSING_RUN_INPUT),
        ({"x": IMAGE[0]}, BAD_RUN_INPUT),
        ({"x": IMAGE.astype(np.float64)}, BAD_RUN_INPUT),
        ({"x": IMAGE, "y": IMAGE}, BAD_RUN_INPUT),
    ],
)
def test_data_that_do_not_fit_are_refused(om: Path, feeds: dict[str, object], code: Code) -> None:
    with atc_py.load(om, device="ort") as loaded, pytest.raises(AtcError) as caught:
        loaded.run(feeds)  # type: ignore[arg-type]
    assert refusal(caught.value) is code


def test_model_of_a_closed_device_does_not_run() -> None:
    device = OrtBackend()
    for use in (lambda: device.load(None), lambda: device.run(None, {})):  # type: ignore[arg-type]
        with pytest.raises(AtcError) as caught:
            use()
        assert refusal(caught.value) is DEVICE_FAILED
    device.close()
    device.close()


def test_device_without_onnxruntime_names_the_extra(
    om: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(AtcError) as caught:
        atc_py.load(om, device="ort")
    assert refusal(caught.value) is NO_ONNXRUNTIME
    assert 'pip install "atc-py[ort]"' in str(caught.value.diagnostics[0].help)
    done = CliRunner().invoke(cli, ["run", str(om), "--random", "0", "--device", "ort", "--json"])
    assert done.exit_code != 0


def test_storage_is_the_simulators_alone(om: Path) -> None:
    with pytest.raises(AtcError) as caught:
        atc_py.load(om, device="ort", storage="exact")
    assert refusal(caught.value) is BAD_OPTION


def test_model_without_a_form_does_not_load(om: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(EMULATIONS.all(), "Conv2D")
    with pytest.raises(AtcError) as caught:
        atc_py.load(om, device="ort")
    assert {each.code for each in caught.value.diagnostics} == {NO_ONNX_FORM}


@pytest.mark.parametrize("flat", [False, True])
def test_command_writes_a_model_that_computes_the_same(
    model: Path, om: Path, tmp_path: Path, flat: bool
) -> None:
    import onnxruntime

    output = tmp_path / "emulated.onnx"
    options = ["--flat"] if flat else []
    done = CliRunner().invoke(cli, ["export", str(om), "-o", str(output), *options, "--json"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert record["output"] == str(output)
    assert bool(record["functions"]) is not flat
    session = onnxruntime.InferenceSession(output, providers=["CPUExecutionProvider"])
    with atc_py.load(om, device="ort") as loaded:
        expected = loaded.run({"x": IMAGE})
    for name, array in zip(expected, session.run([*expected], {"x": IMAGE}), strict=True):
        close(array, expected[name])
    again = CliRunner().invoke(cli, ["export", str(model), "-o", str(output), *options])
    assert again.exit_code == 0, again.output
    assert "emulated.onnx" in again.output


def test_refused_export_writes_nothing(
    om: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(EMULATIONS.all(), "Conv2D")
    done = CliRunner().invoke(cli, ["export", str(om), "-o", str(tmp_path / "new.onnx")])
    assert done.exit_code != 0
    assert not list(tmp_path.iterdir())


def test_options_of_conversion_are_refused_for_an_offline_model(om: Path, tmp_path: Path) -> None:
    arguments = ["export", str(om), "-o", str(tmp_path / "n.onnx"), "--precision-mode"]
    done = CliRunner().invoke(cli, [*arguments, "force_fp16"])
    assert done.exit_code == 2
    assert "already compiled" in " ".join(done.output.split())


def test_export_does_not_replace_the_model_itself(model: Path) -> None:
    before = model.read_bytes()
    done = CliRunner().invoke(cli, ["export", str(model), "-o", str(model)])
    assert done.exit_code != 0
    assert model.read_bytes() == before


def test_comparison_names_the_device_that_ran(model: Path) -> None:
    found = {
        device: atc_py.compare_model(model, inputs={"x": IMAGE}, device=device)
        for device in ("sim", "ort")
    }
    assert {name: each.device for name, each in found.items()} == {"sim": "sim", "ort": "ort"}
    one, other = (
        {(layer.node, layer.tensor): layer.figures.cosine for layer in each.layers}
        for each in found.values()
    )
    assert one.keys() == other.keys()
    for key, cosine in one.items():
        assert other[key] == pytest.approx(cosine, abs=1e-4)
    with pytest.raises(AtcError) as caught:
        atc_py.compare_model(model, device="elsewhere")
    assert refusal(caught.value) is BAD_OPTION


def test_search_for_nodes_to_keep_may_run_in_onnxruntime(model: Path) -> None:
    done = atc_py.compare_model(model, inputs={"x": IMAGE}, device="ort", suggest={"cosine": 0.9})
    assert done.suggestion is not None


@pytest.mark.parametrize("shape", ["one name", "integer", "lone merge"])
def test_odd_models_give_what_the_simulator_gives(shape: str) -> None:
    builder, dims = ModelBuilder(), (2, 3)
    x = np.arange(6, dtype=np.int8 if shape == "one name" else np.uint8).reshape(dims)
    source = builder.input("x", x.dtype.name, dims)
    if shape == "one name":
        attributes: Attributes = {"scale": 0.5, "offset": 0.0}
        attributes = {**attributes, "compute_type": "float16", "dtype": "float16"}
        (made,) = builder.node("AscendAntiQuant", [source], [("float16", dims)], attributes)
        (made,) = builder.node("Cast", [made], [("float32", dims)], {"dst_type": "float32"})
        builder.nodes = [replace(node, name="n") for node in builder.nodes]
    elif shape == "integer":
        (made,) = builder.node("Cast", [source], [("float16", dims)], {"dst_type": "float16"})
        (made,) = builder.node("Relu", [made], [("float16", dims)])
    else:
        (made,) = builder.node("Merge", [source], [("uint8", dims)])
    builder.output("y", made)
    model = builder.build()
    expected = run_model(model, {"x": x})
    found = run_on_ort(model, {"x": x})
    assert found is not None
    for outputs in (found, run_functions(model, {"x": x})):
        assert outputs["y"].dtype == expected["y"].dtype
        np.testing.assert_array_equal(outputs["y"], expected["y"])
