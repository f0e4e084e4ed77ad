"""Quantized models on the simulator beside onnxruntime's run of their QDQ form."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from tests.cli.conftest import Result
from tests.cli.conftest import atc as atc
from tests.quantizing.float_networks import (
    FloatSketch,
    conv_network,
    relative_error,
    run_ort,
    run_sim,
    samples_of,
)

MEAN = 0.25
"""Largest root mean squared difference of a layer's result, in steps of its range by 255.

The largest difference is one such step and what one code of the data makes: AscendQuant computes in
float16, so that of codes that are near a tie some are one apart. AscendDequant gives float16.
Measured: at most 1.06 steps, 0.15 in the mean.
"""


def depthwise(net: FloatSketch) -> str:
    x = net.input("x", [1, 18, 8, 8])
    return net.add("Conv", [x, net.weight("w", 18, 1, 3, 3), net.weight("b", 18)], "y", group=18)


def grouped(net: FloatSketch) -> str:
    x = net.input("x", [1, 36, 8, 8])
    return net.add("Conv", [x, net.weight("w", 8, 18, 3, 3)], "y", group=2, pads=[1, 1, 1, 1])


def strided(net: FloatSketch) -> str:
    x = net.input("x", [1, 20, 9, 9])
    weights = net.weight("w", 6, 20, 3, 3)
    return net.add("Conv", [x, weights], "y", strides=[2, 2], auto_pad="SAME_UPPER")


def transposed(net: FloatSketch) -> str:
    x = net.input("x", [1, 20, 6, 6])
    weights = net.weight("w", 20, 7, 3, 3)
    return net.add("ConvTranspose", [x, weights, net.weight("b", 7)], "y", strides=[2, 2])


def transposed_in_groups(net: FloatSketch) -> str:
    x = net.input("x", [1, 36, 6, 6])
    weights = net.weight("w", 36, 7, 3, 3)
    return net.add("ConvTranspose", [x, weights, net.weight("b", 14)], "y", strides=[2, 2], group=2)


def product(net: FloatSketch) -> str:
    return net.add("MatMul", [net.input("x", [2, 5, 24]), net.weight("w", 24, 7)], "y")


def product_of_square(net: FloatSketch) -> str:
    return net.add("MatMul", [net.input("x", [2, 7, 24]), net.weight("w", 24, 7)], "y")


def gemm(net: FloatSketch) -> str:
    x = net.input("x", [4, 24])
    weights = [net.weight("w", 7, 24), net.weight("b", 7)]
    return net.add("Gemm", [x, *weights], "y", transB=1, alpha=0.5, beta=2.0)


KINDS: dict[str, tuple[Callable[[FloatSketch], str], tuple[int, ...]]] = {
    "depthwise": (depthwise, (1, 18, 8, 8)),
    "grouped": (grouped, (1, 36, 8, 8)),
    "strided": (strided, (1, 20, 9, 9)),
    "transposed": (transposed, (1, 20, 6, 6)),
    "transposed_in_groups": (transposed_in_groups, (1, 36, 6, 6)),
    "product": (product, (2, 5, 24)),
    "product_of_square": (product_of_square, (2, 7, 24)),
    "gemm": (gemm, (4, 24)),
}


@pytest.mark.parametrize("name", KINDS)
def test_layer_on_the_simulator_is_that_of_onnxruntime(tmp_path: Path, name: str) -> None:
    make, shape = KINDS[name]
    net = FloatSketch()
    model, samples = net.save(tmp_path / "n.onnx", make(net)), samples_of(3, *shape)
    done = atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="both", measure=0)
    assert done.written[0].integer_layers == 1
    found = run_sim(tmp_path / "out.onnx", samples[0])[0]
    expected = run_ort(tmp_path / "out.qdq.onnx", samples[0])[0]
    step, code = (
        np.ptp(expected) / 255,
        (done.layers[0].scale or 0) * np.abs(net.weights["w"]).max(),
    )
    difference = np.abs(found - expected)
    assert difference.max() < step + code
    assert np.sqrt((difference**2).mean()) < MEAN * step
    assert relative_error(expected, run_ort(model, samples[0])[0]) < 0.02


def test_layer_without_a_deploy_form_stays_in_floats_there(tmp_path: Path) -> None:
    """The product of its scales is beyond what AscendDequant holds."""
    net = FloatSketch()
    x = net.input("x", [1, 20, 6, 6])
    small = net.add("Mul", [x, net.const("k", np.array(4.5e-6, np.float32))], "s")
    c = net.add("Conv", [small, net.weight("w", 8, 20, 1, 1, scale=7e-6)], "c")
    c = net.add("Mul", [c, net.const("m", np.array(3e10, np.float32))], "large")
    net.add("Conv", [c, net.weight("v", 3, 8, 1, 1)], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(3, 1, 20, 6, 6)
    done = atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="both", measure=0)
    deploy, qdq = done.written
    assert (deploy.integer_layers, qdq.integer_layers) == (1, 2)
    assert deploy.nodes[0].reason is not None
    kinds = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert kinds == ["Mul", "Conv", "Mul", "AscendQuant", "Conv", "AscendDequant"]


def test_movement_and_concatenation_between_layers_run_on_int8(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.input("x", [1, 20, 6, 6])
    a = net.add("Conv", [x, net.weight("w1", 20, 20, 1, 1)], "a")
    b = net.add("Conv", [x, net.weight("w2", 12, 20, 1, 1)], "b")
    x = net.add("Concat", [net.add("Relu", [a], "ra"), net.add("Relu", [b], "rb")], "j", axis=1)
    x = net.add("Transpose", [x], "t", perm=[0, 1, 3, 2])
    net.add("Conv", [x, net.weight("w3", 5, 32, 1, 1)], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(3, 1, 20, 6, 6)
    atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="both", measure=0)
    nodes = onnx.load(tmp_path / "out.onnx").graph.node
    made = {name: node.op_type for node in nodes for name in node.output}
    join = next(node for node in nodes if node.op_type == "Concat")
    assert [made[name] for name in join.input] == ["AscendQuant", "AscendQuant"]
    assert not any(node.op_type == "AscendAntiQuant" for node in nodes)
    expected = run_ort(tmp_path / "out.qdq.onnx", samples[0])[0]
    assert relative_error(run_sim(tmp_path / "out.onnx", samples[0])[0], expected) < 0.005


def test_joined_data_that_another_node_reads_stay_in_floats(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.input("x", [1, 20, 6, 6])
    x = net.add("Concat", [x, net.add("Relu", [x], "r")], "j", axis=1)
    net.add("Conv", [x, net.weight("w", 5, 40, 1, 1)], "y")
    net.add("Tanh", [x], "z")
    model, samples = net.save(tmp_path / "n.onnx", "y", "z"), samples_of(3, 1, 20, 6, 6)
    atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="qdq", measure=0)
    assert (
        run_ort(tmp_path / "out.onnx", samples[0])[1].tolist()
        == run_ort(model, samples[0])[1].tolist()
    )


def test_files_go_through_the_other_commands(tmp_path: Path, atc: Callable[..., Result]) -> None:
    conv_network(tmp_path / "n.onnx")
    np.savez("s.npz", x=np.concatenate([each["x"] for each in samples_of(3, 1, 3, 16, 16)]))
    done = atc("quantize", "n.onnx", "--data", "s.npz", "-o", "out.onnx", "--json")
    assert done.status == 0, done.err
    assert done.json["calibration"]["samples"] == 3
    np.save("x.npy", samples_of(1, 1, 3, 16, 16)[0]["x"])
    shape = ["--input-shape", "x:1,3,16,16"]
    assert atc("check", "out.onnx", *shape).status == 0
    assert atc("convert", "out.onnx", "-o", "out.om", *shape).status == 0
    assert atc("run", "out.om", "--input", "x=x.npy").status == 0
    assert atc("profile", "out.onnx", *shape).status == 0
