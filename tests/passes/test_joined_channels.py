"""Concat of channels that no block divides, in blocks on the SoCs of CANN: storage and bits."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import atc_py
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
        (node,) = (node for node in model.description.nodes if node.op == "ConcatD")
        (result,) = (model.description.tensors[at] for at in node.outputs)
        assert (result.storage is not None) is (blocks and soc != "sim")
        wanted = plain.run({"x": x})
        assert_same_bits(model.run({"x": x}), wanted)
        assert_same_bits(exact.run({"x": x}), wanted)
