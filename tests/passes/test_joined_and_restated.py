"""LeakyRelu, GroupNorm, divisions as products, convolutions of one input: operators restated."""

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.ir.verifier import verify_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext, PassFusions
from atc_py.passes.fusion.divide_by_product import DivideByProductPass
from atc_py.passes.fusion.fuse_group_norm import FuseGroupNormPass
from atc_py.passes.fusion.fuse_mul_maximum import FuseMulMaximumPass
from atc_py.passes.fusion.join_same_input_convs import JoinSameInputConvsPass
from atc_py.passes.fusion.rank_on_core import RankOnCorePass
from atc_py.passes.fusion.resize_to_size import LinearToSizePass, NearestToSizePass
from atc_py.passes.fusion.softmax_of_rows import SoftmaxOfRowsPass
from atc_py.passes.manager import verifier_rules
from atc_py.target import find_soc
from tests.passes.fusing import changed
from tests.passes.numbers import literal, results

RANDOM = np.random.default_rng(44)

MAXIMUM = """
graph @g phase lowered {
  input %x : float32[4,8] ND
  const %a : float32[] ND = dense [0.1]
  %m = Mul(%x, %a) : float32[4,8] ND from [0 "m" Mul]
  %y = Maximum(%m, %x) : float32[4,8] ND from [1 "y" Max]
  output %y
}
"""
DIVISION = """
graph @g phase lowered {
  input %x : float32[4,8] ND
  const %c : float32[] ND = dense [8.0]
  %y = RealDiv(%x, %c) : float32[4,8] ND from [0 "y" Div]
  output %y
}
"""
GROUPS = f"""
graph @g phase lowered {{
  input %x : float32[2,6,3,4] ND
  const %s : int64[3] ND = dense [2, 3, 24]
  const %t : int64[4] ND = dense [2, 6, 3, 4]
  const %one : float32[3] ND = splat 1.0
  const %zero : float32[3] ND = splat 0.0
  {literal("scale", RANDOM.uniform(0.5, 2, (6, 1, 1)).round(2), "float32")}
  {literal("offset", RANDOM.uniform(-1, 1, (6, 1, 1)).round(2), "float32")}
  %r = Reshape(%x, %s) : float32[2,3,24] ND from [0 "r" Reshape]
  %n = InstanceNorm(%r, %one, %zero) {{data_format="NCHW", epsilon=0.25}} : float32[2,3,24] ND from [1 "n" InstanceNormalization]
  %b = Reshape(%n, %t) : float32[2,6,3,4] ND from [2 "b" Reshape]
  %m = Mul(%b, %scale) : float32[2,6,3,4] ND from [3 "m" Mul]
  %y = Add(%m, %offset) : float32[2,6,3,4] ND from [4 "y" Add]
  output %y
}}
"""
RANKED = """
graph @g phase lowered {
  input %x : float32[2,9,5] ND
  const %k : int64[1] ND = dense [3]
  %v, %i = TopK(%x, %k) {sorted=true, largest=true, dim=1} : float32[2,3,5] ND, int32[2,3,5] ND from [0 "t" TopK]
  output %v
  output %i
}
"""
SOFTMAX = """
graph @g phase lowered {
  input %x : float32[2,3,5,7] ND
  %y = SoftmaxV2(%x) {axes=[1,2,3]} : float32[2,3,5,7] ND from [0 "s" Softmax]
  output %y
}
"""
RESIZED = """
graph @g phase lowered {
  input %x : float32[1,3,6,7] ND
  const %s : int64[4] ND = dense [1, 3, 12, 14]
  %y = Resize(%x, _, _, %s) {mode="linear", coordinate_transformation_mode="half_pixel", nearest_mode="floor"} : float32[1,3,12,14] ND from [0 "r" Resize]
  output %y
}
"""
SHRUNK = {"12, 14": "4, 5", "12,14": "4,5"}
LAST = {"dim=1": "dim=2", "[2,3,5]": "[2,9,3]"}
CONV = "{dilations=[1,1,1,1], pads=[1,1,1,1], strides=[1,1,1,1]}"
SAME_INPUT = f"""
graph @g phase lowered {{
  input %x : float32[1,3,6,6] ND
  {literal("w0", RANDOM.uniform(-1, 1, (10, 3, 3, 3)).round(2), "float32")}
  {literal("w1", RANDOM.uniform(-1, 1, (6, 3, 3, 3)).round(2), "float32")}
  {literal("b0", RANDOM.uniform(-1, 1, 10).round(2), "float32")}
  {literal("b1", RANDOM.uniform(-1, 1, 6).round(2), "float32")}
  {literal("v0", RANDOM.uniform(-1, 1, (4, 10, 1, 1)).round(2), "float32")}
  {literal("v1", RANDOM.uniform(-1, 1, (4, 6, 1, 1)).round(2), "float32")}
  %c0 = Conv2D(%x, %w0, %b0) {CONV} : float32[1,10,6,6] ND from [0 "c0" Conv]
  %c1 = Conv2D(%x, %w1, %b1) {CONV} : float32[1,6,6,6] ND from [1 "c1" Conv]
  %r0 = Relu(%c0) : float32[1,10,6,6] ND from [2 "r0" Relu]
  %r1 = Relu(%c1) : float32[1,6,6,6] ND from [3 "r1" Relu]
  %d0 = Conv2D(%r0, %v0) {{pads=[0,0,0,0], strides=[1,1,1,1]}} : float32[1,4,6,6] ND from [4 "d0" Conv]
  %d1 = Conv2D(%r1, %v1) {{pads=[0,0,0,0], strides=[1,1,1,1]}} : float32[1,4,6,6] ND from [5 "d1" Conv]
  %y0 = Relu(%d0) : float32[1,4,6,6] ND from [6 "y0" Relu]
  %y1 = Relu(%d1) : float32[1,4,6,6] ND from [7 "y1" Relu]
  output %y0
  output %y1
}}
"""


