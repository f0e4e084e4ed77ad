"""Storage is chosen around convolutions and products, and elsewhere as moves the fewest bytes."""

import pytest

from atc_py.cost.factors import EXPECTED
from atc_py.ir import Engine
from atc_py.ir.parser import parse_graph
from atc_py.passes.layout.assign_storage import LAUNCH_SECONDS, _in_one_launch
from atc_py.target import find_soc
from tests.passes.fusing import changed
from tests.passes.laying_out import conversions, laid_out, placed, storages

CONVS = """
graph @g phase lowered {
  input %x : float16[1,16,8,8] ND
  const %w : float16[24,16,3,3] ND = splat 0.5
  const %u : float16[24,1,3,3] ND = splat 0.5
  const %z : float16[32,12,1,1] ND = splat 0.5
  const %b : float16[24] ND = splat 1.0
  const %s : float16[24,1,1] ND = splat 2.0
  %c = Conv2D(%x, %w, %b) {pads=[1,1,1,1], strides=[1,1,1,1]} : float16[1,24,8,8] ND
  %m = Mul(%c, %s) : float16[1,24,8,8] ND
  %d = DepthwiseConv2D(%m, %u) {pads=[1,1,1,1], strides=[1,1,1,1]} : float16[1,24,8,8] ND
  %a = Add(%d, %c) : float16[1,24,8,8] ND
  %y = Conv2D(%a, %z) {groups=2, pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,32,8,8] ND
  output %y
}
"""
PRODUCTS = """
graph @g phase lowered {
  input %x : float16[1,32,48] ND
  const %flat : int64[2] ND = dense [32, 48]
  const %back : int64[3] ND = dense [1, 32, 64]
  const %heads : int64[4] ND = dense [1, 32, 2, 32]
  const %w : float16[48,64] ND = splat 0.5
  const %v : float16[64,64] ND = splat 0.5
  const %b : float16[64] ND = splat 1.0
  const %g : float16[64] ND = splat 1.0
  %f = Reshape(%x, %flat) : float16[32,48] ND
  %p = MatMulV2(%f, %w, %b) : float16[32,64] ND
  %t = Tanh(%p) : float16[32,64] ND
  %q = MatMulV2(%t, %v) : float16[32,64] ND
  %r = Reshape(%q, %back) : float16[1,32,64] ND
  %n = LayerNorm(%r, %g, %b) {begin_norm_axis=2, begin_params_axis=-1} : float16[1,32,64] ND
  %k = BatchMatMulV2(%n, %v) : float16[1,32,64] ND
  %y = Reshape(%k, %heads) : float16[1,32,2,32] ND
  output %y
}
"""


def test_images_stay_in_blocks_from_the_first_convolution_to_the_last() -> None:
    graph = laid_out(CONVS)
    assert conversions(graph) == ["x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW"]
    found = storages(graph)
    assert {found[name] for name in "cmday"} == {"NC1HWC0"}
    assert (found["w"], found["u"], found["z"]) == ("FRACTAL_Z", "FRACTAL_Z(24)", "FRACTAL_Z(2)")
    assert found["b"] == found["s"] == "ND"
    placed(graph)


CANN = ["Ascend310", "Ascend310P3", "Ascend610", "Ascend910A", "Hi3796CV300CS"]
CANN += ["Ascend310B1", "Ascend910B3", "Ascend910_9391"]
"""A SoC of each family that has blocks of images."""


SLOPES = """
graph @g phase lowered {
  input %x : float16[1,32,8,8] NCHW
  const %w : float16[32,32,1,1] NCHW = splat 0.5
  const %s : float16[32] ND = splat 0.25
  %c = Conv2D(%x, %w) {strides=[1, 1, 1, 1], pads=[0, 0, 0, 0]} : float16[1,32,8,8] NCHW
  %p = PRelu(%c, %s) : float16[1,32,8,8] NCHW
  %y = Conv2D(%p, %w) {strides=[1, 1, 1, 1], pads=[0, 0, 0, 0]} : float16[1,32,8,8] NCHW
  output %y
}
"""


@pytest.mark.parametrize("soc", CANN)
def test_slopes_of_channels_leave_images_in_blocks(soc: str) -> None:
    graph = laid_out(SLOPES, soc=soc)
    assert conversions(graph) == ["x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW"]
    found = storages(graph)
    assert (found["c"], found["p"], found["s"]) == ("NC1HWC0", "NC1HWC0", "ND")


