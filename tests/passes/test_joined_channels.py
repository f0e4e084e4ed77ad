"""Concat on the SoCs of CANN: channels that no block divides, and joins without a copy."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.cost.reading import launches_of
from tests.device.stored_models import assert_same_bits

NETWORK = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,3,12,12] x) => (float[2,{out},12,12] y)
<float[{a},3,3,3] v, float[{b},3,3,3] w, float[{out},{total},1,1] u> {{
    p = Conv <pads = [1,1,1,1]> (x, v)
    q = Conv <pads = [1,1,1,1]> (x, w)
    j = Concat <axis = 1> (p, q)
    y = Conv (j, u)
}}"""


def network(folder: Path, widths: tuple[int, int], out: int) -> Path:
    a, b = widths
    text = NETWORK.format(a=a, b=b, out=out, total=a + b)
    shapes = {"v": (a, 3, 3, 3), "w": (b, 3, 3, 3), "u": (out, a + b, 1, 1)}
    head, tail = text.split("\n<float", 1)
    model = onnx.parser.parse_model(head + tail[tail.index(" {") :])
    random = np.random.default_rng(a)
    for name, shape in shapes.items():
        numbers = random.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(numbers, name))
    path = folder / "net.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    ("widths", "blocks"),
    [((13, 3), True), ((8, 8), True), ((32, 5), True), ((13, 7), False), ((5, 32), False)],
)
@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310B4", "sim"])
def test_concat_in_blocks_gives_the_same_bits(
    tmp_path: Path, widths: tuple[int, int], blocks: bool, soc: str
) -> None:
    path, om = network(tmp_path, widths, 4), tmp_path / "net.om"
    atc_py.convert(path, om, soc=soc, verify=True)
    rows = tmp_path / "rows.om"
    atc_py.convert(path, rows, soc=soc, disable_pass={"assign-storage"})
    x = np.random.default_rng(1).standard_normal((2, 3, 12, 12)).astype(np.float32)
    with (
        atc_py.load(om) as model,
        atc_py.load(om, storage="exact") as exact,
        atc_py.load(rows) as plain,
    ):
        (node,) = (
            node for node in model.description.nodes if node.op in {"ConcatD", "PhonyConcat"}
        )
        (result,) = (model.description.tensors[at] for at in node.outputs)
        assert (result.storage is not None) is (blocks and soc != "sim")
        wanted = plain.run({"x": x})
        assert_same_bits(model.run({"x": x}), wanted)
        assert_same_bits(exact.run({"x": x}), wanted)


INSIDE = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[{n},16,8,8] x) => (float[{n},16,8,8] y)
<float[16,16,3,3] v = {{{v}}}, float[32,16,1,1] w = {{{w}}}, float[16,48,1,1] u = {{{u}}}> {{
    p = Conv <pads = [1,1,1,1]> (x, v)
    q = Conv (p, w)
    s = Sigmoid (q)
    j = Concat <axis = 1> (p, s)
    t = Tanh (j)
    r = Relu (p)
    k = Conv (t, u)
    y = Add (k, r)
}}"""


def joins(folder: Path, images: int = 1) -> Path:
    random = np.random.default_rng(images)
    counts = {"v": 16 * 16 * 9, "w": 32 * 16, "u": 16 * 48}
    numbers = {name: random.standard_normal(count) / 8 for name, count in counts.items()}
    lists = {name: ",".join(f"{each:.4f}" for each in values) for name, values in numbers.items()}
    path = folder / "joins.onnx"
    onnx.save(onnx.parser.parse_model(INSIDE.format(n=images, **lists)), path)
    return path


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
def test_join_without_a_copy_is_in_place_and_numbers_stay(tmp_path: Path, soc: str) -> None:
    path, om, apart = joins(tmp_path), tmp_path / "in.om", tmp_path / "apart.om"
    atc_py.convert(path, om, soc=soc, verify=True)
    atc_py.convert(path, apart, soc=soc, disable_pass={"ConcatCToNOptimizeFusionPass"})
    x = np.random.default_rng(1).standard_normal((1, 16, 8, 8)).astype(np.float32)
    with (
        atc_py.load(om) as model,
        atc_py.load(om, storage="exact") as exact,
        atc_py.load(apart) as plain,
        atc_py.load(om, device="ort") as emulated,
    ):
        description = model.description
        assert len(launches_of(description)) == len(launches_of(plain.description)) - 1
        (join,) = (node for node in description.nodes if node.op == "PhonyConcat")
        assert description.memory is not None
        first, second, whole = (
            description.memory.places[at] for at in (*join.inputs, *join.outputs)
        )
        assert (first, second) == (whole, int(whole) + 16 * 8 * 8 * 2)
        wanted = plain.run({"x": x})
        assert_same_bits(model.run({"x": x}), wanted)
        assert_same_bits(exact.run({"x": x}), wanted)
        found = emulated.run({"x": x})["y"].astype(np.float32)
        np.testing.assert_allclose(found, wanted["y"].astype(np.float32), atol=1e-2)


@pytest.mark.parametrize(("images", "soc"), [(2, "Ascend310P3"), (1, "sim")])
def test_join_of_several_images_stays_a_launch(tmp_path: Path, images: int, soc: str) -> None:
    om = tmp_path / "net.om"
    atc_py.convert(joins(tmp_path, images), om, soc=soc)
    with atc_py.load(om) as model:
        assert [node.op for node in model.description.nodes].count("ConcatD") == 1


APART = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[{n},3,8,8] x) => (float[{n},4,8,8] y)
<float[16,3,3,3] v, float[{b},3,3,3] w, float[4,{c},1,1] u> {{
    p = Conv <pads = [1,1,1,1]> (x, v)
    q = Conv <pads = [1,1,1,1]> (x, w)
    {after}
    j = Concat <axis = 1> (s, t)
    y = Conv (j, u)
}}"""