def fuse(step: type[Pass], text: str, soc: str = "Ascend310P3") -> tuple[Graph, PassFusions]:
    """Return the verified graph after one pass on a SoC of CANN, and the record of the pass."""
    graph = parse_graph(text)
    rules = verifier_rules(find_soc(soc))
    verify_graph(graph, rules)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    changes = step().run(graph, context)
    graph.sort()
    verify_graph(graph, rules)
    record = context.fusions[step.row.name]
    assert record.effective == changes
    return graph, record


def ops(graph: Graph) -> list[str]:
    """Return the operators of a graph in order."""
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend910B4"])
@pytest.mark.parametrize("operands", ["Maximum(%m, %x)", "Maximum(%x, %m)"])
def test_product_and_maximum_are_a_leaky_relu(operands: str, soc: str) -> None:
    text = changed(MAXIMUM, {"Maximum(%m, %x)": operands})
    graph, record = fuse(FuseMulMaximumPass, text, soc)
    (node,) = graph.nodes
    assert node.op == "LeakyRelu"
    assert node.attributes["negative_slope"] == pytest.approx(0.1)
    assert [origin.name for origin in node.origins] == ["m", "y"]
    assert (record.matched, record.effective) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"[0.1]": "[1.0]"}, "must be below 1, found 1"),
        ({"[0.1]": "[1.5]"}, "must be below 1, found 1.5"),
        ({"float32[] ND = dense [0.1]": "float32[1] ND = dense [0.1]"}, "constant of rank 0"),
        ({"output %y": "output %y\n  output %m"}, "an output of the model"),
        ({"Maximum(%m, %x)": "Maximum(%m, %m)"}, "must read %m and one more"),
        ({"Mul(%x, %a)": "Add(%x, %a)"}, "must compute"),
    ],
)
def test_maximum_of_something_else_stays(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(FuseMulMaximumPass, changed(MAXIMUM, changes))
    assert "Maximum" in ops(graph)
    assert record.nearest is not None
    assert reason in record.nearest.reason


@pytest.mark.parametrize("slope", ["0.1", "-0.5", "0.0", "0.99"])
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_leaky_relu_keeps_its_numbers(slope: str, mode: str) -> None:
    """The slope is rounded to float16 with the product in one form, and with neither in the other."""
    text = changed(MAXIMUM, {"[0.1]": f"[{slope}]"})
    graph, _ = fuse(FuseMulMaximumPass, text)
    x = np.concatenate([[0.0, -0.0, 65504, -65504], RANDOM.standard_normal(28)]).astype(np.float32)
    feeds = {"x": x.reshape(4, 8)}
    expected, found = results(text, feeds, mode)["y"], results(graph, feeds, mode)["y"]
    if mode == "must_keep_origin_dtype":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=2**-10, atol=2**-24)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310B4", "Ascend910B4"])
