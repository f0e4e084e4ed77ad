"""Steps that lower the error of int8: judged by the outputs, left out where they lose, reported."""

import math
from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.diag.codes import STEP_LEFT_OUT
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing import prepare
from atc_py.quantizing.balancing import Balance, select_balance
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.channel_errors import ChannelErrors
from atc_py.quantizing.judging import select_parts
from atc_py.quantizing.options import CalibrationOptions
from atc_py.results.quantization import StepGain
from atc_py.system.structs import replace
from tests.quantizing.float_networks import (
    Array,
    FloatSketch,
    conv_network,
    run_ort,
    run_sim,
    samples_of,
)


def uneven_network(path: Path, opset: int = 13) -> Path:
    """Save two Conv with a Relu between, whose channels between them differ a thousand times."""
    net = FloatSketch(opset)
    weights = (
        net.generator.standard_normal((24, 20, 3, 3)) * np.logspace(-2, 1, 24)[:, None, None, None]
    )
    x = net.add(
        "Conv", [net.input("x", [1, 20, 8, 8]), net.const("w1", weights.astype(np.float32))], "c"
    )
    x = net.add("Relu", [x], "r")
    after = net.generator.standard_normal((6, 24, 1, 1)) / np.logspace(-2, 1, 24)[:, None, None]
    net.add("Conv", [x, net.const("w2", after.astype(np.float32))], "y")
    return net.save(path, "y")


def steps_of(model: Path, samples: list[dict[str, Array]], **choice: object) -> list[StepGain]:
    with calibrate(model, ArraySamples(samples), CalibrationOptions(**choice)) as found:  # type: ignore[arg-type]
        return list(found.steps)


@pytest.mark.parametrize(
    ("noise", "kept"),
    [
        ({(): 4.0, (2, 0, 1): 1.0}, (2, 0, 1)),
        ({(): 4.0, (2, 0, 1): 4.0}, (2, 0, 1)),
        ({(): 4.0, (2, 0, 1): 5.0, (2,): 3.0}, (2,)),
        ({(): 4.0, (2, 0, 1): 5.0, (2,): 6.0}, ()),
        ({(): 4.0, (2, 0, 1): math.inf, (2,): math.inf}, ()),
        ({(): 0.0, (2, 0, 1): 0.0}, (2, 0, 1)),
    ],
)
def test_parts_with_the_least_noise_are_kept(
    noise: dict[tuple[int, ...], float], kept: tuple[int, ...]
) -> None:
    verdict = select_parts((2, 0, 1), lambda parts: noise[tuple(parts)])
    assert verdict.kept == kept
    if kept == (2,):
        assert verdict.gain == pytest.approx(10 * math.log10(4 / 3))
        assert verdict.whole_gain == pytest.approx(10 * math.log10(4 / 5))


@pytest.mark.parametrize("opset", [9, 11, 13, 18])
@pytest.mark.parametrize("executor", ["ort", "sim"])
def test_balancing_gains_at_the_outputs(tmp_path: Path, opset: int, executor: str) -> None:
    if (executor, opset) == ("sim", 18):
        pytest.skip("ONNX 18 is newer than the operator lists")
    model = uneven_network(tmp_path / "n.onnx", opset)
    samples = samples_of(5, 1, 20, 8, 8)
    step = steps_of(model, samples, correct_bias=False, executor=executor)[0]
    assert (step.name, step.parts, step.kept) == ("equalize", 1, 1)
    assert step.gain is not None
    noise = {}
    for on in (False, True):
        output = tmp_path / f"{on}.onnx"
        atc_py.quantize(
            model, output, data=samples, format="qdq", equalize=on, correct_bias=False, measure=0
        )
        errors = [run_ort(output, each)[0] - run_ort(model, each)[0] for each in samples[:4]]
        noise[on] = float(np.square(errors).sum())
    alone = 10 * math.log10(noise[False] / noise[True])
    assert step.gain > 3
    assert alone > 3