def convs(folder: Path, after: str, images: int = 3, last: int = 20) -> Path:
    text = APART.format(n=images, b=last, c=16 + last, after=after)
    head, tail = text.split("\n<float", 1)
    model = onnx.parser.parse_model(head + tail[tail.index(" {") :])
    shapes = {"v": (16, 3, 3, 3), "w": (last, 3, 3, 3), "u": (4, 16 + last, 1, 1)}
    random = np.random.default_rng(last)
    for name, shape in shapes.items():
        array = random.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path = folder / "convs.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310B4"])
def test_convolutions_of_several_images_are_joined_in_place_and_numbers_stay(
    tmp_path: Path, soc: str
) -> None:
    """Check operands with a stride: each image of the result has one of each, the last not whole."""
    path, om, apart = convs(tmp_path, RELUS), tmp_path / "in.om", tmp_path / "apart.om"
    atc_py.convert(path, om, soc=soc, verify=True)
    atc_py.convert(path, apart, soc=soc, disable_pass={"ConvConcatFusionPass"})
    x = np.random.default_rng(1).standard_normal((3, 3, 8, 8)).astype(np.float32)
    with (
        atc_py.load(om) as model,
        atc_py.load(om, storage="exact") as exact,
        atc_py.load(apart) as plain,
    ):
        description = model.description
        assert len(launches_of(description)) == len(launches_of(plain.description)) - 1
        (join,) = (node for node in description.nodes if node.op == "PhonyConcat")
        assert description.memory is not None
        first, second, whole = (
            description.memory.places[at] for at in (*join.inputs, *join.outputs)
        )
        assert (first, second) == (whole, int(whole) + 16 * 8 * 8 * 2)
        wanted = plain.run({"x": x})
        assert_same_bits(model.run({"x": x}), wanted)
        assert_same_bits(exact.run({"x": x}), wanted)


RELUS = "s = Relu(p)\n t = Relu(q)"


@pytest.mark.parametrize(
    ("after", "soc"),
    [
        (RELUS, "sim"),
        (RELUS, "Ascend950PR_9599"),
        ("s = Relu(p)\n t = LeakyRelu(q)", "Ascend310P3"),
        ("s = Sigmoid(p)\n t = Sigmoid(q)", "Ascend310P3"),
        ("s = Relu(p)\n t = Relu(q)\n z = Exp(s)", "Ascend310P3"),
    ],
)
def test_other_operands_of_several_images_stay(tmp_path: Path, after: str, soc: str) -> None:
    path, om = convs(tmp_path, after), tmp_path / "net.om"
    if "z" in after:
        network_of = onnx.load(path)
        network_of.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, [3, 16, 8, 8]))
        onnx.save(network_of, path)
    atc_py.convert(path, om, soc=soc)
    with atc_py.load(om) as model:
        assert "PhonyConcat" not in [node.op for node in model.description.nodes]