def test_instance_norm_of_groups_is_a_group_norm_and_numbers_stay(soc: str) -> None:
    graph, record = fuse(FuseGroupNormPass, GROUPS, soc)
    (node,) = graph.nodes
    assert (node.op, node.attributes) == ("GroupNorm", {"num_groups": 3, "eps": 0.25})
    assert [each.type.dims for each in node.present_inputs] == [(2, 6, 3, 4), (6,), (6,)]
    assert [origin.name for origin in node.origins] == ["r", "n", "b", "m", "y"]
    assert (record.matched, record.effective) == (1, 1)
    feeds = {"x": RANDOM.standard_normal((2, 6, 3, 4)).astype(np.float32)}
    for mode, bound in (("must_keep_origin_dtype", 1e-6), ("force_fp16", 2e-3)):
        expected, found = results(GROUPS, feeds, mode)["y"], results(graph, feeds, mode)["y"]
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"splat 1.0": "splat 0.5"}, "scale and offset of InstanceNorm must be 1 and 0"),
        ({"splat 0.0": "splat 0.5"}, "scale and offset of InstanceNorm must be 1 and 0"),
        ({"Mul(%b, %scale)": "Exp(%b)"}, "Mul must read the result of Reshape, found Exp"),
        ({"output %y": "output %y\n  output %b"}, "an output of the model"),
        ({"[2, 3, 24]": "[1, 6, 24]", "[2,3,24]": "[1,6,24]", "[3] ND": "[6] ND",
          "int64[6]": "int64[3]"}, "must divide into these groups, found [1, 6, 24]"),
        ({"Add(%m, %offset)": "Add(%m, %zero)", "[2, 6, 3, 4]": "[2, 6, 4, 3]",
          "float32[2,6,3,4] ND from": "float32[2,6,4,3] ND from"}, "the result must be"),
    ],
)  # fmt: skip
def test_normalization_of_something_else_stays(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(FuseGroupNormPass, changed(GROUPS, changes))
    assert "InstanceNorm" in ops(graph)
    assert record.nearest is not None
    assert reason in record.nearest.reason


def test_group_norm_stays_apart_where_it_has_no_kernel() -> None:
    graph, record = fuse(FuseGroupNormPass, GROUPS, "Ascend310")
    assert "InstanceNorm" in ops(graph)
    assert record.nearest is not None
    assert "GroupNorm has no AI Core kernel on Ascend310" in record.nearest.reason


@pytest.mark.parametrize("axes", ["[1,2,3]", "[2,3]", "[-2,-1]"])
def test_softmax_of_several_axes_is_one_of_rows_and_numbers_stay(axes: str) -> None:
    text = changed(SOFTMAX, {"[1,2,3]": axes})
    graph, record = fuse(SoftmaxOfRowsPass, text)
    assert ops(graph) == ["Reshape", "SoftmaxV2", "Reshape"]
    assert graph.nodes[1].attributes["axes"] == (1,)
    assert (record.matched, record.effective) == (1, 1)
    feeds = {"x": RANDOM.standard_normal((2, 3, 5, 7)).astype(np.float32)}
    np.testing.assert_allclose(results(graph, feeds)["y"], results(text, feeds)["y"], rtol=2**-10)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"[1,2,3]": "[3]"}, "several axes must be"),
        ({"[1,2,3]": "[0,2]"}, "must be neighbors"),
        ({"[1,2,3]": "[1,2]"}, "there must be rows to normalize"),
        ({"2,3,5,7": "2,3,?,7"}, "dims must be known"),
    ],
)
def test_other_softmax_stays(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(SoftmaxOfRowsPass, changed(SOFTMAX, changes))
    assert ops(graph) == ["SoftmaxV2"]
    assert record.nearest is not None
    assert reason in record.nearest.reason


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend310B4", "Ascend910B4"])
@pytest.mark.parametrize("largest", ["true", "false"])
def test_largest_elements_are_found_on_the_core_and_numbers_stay(soc: str, largest: str) -> None:
    """Values are rounded to float16 first under force_fp16, in both forms alike."""
    x = RANDOM.integers(-4, 4, (2, 9, 5)).astype(np.float32)
    x[0, 3, 1] = np.nan
    for changes, expected_ops in (
        (LAST, ["TopKD"]),
        ({}, ["TransposeD", "TopKD", *["TransposeD"] * 2]),
    ):
        text = changed(RANKED, {**changes, "largest=true": f"largest={largest}"})
        graph, record = fuse(RankOnCorePass, text, soc)
        assert ops(graph) == expected_ops
        assert (record.matched, record.effective) == (1, 1)
        ramp = next(node for node in graph.nodes if node.op == "TopKD").present_inputs[1].const
        assert ramp is not None
        assert ramp.numpy()[[7, 2049, 4096 + 2048, 4096 + 2051]].tolist() == [7, 2048, 0, -1]
        expected, found = results(text, {"x": x}), results(graph, {"x": x})
        for name in ("v", "i"):
            np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize(
    ("changes", "soc", "reason"),
    [
        ({"sorted=true": "sorted=false"}, "Ascend310P3", "must be sorted"),
        ({}, "Ascend950PR_9599", "has no AI Core kernel"),
        ({"float32[2,9,5]": "float32[2,?,5]"}, "Ascend310P3", "dims must be known"),
        ({"float32[2,3,5]": "float32[2,?,5]", "int32[2,3,5]": "int32[2,?,5]", "dense [3]": "dense [3]"},
         "Ascend310P3", "k must be constant"),
        ({"float32": "float64"}, "Ascend310P3", "must be at most float32"),
        ({"2,9,5": "2,9000,5"}, "Ascend310P3", "does not support k = 3 of"),
        ({"2,9,5": "2,1,5", "2,3,5": "2,1,5", "dense [3]": "dense [1]"}, "Ascend310P3", "does not support k = 1 of"),
    ],
)  # fmt: skip
def test_largest_elements_stay(changes: dict[str, str], soc: str, reason: str) -> None:
    graph, record = fuse(RankOnCorePass, changed(RANKED, changes), soc)
    assert ops(graph) == ["TopK"]
    assert record.nearest is not None
    assert reason in record.nearest.reason


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend310B4", "Ascend910B4"])
def test_division_by_one_number_is_a_product(soc: str) -> None:
    graph, record = fuse(DivideByProductPass, DIVISION, soc)
    assert ops(graph) == ["Muls"]
    assert graph.nodes[0].attributes["value"] == 0.125
    assert (record.matched, record.effective) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"[8.0]": "[1e-7]"}, "must not be near 0"),
        ({"[8.0]": "[0.0]"}, "must not be near 0"),
        ({"float32[] ND = dense [8.0]": "float32[8] ND = splat 8.0"}, "constant of one element"),
        ({"RealDiv(%x, %c)": "RealDiv(%c, %x)"}, "constant of one element"),
        ({"float32": "float16"}, "must be a float32 constant"),
        ({"float32[4,8]": "float32[?,8]"}, "dims must be known"),
    ],
)
def test_other_divisions_stay(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(DivideByProductPass, changed(DIVISION, changes))
    assert ops(graph) == ["RealDiv"]
    assert record.nearest is not None
    assert reason in record.nearest.reason


@pytest.mark.parametrize("soc", ["sim", "Ascend950PR_9599"])
def test_division_stays_where_no_source_names_the_soc(soc: str) -> None:
    graph, _ = fuse(DivideByProductPass, DIVISION, soc)
    assert ops(graph) == ["RealDiv"]


@pytest.mark.parametrize(("divisor", "steps"), [("8.0", 0), ("-0.25", 0), ("3.0", 1), ("7.3", 1)])
def test_numbers_stay_up_to_the_last_bit(divisor: str, steps: int) -> None:
    """Exact by powers of two."""
    text = changed(DIVISION, {"[8.0]": f"[{divisor}]"})
    graph, _ = fuse(DivideByProductPass, text)
    feeds = {"x": RANDOM.standard_normal((4, 8)).astype(np.float32)}
    for mode in ("must_keep_origin_dtype", "force_fp16"):
        expected, found = results(text, feeds, mode)["y"], results(graph, feeds, mode)["y"]
        np.testing.assert_array_max_ulp(
            found.astype(np.float16), expected.astype(np.float16), steps
        )


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend310B4"])
def test_convolutions_of_one_input_are_one(soc: str) -> None:
    graph, record = fuse(JoinSameInputConvsPass, SAME_INPUT, soc)
    assert sorted(ops(graph)) == ["Conv2D"] * 3 + ["Relu"] * 3 + ["SplitVD"]
    joined = graph.nodes[0]
    assert joined.output.type.dims == (1, 16, 6, 6)
    assert [origin.name for origin in joined.origins] == ["c0", "c1", "r0", "r1"]
    split = next(node for node in graph.nodes if node.op == "SplitVD")
    assert split.attributes["size_splits"] == (10, 6)
    assert (record.matched, record.effective) == (1, 1)


@pytest.mark.parametrize("soc", ["sim", "Ascend910B4", "Ascend950PR_9599"])
def test_convolutions_stay_apart_on_other_socs(soc: str) -> None:
    graph, _ = fuse(JoinSameInputConvsPass, SAME_INPUT, soc)
    assert ops(graph).count("Conv2D") == 4


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Relu(%c1)": "Exp(%c1)"}, "another convolution like it"),
        ({"Relu(%c0)": "Exp(%c0)", "Relu(%c1)": "Exp(%c1)"}, "only Relu may read"),
        ({"output %y1": "output %y1\n  output %r1"}, "another convolution like it"),
        ({"Relu(%d0)": "Exp(%d0)"}, "only Relu may read %d0, found Exp"),
        ({"Conv2D(%x, %w1, %b1)": "Conv2D(%x, %w1)"}, "another convolution like it"),
        ({f"Conv2D(%x, %w1, %b1) {CONV}": "Conv2D(%x, %w1, %b1) {offset_x=0, dilations=[1,1,1,1], "
          'pads=[1,1,1,1], strides=[1,1,1,1], data_format="NCHW"}'},
         "another convolution like it"),
    ],
)  # fmt: skip
def test_branches_that_differ_stay_apart(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(JoinSameInputConvsPass, changed(SAME_INPUT, changes))
    assert ops(graph).count("Conv2D") == 4
    assert record.nearest is not None
    assert reason in record.nearest.reason


def test_channels_that_fill_half_a_block_stay_apart() -> None:
    changes = {
        "%x, %w1, %b1": "%x, %w0, %b0",
        "%r1, %v1": "%r1, %v0",
        "float32[1,6,6,6]": "float32[1,10,6,6]",
    }
    graph, record = fuse(JoinSameInputConvsPass, changed(SAME_INPUT, changes))
    assert ops(graph).count("Conv2D") == 4
    assert record.nearest is not None
    assert "multiple of 16, found 20" in record.nearest.reason


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_numbers_stay_where_convolutions_are_joined(mode: str) -> None:
    """Sums have the same terms; the simulator's BLAS may add them up in another order."""
    graph, _ = fuse(JoinSameInputConvsPass, SAME_INPUT)
    for _ in range(3):
        feeds = {"x": RANDOM.standard_normal((1, 3, 6, 6)).astype(np.float32)}
        expected, found = results(SAME_INPUT, feeds, mode), results(graph, feeds, mode)
        assert list(found) == ["y0", "y1"]
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-6)


