"""Average pools as CANN's AvgPoolV2FusionPass leaves them: filters on the cube, in float16.

The formulas are those of the published pass: with padding counted the filter holds 1 / (kh kw),
rounded to float16; without, it holds ones, and a product with 1 / area of each window follows, the
area being what of the window is on the input. Both constants are float32 quotients rounded to
float16. A window over the whole input is no filter. That CANN 8.1 still does so follows from its
AvgPoolV2 kernel, which with a filter is a convolution with a group a channel.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.average_pools_to_conv import AveragePoolsToConvPass
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc, socs
from atc_py.target.soc import SocFamily
from tests.passes.numbers import results_of_typed

Halves = NDArray[np.float16]

GENERATOR = np.random.default_rng(11)
TEXT = """
graph @g phase lowered {
  input %x : float32[2,20,9,11] ND
  %y = AvgPoolV2(%x) {ATTRIBUTES} : float32[2,20,H,W] ND
  output %y
}
"""
CASES = {
    "plain": ((2, 2), (2, 2), (0, 0, 0, 0), False, (4, 5)),
    "padded": ((3, 3), (2, 2), (1, 1, 1, 1), False, (5, 6)),
    "uneven": ((3, 2), (1, 3), (2, 0, 1, 1), False, (9, 4)),
    "ceiling": ((2, 2), (2, 2), (0, 0, 0, 0), True, (5, 6)),
}
"""Window, strides, padding, ceil_mode, extents of the result."""


def _compiled(case: str, soc: str, *, exclusive: bool, mode: str = "force_fp16") -> Graph:
    """Return a pool after all passes."""
    size, strides, pads, ceil, extents = CASES[case]
    attributes = (
        f"ksize=[1,1,{size[0]},{size[1]}], strides=[1,1,{strides[0]},{strides[1]}], "
        f"pads=[{','.join(map(str, pads))}], ceil_mode={str(ceil).lower()}, "
        f"exclusive={str(exclusive).lower()}"
    )
    text = TEXT.replace("ATTRIBUTES", attributes)
    graph = parse_graph(text.replace("H,W", f"{extents[0]},{extents[1]}"))
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")
    run_passes(graph, context, verify=True)
    return graph


def _sums(x: NDArray[np.float64], case: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum under each window, and how many elements of the input are under it."""
    size, strides, (top, _, left, _), _, extents = CASES[case]
    sums, counts = np.zeros((*x.shape[:2], *extents)), np.zeros(extents)
    for row in range(extents[0]):
        for column in range(extents[1]):
            rows = slice(max(0, row * strides[0] - top), row * strides[0] - top + size[0])
            columns = slice(
                max(0, column * strides[1] - left), column * strides[1] - left + size[1]
            )
            seen = x[:, :, rows, columns]
            sums[:, :, row, column] = seen.sum((2, 3))
            counts[row, column] = max(1, seen.shape[2] * seen.shape[3])
    return sums, counts


def _half(values: NDArray[np.float64]) -> Halves:
    """Return float32 quotients rounded to float16."""
    return values.astype(np.float32).astype(np.float16)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("case", CASES)
def test_counted_padding_is_in_the_filter(case: str, soc: str) -> None:
    graph = _compiled(case, soc, exclusive=False)
    ops = [node.op for node in graph.nodes]
    assert ("DepthwiseConv2D" in ops, "AvgPoolV2" in ops, "Mul" in ops) == (True, False, False)
    x = GENERATOR.integers(-512, 512, (2, 20, 9, 11)) / 64
    size = CASES[case][0]
    weight = np.float16(np.float32(1 / (size[0] * size[1])))
    expected = (_sums(x, case)[0] * np.float64(weight)).astype(np.float32).astype(np.float16)
    found = results_of_typed(graph, {"x": x.astype(np.float32)}, soc)["y"]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("case", CASES)
def test_uncounted_padding_is_scaled_after_the_sums(case: str) -> None:
    """Sums are rounded to float16 before the product."""
    graph = _compiled(case, "Ascend310P3", exclusive=True)
    ops = [node.op for node in graph.nodes]
    assert [op for op in ops if op in {"DepthwiseConv2D", "Mul"}] == ["DepthwiseConv2D", "Mul"]
    x = GENERATOR.integers(-512, 512, (2, 20, 9, 11)) / 64
    sums, counts = _sums(x, case)
    shares = _half(1 / counts)
    expected = (_half(sums).astype(np.float32) * shares.astype(np.float32)).astype(np.float16)
    found = results_of_typed(graph, {"x": x.astype(np.float32)}, "Ascend310P3")["y"]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_large_sums_are_lost_where_the_mean_would_fit() -> None:
    x = np.full((2, 20, 9, 11), 40000, np.float32)
    found = {
        soc: results_of_typed(_compiled("plain", soc, exclusive=True), {"x": x}, soc)["y"]
        for soc in ("sim", "Ascend310P3")
    }
    np.testing.assert_array_equal(found["sim"], np.float32(np.float16(40000)))
    assert np.isinf(found["Ascend310P3"]).all()


def test_numbers_stay_those_of_a_mean_within_its_roundings() -> None:
    assert AveragePoolsToConvPass.row.name == "average-pools-to-conv"
    x = GENERATOR.standard_normal((2, 20, 9, 11)).astype(np.float32)
    for exclusive in (False, True):
        found, mean = (
            results_of_typed(_compiled("padded", soc, exclusive=exclusive), {"x": x}, soc)["y"]
            for soc in ("Ascend310P3", "sim")
        )
        np.testing.assert_allclose(found, mean, rtol=4 * 2.0**-11, atol=1e-4)


@pytest.mark.parametrize(
    ("soc", "mode"),
    [
        ("sim", "force_fp16"),
        ("Ascend950PR_9599", "force_fp16"),
        ("Ascend310P3", "must_keep_origin_dtype"),
    ],
)
def test_pools_stay_apart_from_the_cube_elsewhere(soc: str, mode: str) -> None:
    """The generic device has its pool; CANN 8.1 has no kernels of Ascend950PR_9599, nor float32 ones."""
    graph = _compiled("plain", soc, exclusive=True, mode=mode)
    assert "AvgPoolV2" in [node.op for node in graph.nodes]


def test_window_over_the_whole_input_stays_a_reduction_and_says_why() -> None:
    attributes = "ksize=[1,1,9,11], strides=[1,1,1,1], pads=[0,0,0,0]"
    graph = parse_graph(TEXT.replace("ATTRIBUTES", attributes).replace("H,W", "1,1"))
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True)
    assert "AvgPoolV2" in [node.op for node in graph.nodes]
    miss = context.fusions[AveragePoolsToConvPass.row.name].nearest
    assert miss is not None
    assert miss.reason == "a window over the whole input is a reduction"


def test_pass_reports_the_pools() -> None:
    graph = parse_graph(
        TEXT.replace("ATTRIBUTES", "ksize=[1,1,2,2], strides=[1,1,2,2]").replace("H,W", "4,5")
    )
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True)
    assert context.fusions[AveragePoolsToConvPass.row.name].effective == 1
    names = {node.name for node in graph.nodes if node.op in {"DepthwiseConv2D", "Mul"}}
    assert names <= set(context.decisions.nodes)


def test_families_with_operator_information_pool_on_the_cube() -> None:
    without = {SocFamily.SIM, SocFamily.ASCEND950}
    assert all(soc.cube_average_pools is (soc.family not in without) for soc in socs())