@pytest.mark.parametrize("soc", CANN)
def test_depthwise_filters_are_fractals_with_a_group_for_each_channel(soc: str) -> None:
    """Check what the operator information of CANN 8.1 says: DepthwiseConv2D takes FRACTAL_Z.

    It says so for 310, 310P, 610, 910 and the CS; for 310B, 910B and 910_93 the kernel chooses like
    that of Conv2D, which is inferred to give FRACTAL_Z too.
    24 channels of one weight each are 2 diagonals of 16: 2 x 9 planes of 16 x 16.
    """
    graph = placed(laid_out(CONVS, soc=soc), soc)
    filters = next(value for value in graph.constants() if value.name == "u")
    assert str(filters.type.storage) == "FRACTAL_Z(24)"
    assert filters.type.stored_dims == (18, 1, 16, 16)
    assert filters.type.stored_nbytes == 18 * 16 * 16 * 2


def test_the_generic_device_has_a_storage_for_depthwise_filters() -> None:
    assert storages(placed(laid_out(CONVS, soc="sim"), "sim"))["u"] == "C1HWNCoC0(24)"


def test_products_and_what_is_between_them_stay_in_fractals() -> None:
    graph = laid_out(PRODUCTS)
    assert conversions(graph) == ["f: ND > FRACTAL_NZ", "k: FRACTAL_NZ > ND"]
    found = storages(graph)
    assert {found[name] for name in "pqtrnkwv"} == {"FRACTAL_NZ"}
    assert found["b"] == found["g"] == found["y"] == found["flat"] == "ND"
    placed(graph)


def test_copies_that_make_fractals_leave_rows_and_only_constants_are_stored() -> None:
    found = storages(placed(laid_out(PRODUCTS, soc="Ascend910B3"), "Ascend910B3"))
    assert found.pop("w") == found.pop("v") == "FRACTAL_NZ"
    assert set(found.values()) == {"ND"}


INT8 = """
graph @g phase lowered {
  input %x : float16[40,48] ND
  const %w : int8[48,70] ND = splat 3
  const %v : int8[64,70] ND = splat 3
  const %b : int32[70] ND = splat 1
  const %s : uint64[1] ND = dense [1008981770]
  %q = AscendQuant(%x) {offset=0.0, scale=2.0, dst_type=int8} : int8[40,48] ND
  %p = MatMulV2(%q, %w, %b) : int32[40,70] ND
  %d = AscendDequant(%p, %s) {dtype=float16} : float16[40,70] ND
  %r = AscendQuant(%d) {offset=0.0, scale=2.0, dst_type=int8} : int8[40,70] ND
  %t = MatMulV2(%r, %v) {transpose_x2=true} : int32[40,64] ND
  %y = AscendDequant(%t, %s) {dtype=float16} : float16[40,64] ND
  output %y
}
"""


ROW_QUANTS = ("Ascend310P3", "Ascend910B3", "Ascend910_9391")
"""One SoC of each family whose AscendQuant and AscendAntiQuant take rows as well as blocks."""


@pytest.mark.parametrize("soc", ["Ascend310B1", "Ascend610", *ROW_QUANTS])
def test_products_of_int8_stay_in_blocks(soc: str) -> None:
    """Check the layouts that CANN 8.1 lists for int8: x1 FRACTAL_NZ, x2 FRACTAL_Z, y FRACTAL_NZ.

    There is no int8 product of rows, and AscendDequant takes no rows on any SoC. FRACTAL_Z of
    [48, 70] is [48 / 32, 70 / 16, 16, 32]. Where AscendQuant lists ND, too, rows are quantized and
    then converted, which moves fewer bytes. That weights of A2, A3 and 310B are FRACTAL_Z and not
    FRACTAL_NZ, which their kernels list as well, is inferred.
    """
    graph = laid_out(INT8, soc=soc)
    first = "q" if soc in ROW_QUANTS else "x"
    assert conversions(graph) == [f"{first}: ND > FRACTAL_NZ", "y: FRACTAL_NZ > ND"]
    found = storages(placed(graph, soc))
    assert found.pop("q") == ("ND" if soc in ROW_QUANTS else "FRACTAL_NZ")
    assert {found[name] for name in "pdrty"} == {"FRACTAL_NZ"}
    assert found["w"] == found["v"] == "FRACTAL_Z"
    assert found["b"] == found["s"] == "ND"
    stored = {value.name: value.type.stored_dims for value in graph.constants()}
    assert (stored["w"], stored["v"]) == ((2, 5, 16, 32), (2, 5, 16, 32))