TO_SIZE = [
        ({}, "ResizeBilinearV2", (False, True)),
        ({"half_pixel": "pytorch_half_pixel"}, "ResizeBilinearV2", (False, True)),
        ({"half_pixel": "asymmetric", **SHRUNK}, "ResizeBilinearV2", (False, False)),
        ({"half_pixel": "align_corners", **SHRUNK}, "ResizeBilinearV2", (True, False)),
        ({"linear": "nearest", "half_pixel": "asymmetric"}, "ResizeNearestNeighborV2", (False, False)),
        # Ties do not occur where dims double: half_pixel takes the places of asymmetric.
        ({"linear": "nearest", '"floor"': '"round_prefer_floor"'}, "ResizeNearestNeighborV2", (False, False)),
        ({"linear": "nearest", "half_pixel": "tf_half_pixel_for_nn", **SHRUNK}, "ResizeNearestNeighborV2", (False, True)),
        ({"linear": "nearest", "half_pixel": "align_corners", '"floor"': '"round_prefer_ceil"', **SHRUNK}, "ResizeNearestNeighborV2", (True, False)),
    ]  # fmt: skip


def to_size(changes: dict[str, str]) -> type[Pass]:
    return NearestToSizePass if "linear" in changes else LinearToSizePass


@pytest.mark.parametrize(("changes", "op", "flags"), TO_SIZE)
def test_resize_becomes_the_operator_with_the_flags_that_keep_places(
    changes: dict[str, str], op: str, flags: tuple[bool, bool]
) -> None:
    graph, record = fuse(to_size(changes), changed(RESIZED, changes), "Ascend310B4")
    (node,) = graph.nodes
    names = ("align_corners", "half_pixel_centers")
    assert (node.op, tuple(node.attributes[name] for name in names)) == (op, flags)
    size = node.present_inputs[1]
    assert size.const is not None
    assert [*size.const.numpy()] == [*node.output.type.shape[2:]]
    assert (record.matched, record.effective) == (1, 1)