def test_balancing_that_loses_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def inverse(*arguments: object) -> Balance | None:
        found = select_balance(*arguments)  # type: ignore[arg-type]
        return None if found is None else replace(found, factors=np.reciprocal(found.factors))

    monkeypatch.setattr(prepare, "select_balance", inverse)
    model, samples = uneven_network(tmp_path / "n.onnx"), samples_of(5, 1, 20, 8, 8)
    done = atc_py.quantize(model, tmp_path / "a.onnx", data=samples, correct_bias=False)
    assert [(each.kept, each.left_out) for each in done.steps] == [(0, ("r",))]
    assert done.steps[0].whole_gain is not None
    assert done.steps[0].whole_gain < -1
    assert not done.balanced
    assert [each.code for each in done.warnings] == [STEP_LEFT_OUT]
    plain = atc_py.quantize(
        model, tmp_path / "b.onnx", data=samples, correct_bias=False, equalize=False
    )
    assert not plain.steps
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_correction_that_loses_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ChannelErrors.correction
    monkeypatch.setattr(ChannelErrors, "correction", lambda self: -50 * own(self) - 0.1)
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(5, 1, 3, 16, 16)
    done = atc_py.quantize(model, tmp_path / "a.onnx", data=samples, equalize=False)
    step = done.steps[0]
    assert (step.name, step.kept) == ("correct_bias", 0)
    assert len(step.left_out) == step.parts == 4
    assert [each.code for each in done.warnings] == [STEP_LEFT_OUT]
    atc_py.quantize(model, tmp_path / "b.onnx", data=samples, equalize=False, correct_bias=False)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_what_is_kept_is_no_worse_at_the_outputs(tmp_path: Path) -> None:
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(5, 1, 3, 16, 16)
    for each in steps_of(model, samples):
        assert each.gain is None or each.gain >= 0
        assert bool(each.left_out) == (each.kept < each.parts)


def test_auto_says_what_each_calibrator_would_have_erred(tmp_path: Path) -> None:
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(5, 1, 3, 16, 16)
    done = atc_py.quantize(model, tmp_path / "a.onnx", data=samples, calibrator="auto")
    assert {each.tensor for each in done.ranges} == {each.tensor for each in done.layers}
    for each in done.ranges:
        assert set(each.errors) == {"min-max", "mse", "percentile", "ifmr"}
        assert each.errors[each.chosen] == min(each.errors.values())


def test_range_gain_is_that_over_the_widest_range(tmp_path: Path) -> None:
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(5, 1, 3, 16, 16)
    gains = {}
    for name in ("min-max", "mse"):
        done = atc_py.quantize(model, tmp_path / "a.onnx", data=samples, calibrator=name)
        assert done.proof is not None
        gains[name] = [each.range_gain for each in done.proof.layers]
    assert gains["min-max"] == [0.0] * 4
    assert all(each is not None and each >= 0 for each in gains["mse"])
    assert max(filter(None, gains["mse"])) > 0.1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("form", ["qdq", "ascend"])
def test_mean_error_of_a_product_goes_into_the_addition_after_it(
    tmp_path: Path, first: bool, form: str
) -> None:
    net = FloatSketch()
    x = net.add("Relu", [net.input("x", [16, 12])], "r")
    x = net.add("MatMul", [x, net.weight("w", 12, 5)], "p")
    net.add("Add", [x, net.weight("b", 5)] if first else [net.weight("b", 5), x], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(8, 16, 12)
    means = {}
    for on in (False, True):
        output = tmp_path / "q.onnx"
        done = atc_py.quantize(
            model, output, data=samples, format="both", correct_bias=on, measure=0
        )
        run, path = (run_ort, tmp_path / "q.qdq.onnx") if form == "qdq" else (run_sim, output)
        errors = [run(path, each)[0] - run_ort(model, each)[0] for each in samples]
        means[on] = np.abs(np.mean(errors, axis=(0, 1)))
    assert [each.name for each in done.steps] == ["correct_bias"]
    # AscendQuant computes in float16, whose errors the correction does not know.
    assert means[True].max() < (0.2 if form == "qdq" else 0.4) * means[False].max()


def test_product_without_an_addition_of_its_own_is_not_corrected(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Relu", [net.input("x", [16, 12])], "r")
    x = net.add("MatMul", [x, net.weight("w", 12, 5)], "p")
    net.add("Add", [x, net.weight("b", 5)], "y")
    net.add("Tanh", [x], "z")
    model = net.save(tmp_path / "n.onnx", "y", "z")
    assert not steps_of(model, samples_of(8, 16, 12))
