"""What exporters write out at opset 11 to 13, as one kernel each, against onnxruntime and unfused."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

import atc_py
from atc_py.passes.pipeline import PIPELINE
from tests.end_to_end import run_with_onnxruntime

Array = npt.NDArray[Any]

MADE = np.random.default_rng(17)
CONSTANTS: dict[str, Array] = {
    "half": np.float32(0.5), "one": np.float32(1), "two": np.float32(2), "three": np.float32(3),
    "low": np.float32(-1e4), "lowest": np.finfo(np.float32).min,
    "zero": np.float32(0), "six": np.float32(6), "root": np.float32(np.sqrt(2)),
    "cubic": np.float32(0.044715), "slope": np.float32(np.sqrt(2 / np.pi)),
    "eps": np.float32(1e-5), "gamma": MADE.normal(1, 0.2, 24).astype(np.float32),
    "beta": MADE.normal(0, 0.2, 24).astype(np.float32),
    "w": MADE.normal(0, 0.2, (24, 40)).astype(np.float32),
    "b": MADE.normal(0, 0.2, 40).astype(np.float32),
    "k": MADE.normal(0, 0.2, (6, 3, 3, 3)).astype(np.float32),
    "kb": MADE.normal(0, 0.2, (6, 1, 1)).astype(np.float32),
    "border": np.array([0, 0, 1, 1, 0, 0, 1, 2], np.int64),
}  # fmt: skip
"""NodeSettings parameters that the graphs take what they need of."""

X = "float[2,7,24] x"
IMAGE = "float[1,3,18,20] x"
OUT = "float[2,7,24] y"
CASES: dict[str, tuple[int, str, str, str, set[str]]] = {
    "layer norm": (11, X, OUT, """
        m = ReduceMean <axes = [-1]> (x)  d = Sub(x, m)  s = Pow(d, two)
        v = ReduceMean <axes = [-1]> (s)  a = Add(v, eps)  r = Sqrt(a)  q = Div(d, r)
        g = Mul(q, gamma)  y = Add(g, beta)""", {"LayerNorm"}),
    "layer norm with a Cast and a Reciprocal": (13, X, OUT, """
        m = ReduceMean <axes = [2]> (x)  d = Sub(x, m)  c = Cast <to = 1> (d)  s = Mul(c, c)
        v = ReduceMean <axes = [2]> (s)  a = Add(eps, v)  r = Sqrt(a)  i = Reciprocal(r)
        q = Mul(d, i)  g = Mul(gamma, q)  y = Add(beta, g)""", {"LayerNorm"}),
    "root mean square norm": (13, X, OUT, """
        s = Pow(x, two)  v = ReduceMean <axes = [-1]> (s)  a = Add(v, eps)  r = Sqrt(a)
        q = Div(x, r)  y = Mul(q, gamma)""", {"RmsNorm"}),
    "gelu": (12, X, OUT, """
        u = Div(x, root)  e = Erf(u)  s = Add(e, one)  p = Mul(x, s)  y = Mul(p, half)""",
        {"GeluV2"}),
    "gelu by tanh": (13, X, OUT, """
        c = Pow(x, three)  t = Mul(c, cubic)  a = Add(x, t)  i = Mul(a, slope)  h = Tanh(i)
        s = Add(h, one)  p = Mul(x, half)  y = Mul(p, s)""", {"GeluV2"}),
    "masked softmax": (11, X, OUT, """
        m = Less(x, zero)  s = Mul(x, half)  c = Where(m, low, s)  y = Softmax <axis = 2> (c)""",
        {"Less", "ScaledMaskedSoftmax"}),
    "softmax of scores to which a mask is added": (13, X, OUT, """
        m = Greater(x, zero)  s = Div(x, two)  c = Where(m, zero, lowest)  a = Add(s, c)
        y = Softmax(a)""", {"Greater", "LogicalNot", "ScaledMaskedSoftmax"}),
    "swish": (11, X, OUT, "s = Sigmoid(x)  y = Mul(x, s)", {"Swish"}),
    "hard swish": (11, X, OUT, """
        a = Add(x, three)  c = Clip(a, zero, six)  p = Mul(x, c)  y = Div(p, six)""",
        {"HardSwish"}),
    "linear layer": (13, X, "float[2,7,40] y", "p = MatMul(x, w)  s = Add(p, b)  y = Relu(s)",
        {"Reshape", "MatMulV2", "Relu"}),
    "padded convolution with a bias behind it": (11, IMAGE, "float[1,6,18,21] y", """
        p = Pad(x, border)  c = Conv(p, k)  s = Add(c, kb)  y = Clip(s, zero, six)""",
        {"Conv2D", "ClipByValue"}),
    "product with a transposed matrix": (13, X, "float[2,7,7] y", """
        t = Transpose <perm = [0, 2, 1]> (x)  y = MatMul(x, t)""", {"BatchMatMulV2"}),
}  # fmt: skip
OFF = [row.name for row in PIPELINE if row.optional and row.place.startswith("fusion/")]


def _model(name: str) -> onnx.ModelProto:
    """Return the model of a case."""
    opset, given, made, body, _ = CASES[name]
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g ({given}) => ({made}) {{ {body} }}'
    model = parser.parse_model(text)
    for constant, data in CONSTANTS.items():
        if any(constant in node.input for node in model.graph.node):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(data), constant))
    onnx.checker.check_model(model)
    return model


def _run(
    folder: Path, feeds: dict[str, Array], mode: str, off: list[str]
) -> tuple[Array, set[str]]:
    """Return the result, and the target operators but for conversions."""
    done = atc_py.convert(
        folder / "m.onnx", folder / "m.om", precision_mode=mode, disable_pass=off, verify=True
    )
    with atc_py.load(folder / "m.om") as loaded:
        return loaded.run(feeds)["y"], set(done.facts.target_operators) - {"Cast", "TransData"}


@pytest.mark.parametrize("mode", ["force_fp16", "force_fp32"])
@pytest.mark.parametrize("name", CASES)
def test_pattern_is_one_kernel_and_agrees_with_onnxruntime(
    name: str, mode: str, tmp_path: Path
) -> None:
    model = _model(name)
    onnx.save(model, tmp_path / "m.onnx")
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": (np.random.default_rng(4).normal(size=shape) * 2).astype(np.float32)}
    expected = run_with_onnxruntime(model, feeds)["y"]
    fused, operators = _run(tmp_path, feeds, mode, [])
    apart, before = _run(tmp_path, feeds, mode, OFF)
    assert operators == CASES[name][4] != before
    # float16 holds 11 bits; the cube takes float16 in both modes
    exact = mode == "force_fp32" and not operators & {"MatMulV2", "BatchMatMulV2", "Conv2D"}
    bound = (2.0**-19 if exact else 2.0**-9) * np.abs(expected).max()
    np.testing.assert_allclose(fused, expected, rtol=0, atol=bound)
    np.testing.assert_allclose(apart, expected, rtol=0, atol=8 * bound)
    assert np.abs(fused - 1.02 * expected).max() > bound