THERE_AND_BACK = """
graph @g phase lowered {{
  input %x : float16[{0}] ND
  %h = HardMax(%x) {{axis=1}} : float16[{0}] ND
  %q = AscendQuant(%h) {{offset=0.0, scale=2.0, dst_type=int8}} : int8[{0}] ND
  %a = AscendAntiQuant(%q) {{offset=0.0, scale=0.5}} : float16[{0}] ND
  %y = HardMax(%a) {{axis=1}} : float16[{0}] ND
  output %y
}}
"""


@pytest.mark.parametrize("soc", CANN)
@pytest.mark.parametrize("dims", ["40,48", "1,40,4,4"])
def test_rows_are_quantized_where_the_operators_list_them(soc: str, dims: str) -> None:
    """Check AscendQuant and AscendAntiQuant, which take ND beside blocks on 310P, A2 and A3 alone.

    The operator information of CANN 8.1 lists it for AscendQuant; AscendAntiQuant's formats are
    chosen by its kernel there, which offers the same.
    """
    graph = placed(laid_out(THERE_AND_BACK.format(dims), soc=soc), soc)
    if soc in ROW_QUANTS:
        assert not conversions(graph)
        assert set(storages(graph).values()) == {"ND"}
    else:
        assert conversions(graph) == ["a: FRACTAL_NZ > ND", "h: ND > FRACTAL_NZ"]


def test_products_of_int8_stay_in_rows_on_the_generic_device() -> None:
    found = storages(placed(laid_out(INT8, soc="sim"), "sim"))
    assert {found[name] for name in "qpdrty"} == {"ND"}
    assert found["w"] == found["v"] == "FRACTAL_NZ"


COMPUTED = """
graph @g phase lowered {
  input %x : float16[40,48] ND
  input %z : float16[48,70] ND
  const %s : uint64[1] ND = dense [1008981770]
  %q = AscendQuant(%x) {offset=0.0, scale=2.0, dst_type=int8} : int8[40,48] ND
  %r = AscendQuant(%z) {offset=0.0, scale=2.0, dst_type=int8} : int8[48,70] ND
  %p = MatMulV2(%q, %r) : int32[40,70] ND
  %y = AscendDequant(%p, %s) {dtype=float16} : float16[40,70] ND
  output %y
}
"""


def test_computed_right_operands_of_int8_are_converted_where_no_kernel_takes_them() -> None:
    ends = ["x: ND > FRACTAL_NZ", "y: FRACTAL_NZ > ND", "z: ND > FRACTAL_NZ"]
    assert conversions(laid_out(COMPUTED, soc="Ascend310B1")) == ends
    through_rows = sorted([*ends, "r: FRACTAL_NZ > ND", "r.ND: ND > FRACTAL_Z"])
    assert conversions(laid_out(COMPUTED, soc="Ascend610")) == through_rows


@pytest.mark.parametrize(
    ("soc", "right"), [("Ascend910B3", "FRACTAL_NZ"), ("Ascend310P3", "FRACTAL_Z")]
)
def test_operands_of_int8_that_are_quantized_in_rows_are_converted_once(
    soc: str, right: str
) -> None:
    graph = placed(laid_out(COMPUTED, soc=soc), soc)
    ends = ["q: ND > FRACTAL_NZ", f"r: ND > {right}", "y: FRACTAL_NZ > ND"]
    assert conversions(graph) == ends


NARROW = """
graph @g phase lowered {
  input %x : int8[400,48] ND
  const %w : int8[48,1] ND = splat 3
  const %s : uint64[1] ND = dense [1008981770]
  const %flat : int64[1] ND = dense [400]
  %p = MatMulV2(%x, %w) : int32[400,1] ND
  %d = AscendDequant(%p, %s) {dtype=float16} : float16[400,1] ND
  %r = AscendQuant(%d) {offset=0.0, scale=2.0, dst_type=int8} : int8[400,1] ND
  %y = Reshape(%r, %flat) : int8[400] ND
  output %y
}
"""