@pytest.mark.parametrize("changes", [row[0] for row in TO_SIZE])
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_numbers_stay_where_images_are_resized_to_a_size(
    changes: dict[str, str], mode: str
) -> None:
    text = changed(RESIZED, changes)
    graph, _ = fuse(to_size(changes), text, "Ascend310B4")
    feeds = {"x": RANDOM.standard_normal((1, 3, 6, 7)).astype(np.float32)}
    expected, found = results(text, feeds, mode)["y"], results(graph, feeds, mode)["y"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"linear": "nearest", "12, 14": "5, 14", "12,14": "5,14"}, "takes other places"),
        ({"linear": "nearest", "half_pixel": "asymmetric", '"floor"': '"ceil"'}, "takes other places"),
        ({"[1, 3, 12, 14]": "[1, 6, 12, 14]", "[1,3,12,14]": "[1,6,12,14]"}, "only rows and columns of images"),
        ({"float32": "int32", "linear": "nearest"}, "floats must be resized"),
        ({"linear": "cubic"}, "mode must be nearest"),
        ({"half_pixel": "tf_crop_and_resize"}, "the whole image must be resized"),
    ],
)  # fmt: skip
def test_resize_of_other_places_stays(changes: dict[str, str], reason: str) -> None:
    graph, record = fuse(to_size(changes), changed(RESIZED, changes), "Ascend310B4")
    assert ops(graph) == ["Resize"]
    assert record.nearest is not None
    assert reason in record.nearest.reason


def test_scales_that_are_not_the_ratio_of_the_dims_stay() -> None:
    """X of 5 rows times 1.5 has 7: its places are 1 / 1.5 apart, those by size 5 / 7."""
    scales = {
        "int64[4] ND = dense [1, 3, 12, 14]": "float32[4] ND = dense [1.0, 1.0, 1.5, 2.0]",
        "_, _, %s": "_, %s",
        "6,7]": "5,7]",
        "12,14": "7,14",
    }
    graph, record = fuse(LinearToSizePass, changed(RESIZED, scales), "Ascend310B4")
    assert ops(graph) == ["Resize"]
    assert record.nearest is not None
    assert "takes other places" in record.nearest.reason
