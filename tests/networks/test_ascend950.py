"""Ascend950 takes small networks in all precision modes, and computes them right as it stores them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import atc_py
from atc_py.options.compile_options import PrecisionMode

SOC = "Ascend950PR_9599"

PICTURES = """<ir_version: 8, opset_import: ["" : 13]>
pictures (float[1, 3, 12, 12] x, float[8, 3, 3, 3] w, float[8] b, float[8, 1, 3, 3] d,
  float[8, 8, 2, 2] t) => (y) {
  c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)
  r = Relu (c)
  g = Conv <kernel_shape = [3, 3], group = 8, pads = [1, 1, 1, 1]> (r, d)
  l = LeakyRelu <alpha = 0.2> (g)
  m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (l)
  a = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (r)
  j = Concat <axis = 1> (m, a)
  s, k = Split <axis = 1> (j)
  u = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (k, t)
  y = GlobalAveragePool (u)
}"""

SEQUENCES = """<ir_version: 8, opset_import: ["" : 13]>
sequences (float[2, 5, 16] x, float[16, 16] w, float[16] b) => (y, z)
<float two = {2}, int64[1] k = {3}> {
  p = MatMul (x, w)
  q = Add (p, b)
  t = Transpose <perm = [0, 2, 1]> (x)
  n = MatMul (q, t)
  f = Softmax <axis = -1> (n)
  o = MatMul (f, x)
  e = ReduceMean <axes = [2], keepdims = 1> (o)
  c = Sub (o, e)
  h = Pow (c, two)
  v, i = TopK <axis = 2> (h, k)
  y = Sqrt (v)
  z = ArgMax <axis = 2, keepdims = 0> (x)
}"""

NETWORKS = {"pictures": PICTURES, "sequences": SEQUENCES}
LOOSE = {"bf16": 0.06, "fp16": 0.006}
"""Relative bounds of modes that end in these words; others keep float32, or float16 operands."""


def network(name: str) -> onnx.ModelProto:
    """Parse a network; all of its inputs but the first become weights."""
    model = parser.parse_model(NETWORKS[name])
    random = np.random.default_rng(0)
    while len(model.graph.input) > 1:
        weights = model.graph.input.pop()
        dims = [each.dim_value for each in weights.type.tensor_type.shape.dim]
        data = random.standard_normal(dims).astype(np.float32) * 0.3
        model.graph.initializer.append(numpy_helper.from_array(data, weights.name))
    return model


@pytest.mark.parametrize("mode", [each.value for each in PrecisionMode])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_in_every_precision_mode(name: str, mode: str, tmp_path: Path) -> None:
    model = network(name)
    onnx.save(model, tmp_path / "model.onnx")
    dims = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", soc=SOC, precision_mode=mode)
    wanted: Any = ReferenceEvaluator(model).run(None, {"x": x})
    with atc_py.load(tmp_path / "model.om", storage="exact") as loaded:
        results = loaded.run({"x": x})
    bound = next((LOOSE[word] for word in LOOSE if word in mode), 0.003)
    for given, found in zip(wanted, results.values(), strict=True):
        limit = bound * float(np.abs(given).max())
        np.testing.assert_allclose(found.astype(np.float64), given, rtol=0, atol=limit)


def test_most_gears_are_those_of_the_guide(tmp_path: Path) -> None:
    """The guide of GE gives Ascend950 256 gears, and all others 100."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
    one (float[n, 2] x) => (y) { y = Relu (x) }"""
    onnx.save(parser.parse_model(text), tmp_path / "one.onnx")
    options: dict[str, Any] = {
        "input_shape": "x:-1,2",
        "batch_sizes": ",".join(map(str, range(1, 102))),
    }
    with pytest.raises(atc_py.AtcError, match="at most 100 gears"):
        atc_py.convert(tmp_path / "one.onnx", tmp_path / "one.om", soc="Ascend910B3", **options)
    atc_py.convert(tmp_path / "one.onnx", tmp_path / "one.om", soc=SOC, **options)