@pytest.mark.parametrize(
    ("soc", "function"), [("Ascend310P3", "AscendQuant"), ("Ascend310P3", "Relu"),
                          ("Ascend910B3", "Relu")],
)  # fmt: skip
def test_what_a_converted_product_does_in_its_launch_stays_in_blocks(
    soc: str, function: str
) -> None:
    """Check that a launch more is not traded for the padding of one column, 16 or 32 elements."""
    text = NARROW
    if function == "Relu":
        text = changed(text, {"AscendQuant(%d) {offset=0.0, scale=2.0, dst_type=int8}": "Relu(%d)"})
        text = changed(text, {"int8[400,1] ND\n  %y": "float16[400,1] ND\n  %y"})
        text = changed(text, {"int8[400] ND": "float16[400] ND"})
    graph = placed(laid_out(text, soc=soc), soc)
    assert conversions(graph) == ["r: FRACTAL_NZ > ND", "x: ND > FRACTAL_NZ"]


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910A"])
def test_root_mean_square_norm_takes_rows_alone(soc: str) -> None:
    """Check what the operator information of CANN 8.1 lists for RmsNorm: ND."""
    norm = {
        "%n = LayerNorm(%r, %g, %b) {begin_norm_axis=2, begin_params_axis=-1}": "%n = "
        "RmsNorm(%r, %g)"
    }
    graph = placed(laid_out(changed(PRODUCTS, norm), soc=soc), soc)
    found = storages(graph)
    assert found["n"] == "ND"
    assert conversions(graph) == [
        "f: ND > FRACTAL_NZ", "k: FRACTAL_NZ > ND", "n: ND > FRACTAL_NZ", "q: FRACTAL_NZ > ND",
    ]  # fmt: skip


THROUGH = {"%m = Mul(%c, %s)": "%p = Cast(%c) {{dst_type={0}}} : {0}[1,24,8,8] ND\n"
           "  %m = Cast(%p) {{dst_type=float16}}"}  # fmt: skip


@pytest.mark.parametrize(("dtype", "stored"), [("int16", "ND"), ("int32", "NC1HWC0")])
def test_dtypes_that_no_conversion_takes_stay_in_rows(dtype: str, stored: str) -> None:
    """Check int16, which TransData of Ascend310P takes out of NC1HWC0 but not into it."""
    through = {old: new.format(dtype) for old, new in THROUGH.items()}
    assert storages(laid_out(changed(CONVS, through)))["p"] == stored


FLOAT32 = changed(CONVS, {"float16": "float32"})


@pytest.mark.parametrize("soc", ["Ascend310B1", "Ascend910B3", "Ascend910_9391"])
def test_float32_convolutions_have_blocks_of_eight(soc: str) -> None:
    """Check the rule of the graph engine: C0 is 8 for float32 in and out of a float32 cube.

    It does not spread such blocks to other operators, so that these are stored in rows. Whether
    an operator between two convolutions is in rows on a device is inferred from that.
    24 channels are 3 blocks of 8; the depthwise filter has a diagonal of lcm(1, 8, 16) = 16 groups,
    2 of which are 2 x 2 x 9 planes of 16 x 8; 12 channels a group are 2 groups on one diagonal.
    """
    graph = placed(laid_out(FLOAT32, soc=soc, mode="must_keep_origin_dtype"), soc)
    found = storages(graph)
    assert {found[name] for name in "cdy"} == {"NC1HWC0(C0=8)"}
    assert found["m"] == found["a"] == "ND"
    names = ("FRACTAL_Z(C0=8)", "FRACTAL_Z(24,C0=8)", "FRACTAL_Z(2,C0=8)")
    assert (found["w"], found["u"], found["z"]) == names
    stored = {value.name: value.type.stored_dims for value in graph.values()}
    assert stored["c"] == (1, 3, 8, 8, 8)
    assert stored["w"] == (2 * 9, 2, 16, 8)
    assert stored["u"] == (2 * 2 * 9, 1, 16, 8)
    assert stored["z"] == (3, 2, 16, 8)


@pytest.mark.parametrize(
    ("soc", "mode", "storage"),
    [
        ("sim", "must_keep_origin_dtype", "NC1HWC0"),
        ("Ascend910B3", "force_fp16", "NC1HWC0"),
        ("Ascend310P3", "force_fp16", "NC1HWC0"),
    ],
)
def test_other_convolutions_have_the_blocks_of_their_dtype(
    soc: str, mode: str, storage: str
) -> None:
    found = storages(laid_out(FLOAT32, soc=soc, mode=mode))
    assert found["c"] == storage


