"""AIPP in the launch of the first convolution, on SoCs where CANN has a rule for it."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.ir.parser import parse_graph
from atc_py.passes.fusion.merge_aipp_conv import MergeAippConvPass, _join
from atc_py.target import find_soc

CONFIG = """
aipp_op {{ aipp_mode: {mode} input_format: RGB888_U8 {more}
  min_chn_0: 1 min_chn_1: 2 min_chn_2: 3 var_reci_chn_0: 0.02 var_reci_chn_1: 0.03 }}
"""
STATIC = "src_image_size_w: 16 src_image_size_h: 12"
PADDED = f"{STATIC} padding: true crop: true crop_size_w: 14 crop_size_h: 12 left_padding_size: 2"
RANDOM = np.random.default_rng(5)


def network(
    path: Path, after: str = "r = Relu(c)", shape: tuple[int, int, int] = (3, 2, 1)
) -> Path:
    """Write a convolution of pictures, functions of `c` that give `r`, and another convolution.

    The shape is kernel, stride and padding.
    """
    kernel, stride, pad = shape
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,3,12,16] x) => (y)
        <float[16,3,{kernel},{kernel}] w, float[16] b, float[8,16,1,1] v> {{
          c = Conv<strides=[{stride},{stride}], pads=[{pad},{pad},{pad},{pad}]>(x, w, b)
          {after}
          y = Conv(r, v)
        }}"""
    )
    shapes = {"w": (16, 3, kernel, kernel), "b": (16,), "v": (8, 16, 1, 1)}
    for name, dims in shapes.items():
        array = RANDOM.uniform(-1, 1, dims).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


def launches(
    folder: Path,
    model: Path,
    soc: str,
    mode: str = "static",
    more: str = STATIC,
    *,
    off: bool = False,
) -> list[str]:
    """Return the launches of a compiled model, operators joined by +."""
    config = folder / "aipp.cfg"
    config.write_text(CONFIG.format(mode=mode, more=more))
    disabled = (MergeAippConvPass.row.name,) if off else ()
    path = folder / ("off.om" if off else "on.om")
    atc_py.convert(model, path, soc=soc, aipp=config, disable_pass=disabled)
    (profile,) = atc_py.profile_model(path).socs
    assert profile.cost is not None
    return [kernel.op for kernel in profile.cost.kernels]


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend310B4"])
def test_aipp_is_in_the_launch_of_the_convolution(tmp_path: Path, soc: str) -> None:
    first, *_ = launches(tmp_path, network(tmp_path / "net.onnx"), soc)
    assert first.split("+")[0] == "Aipp"
    assert first.endswith("Conv2D+Relu")


@pytest.mark.parametrize("soc", ["sim", "Ascend910B4"])
def test_aipp_stays_apart_on_other_socs(tmp_path: Path, soc: str) -> None:
    first, *_ = launches(tmp_path, network(tmp_path / "net.onnx"), soc)
    assert first == "Aipp"


@pytest.mark.parametrize(
    ("shape", "mode", "more"),
    [
        ((1, 1, 0), "static", STATIC),
        ((1, 2, 1), "static", STATIC),
        ((3, 2, 1), "dynamic", "max_src_image_size: 4000"),
        ((3, 2, 1), "static", PADDED),
    ],
)  # fmt: skip
def test_aipp_stays_apart_where_the_rule_does_not_hold(
    tmp_path: Path, shape: tuple[int, int, int], mode: str, more: str
) -> None:
    ops = launches(tmp_path, network(tmp_path / "net.onnx", shape=shape), "Ascend310P3", mode, more)
    assert "Aipp" in ops


def test_function_other_than_a_relu_becomes_a_launch_of_its_own(tmp_path: Path) -> None:
    swish = "s = Sigmoid(c)\n r = Mul(c, s)"
    first, second, *_ = launches(tmp_path, network(tmp_path / "net.onnx", swish), "Ascend310P3")
    assert (first.split("+")[-1], second) == ("Conv2D", "Swish")


@pytest.mark.parametrize(
    ("functions", "scopes"),
    [("Relu", [2, 2]), ("Relu Sigmoid", [2, 2, 0]), ("Sigmoid Tanh", [2, 3, 3])],
)
def test_functions_that_are_cut_off_share_a_scope_if_they_are_several(
    functions: str, scopes: list[int]
) -> None:
    names = ["c", *functions.split()]
    kind = "float16[1,16,8,8] ND"
    lines = "".join(f"  %{name} = {name}(%{before}) : {kind}\n" for before, name in pairwise(names))
    graph = parse_graph(f"""
graph @g phase lowered {{
  input %x : {kind}
  const %w : float16[16,16,3,3] ND = splat 0.5
  %c = Conv2D(%x, %w) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : {kind}
{lines}  output %{names[-1]}
}}""")
    for node in graph.nodes:
        node.scope = 1
    _join(graph, graph.nodes[:1], find_soc("Ascend310P3"))
    assert [node.scope for node in graph.nodes] == scopes


@pytest.mark.parametrize(
    "after", ["r = Relu(c)", "r = Sigmoid(c)", "s = Sigmoid(c)\n r = Mul(c, s)"]
)
@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310B4"])
def test_launches_that_are_joined_keep_the_same_bits(tmp_path: Path, after: str, soc: str) -> None:
    model = network(tmp_path / "net.onnx", after)
    joined = launches(tmp_path, model, soc)
    apart = launches(tmp_path, model, soc, off=True)
    assert len(joined) < len(apart) or "Relu" not in after
    picture = RANDOM.integers(0, 256, (1, 12, 16, 3), np.uint8)
    results = []
    for name in ("on.om", "off.om"):
        with atc_py.load(tmp_path / name) as loaded:
            results.append(loaded.run({loaded.inputs[0].name: picture})["y"])
    np.testing.assert_array_equal(results[0], results[1])