def test_float32_products_have_constants_in_blocks_of_eight() -> None:
    text = changed(PRODUCTS, {"float16": "float32"})
    soc = "Ascend910B3"
    found = storages(placed(laid_out(text, soc=soc, mode="must_keep_origin_dtype"), soc))
    assert found.pop("w") == found.pop("v") == "FRACTAL_NZ(C0=8)"
    assert set(found.values()) == {"ND"}


def test_graph_without_cube_or_images_stays_as_it_is() -> None:
    text = """
    graph @g phase lowered {
      input %x : float16[2,16,8,8] ND
      %y = Relu(%x) : float16[2,16,8,8] ND
      output %y
    }"""
    graph = laid_out(text)
    assert not conversions(graph)
    assert set(storages(graph).values()) == {"ND"}


ROWS: dict[str, dict[str, str]] = {
    "channels are repeated": {"Mul(%c, %s)": "Mul(%c, %e)", "const %s : float16[24,1,1]":
                              "input %e : float16[1,1,8,8] ND\n  const %s : float16[24,1,1]"},
    "the last axis is no channel": {"%s : float16[24,1,1]": "%s : float16[8]"},
    "channels are worked along": {"Mul(%c, %s)": "SoftmaxV2(%c) {axes=[1]}"},
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_node_that_cannot_work_in_blocks_is_stored_row_by_row(case: str) -> None:
    graph = laid_out(changed(CONVS, ROWS[case]))
    assert storages(graph)["m"] == "ND"
    assert conversions(graph) == [
        "c: NC1HWC0 > NCHW", "m: NCHW > NC1HWC0", "x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW",
    ]  # fmt: skip


def test_function_between_rows_and_rows_stays_in_rows() -> None:
    between = {
        "%m = Mul(%c, %s)": "%k = HardMax(%c) {axis=1} : float16[1,24,8,8] ND\n"
        "  %l = Relu(%k) : float16[1,24,8,8] ND\n  %m = HardMax(%l) {axis=1}"
    }
    graph = laid_out(changed(CONVS, between))
    assert [storages(graph)[name] for name in "klm"] == ["ND"] * 3


def test_conversion_stands_where_fewer_bytes_are() -> None:
    wide = laid_out(changed(CONVS, {"%x : float16": "%x : float32"}))
    assert conversions(wide)[0] == "x.float16: NCHW > NC1HWC0"
    pooled = changed(
        CONVS,
        {
            "  output %y": "  %r = ReduceMeanD(%y) {axes=[2,3], keep_dims=true} : "
            "float16[1,32,1,1] ND\n  const %two : int64[2] ND = dense [1, 32]\n"
            "  %o = Reshape(%r, %two) : float16[1,32] ND\n  output %o"
        },
    )
    graph = laid_out(pooled)
    assert conversions(graph) == ["x: NCHW > NC1HWC0"], "one pixel in whole blocks lies like rows"
    assert storages(graph)["r"] == "NC1HWC0"
    placed(graph)


def test_joined_channels_stay_in_blocks_where_blocks_are_whole() -> None:
    joined = {"%a = Add(%d, %c) : float16[1,24,8,8]": "%a = ConcatD(%d, %c) {N=2, concat_dim=1} : "
              "float16[1,48,8,8]", "float16[32,12,1,1]": "float16[32,24,1,1]"}  # fmt: skip
    assert storages(laid_out(changed(CONVS, joined)))["a"] == "ND"
    whole = changed(changed(CONVS, joined), {"24": "32", "[1,48,": "[1,64,"})
    assert storages(laid_out(whole))["a"] == "NC1HWC0"


def test_constant_of_two_wishes_is_stored_twice() -> None:
    two = {
        "  output %y": "  %h = HardMax(%v) {axis=1} : float16[64,64] ND\n  output %y\n  output %h"
    }
    graph = laid_out(changed(PRODUCTS, two))
    stored = {
        node.op: str(value.type.storage or "ND")
        for node in graph.nodes
        for value in node.present_inputs
        if value.const is not None and value.name.startswith("v")
    }
    assert stored == {"MatMulV2": "FRACTAL_NZ", "BatchMatMulV2": "FRACTAL_NZ", "HardMax": "ND"}


def test_dims_of_the_run_and_kernels_of_the_cpu_are_stored_row_by_row() -> None:
    slow = changed(CONVS, {"%m = Mul(%c, %s)": "%m = CumsumD(%c) {axis=0}"})
    assert storages(laid_out(slow))["m"] == "ND"
    cpu = """
    graph @g phase lowered {
      input %x : float32[1,16,400,400] ND
      %y = MaxPoolV3(%x) {ksize=[1,1,300,300], strides=[1,1,1,1]} : float32[1,16,101,101] ND
      output %y
    }"""
    assert not conversions(laid_out(cpu))


REPACKED = """
graph @g phase lowered {
  input %x : float16[1,40,4,4] ND
  const %w : int8[16,40,1,1] ND = splat 1
  const %d : float16[1] ND = splat 0.5
  %q = AscendQuant(%x) {offset=0.0, scale=2.0, dst_type=int8} : int8[1,40,4,4] ND
  %c = Conv2D(%q, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : int32[1,16,4,4] ND
  %y = AscendDequant(%c, %d) {dtype=float16} : float16[1,16,4,4] ND
  output %y
}
"""


def test_numbers_of_eight_bits_repack_themselves() -> None:
    graph = laid_out(REPACKED, soc="Ascend610")
    assert conversions(graph) == ["x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW"]
    dims = {node.op: node.output.type.stored_dims for node in graph.nodes}
    assert dims["TransData"] == (1, 16, 4, 4)
    assert dims["AscendQuant"] == (1, 2, 4, 4, 32)
    assert dims["Conv2D"] == dims["AscendDequant"] == (1, 1, 4, 4, 16)
    placed(graph, "Ascend610")


@pytest.mark.parametrize("soc", ROW_QUANTS)
def test_images_are_quantized_in_rows_where_that_moves_fewer_bytes(soc: str) -> None:
    graph = placed(laid_out(REPACKED, soc=soc), soc)
    assert conversions(graph) == ["q: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW"]
    behind = REPACKED.replace("AscendQuant(%x)", "AscendQuant(%k)").replace(
        "  %q =",
        "  const %v : float16[40,40,1,1] ND = splat 0.5\n"
        "  %k = Conv2D(%x, %v) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,40,4,4] ND\n  %q =",
    )
    graph = placed(laid_out(behind, soc=soc), soc)
    assert conversions(graph) == ["x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW"]


def test_launch_costs_what_the_cost_model_expects() -> None:
    assert EXPECTED.factors.launch == LAUNCH_SECONDS


@pytest.mark.parametrize("text", [CONVS, FLOAT32, INT8, REPACKED])
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_ascend950_stores_nothing_in_blocks_but_right_operands(text: str, mode: str) -> None:
    """Check the definitions of its operators: convolutions, pools and quantizations take rows."""
    soc = "Ascend950PR_9599"
    graph = placed(laid_out(text, soc=soc, mode=mode), soc)
    assert not conversions(graph)
    blocks = {name for name, storage in storages(graph).items() if storage != "ND"}
    assert blocks <= {value.name for value in graph.constants()}
    assert all(storages(graph)[name].startswith("FRACTAL_NZ") for name in blocks)


DEQUANT = "AscendDequant(%p, %s) {dtype=float16}"
QUANT = "AscendQuant(%d) {offset=0.0, scale=2.0, dst_type=int8} : int8[40,70]"
RELU = "Relu(%d) : float16[40,70]"


@pytest.mark.parametrize(
    ("soc", "maker", "reader", "together"),
    [
        ("Ascend310P3", DEQUANT, QUANT, True),
        ("Ascend910B3", DEQUANT, QUANT, False),  # no launch of both
        ("sim", DEQUANT, QUANT, False),  # converts alone
        ("Ascend310P3", "Relu(%h)", QUANT, False),  # converts nothing
        ("Ascend310B1", "PRelu(%h, %w)", RELU, True),
        ("Ascend310P3", "PRelu(%h, %w)", RELU, False),  # numbers of channels stand alone
        ("Ascend310B1", "SoftmaxV2(%h) {axes=[1]}", RELU, False),
    ],
)
def test_reader_shares_a_launch_with_what_its_soc_fuses(
    soc: str, maker: str, reader: str, together: bool
) -> None:
    graph = parse_graph(f"""
graph @g phase lowered {{
  input %p : int32[40,70] ND
  input %h : float16[40,70] ND
  const %s : uint64[1] ND = dense [1008981770]
  const %w : float16[70] ND = splat 0.5
  %d = {maker} : float16[40,70] ND
  %r = {reader} ND
  output %r
}}
""")
    for node in graph.nodes:
        node.engine = Engine.AICORE
    assert _in_one_launch(graph.nodes[0].output, find_soc(soc)) is together
