"""Runs whose tensors are stored byte by byte: same bits, and a wrong plan gives wrong numbers."""

from typing import Any

import numpy as np
import pytest

from atc_py.device.backend import ExactBackend, load_stored
from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution.session import SimModel
from atc_py.device.sim.memory.exact_storage import ExactModel
from atc_py.diag import AtcError
from atc_py.system.memory_limit import limited_memory
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, MemoryModel, random_array
from tests.device.stored_models import run_both, run_exact, stored_model

F16 = DType.FLOAT16


def halves(seed: int, *shape: int) -> Array:
    return random_array(seed, shape, F16)


# Plans ------------------------------------------------------------------------------------------

CHAIN = """graph @g phase laid_out {
  input %x : float16[1,256] ND
  %a = SoftmaxV2(%x) {axes=[-1]} : float16[1,256] ND engine=aicore
  %b = SoftmaxV2(%a) {axes=[-1]} : float16[1,256] ND engine=aicore
  %v = Unsqueeze(%b) {axes=[0]} : float16[1,1,256] ND engine=local
  %c = Add(%v, %a) : float16[1,1,256] ND engine=aicore
  %y = SoftmaxV2(%c) {axes=[-1]} : float16[1,1,256] ND engine=aicore
  output %y
}"""
"""x, a, b, v, c, y: numbers 0 to 5; each has 512 bytes."""


def chain(a: int, b: int, c: int) -> MemoryModel:
    """Return the model of `CHAIN` with these offsets; the view is stored where b is."""
    return stored_model(CHAIN, ["input", a, b, b, c, "output"])


@pytest.mark.parametrize(
    ("a", "b", "c"), [(0, 512, 1024), (512, 0, 1024), (0, 512, 0), (0, 512, 512)]
)
def test_sound_plan_gives_the_same_bits(a: int, b: int, c: int) -> None:
    outputs = run_both(chain(a, b, c), {"x": halves(0, 1, 256)})
    assert np.isfinite(outputs["y"]).all()


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        (0, 0, 512),  # a result on an operand that its kernel still reads
        (0, 256, 1024),  # part of a result on an operand
        (0, 512, 256),  # in place, but not where the operand lies
        (512, 768, 0),  # a result over one that is needed later
    ],
)
def test_overlap_spoils_the_numbers(a: int, b: int, c: int) -> None:
    inputs = {"x": halves(0, 1, 256)}
    good, bad = (run_exact(model, inputs)["y"] for model in (chain(0, 512, 1024), chain(a, b, c)))
    assert np.isnan(bad).any()
    assert good.tobytes() != bad.tobytes()


MERGED = """graph @g phase laid_out {
  input %x : float16[1,1,4,8] NCHW
  const %w : float16[16,1,1,1] NCHW = splat 0.5
  input %r : float16[1,16,4,8] NCHW
  %s = Neg(%r) : float16[1,16,4,8] NCHW engine=aicore
  %c = Conv2D(%x, %w) {strides=[1,1,1,1], pads=[0,0,0,0]} \
: float16[1,16,4,8] NCHW engine=aicore scope=1
  %d = Add(%c, %s) : float16[1,16,4,8] NCHW engine=aicore scope=1
  %y = Abs(%d) : float16[1,16,4,8] NCHW engine=aicore
  output %y
}"""


def test_merged_launch_reuses_what_its_head_does_not_read() -> None:
    model = stored_model(MERGED, ["input", "input", "weights", 0, "chip", 0, "output"])
    run_both(model, {"x": halves(1, 1, 1, 4, 8), "r": halves(2, 1, 16, 4, 8)})


def test_merged_launch_cannot_reuse_what_its_head_reads() -> None:
    """Check a convolution that reads what the sum may not be written over then."""
    text = MERGED.replace("Conv2D(%x", "Conv2D(%s").replace("16[16,1,1,1]", "16[16,16,1,1]")
    model = stored_model(text, ["input", "input", "weights", 0, "chip", 1024, "output"])
    inputs = {"x": halves(1, 1, 1, 4, 8), "r": halves(2, 1, 16, 4, 8)}
    run_both(model, inputs)
    spoiled = stored_model(text, ["input", "input", "weights", 0, "chip", 0, "output"])
    assert np.isnan(run_exact(spoiled, inputs)["y"]).all()


def test_launch_that_the_device_takes_apart_keeps_inner_values_on_the_chip() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[1,256] ND
      %a = SoftmaxV2(%x) {axes=[-1]} : float16[1,256] ND engine=aicore scope=1
      %b = SoftmaxV2(%a) {axes=[-1]} : float16[1,256] ND engine=aicore scope=1
      output %b
    }"""
    model = stored_model(text, ["input", "chip", "output"])
    run_both(model, {"x": halves(0, 1, 256)})


def test_model_without_a_plan_runs() -> None:
    run_both(stored_model(CHAIN), {"x": halves(0, 1, 256)})


# Storage ----------------------------------------------------------------------------------------

BLOCKED = """graph @g phase laid_out {{
  input %x : {dtype}[2,20,7,6] NCHW
  const %w : {dtype}[24,{depth},3,3] NCHW@FRACTAL_Z{groups} = splat 0.5
  const %d : {dtype}[24,1,3,3] NCHW@{depthwise}(24) = splat 0.25
  const %m : {dtype}[6,33] ND@FRACTAL_NZ = splat 0.125
  %a = TransData(%x) {{src_format="NCHW", dst_format="NC1HWC0"}} \
: {dtype}[2,20,7,6] NCHW@NC1HWC0 engine=aicore
  %b = Conv2D(%a, %w) {{strides=[1,1,1,1], pads=[1,1,1,1], groups={count}}} \
: {dtype}[2,24,7,6] NCHW@NC1HWC0 engine=aicore
  %c = DepthwiseConv2D(%b, %d) {{strides=[1,1,1,1], pads=[1,1,1,1]}} \
: {dtype}[2,24,7,6] NCHW@NC1HWC0 engine=aicore
  %e = TransData(%c) {{src_format="NC1HWC0", dst_format="FRACTAL_NZ"}} \
: {dtype}[2,24,7,6] NCHW@FRACTAL_NZ engine=aicore
  %f = BatchMatMulV2(%e, %m) : {dtype}[2,24,7,33] NCHW@FRACTAL_NZ engine=aicore
  output %e
  output %f
}}"""


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("depthwise", ["FRACTAL_Z", "C1HWNCoC0"])
def test_stored_operands_give_the_same_bits(dtype: str, count: int, depthwise: str) -> None:
    depth = 20 // count
    groups = f"({count})" if count > 1 else ""
    text = BLOCKED.format(dtype=dtype, depth=depth, groups=groups, count=count, depthwise=depthwise)
    kind = DType(dtype)
    arrays = {
        "w": random_array(1, (24, depth, 3, 3), kind),
        "d": random_array(2, (24, 1, 3, 3), kind),
        "m": random_array(3, (6, 33), kind),
    }
    run_both(stored_model(text, None, arrays), {"x": random_array(4, (2, 20, 7, 6), kind)})


def test_blocks_of_eight_give_the_same_bits() -> None:
    """Check float32 as a cube that multiplies it stores it."""
    text = BLOCKED.format(
        dtype="float32", depth=10, groups="(2,C0=8)", count=2, depthwise="FRACTAL_Z"
    )
    text = text.replace("NC1HWC0 engine", "NC1HWC0(C0=8) engine").replace("(24) =", "(24,C0=8) =")
    arrays = {
        "w": random_array(1, (24, 10, 3, 3), DType.FLOAT32),
        "d": random_array(2, (24, 1, 3, 3), DType.FLOAT32),
        "m": random_array(3, (6, 33), DType.FLOAT32),
    }
    x = random_array(4, (2, 20, 7, 6), DType.FLOAT32)
    run_both(stored_model(text, None, arrays), {"x": x})


QUANTIZED = """graph @g phase laid_out {
  input %x : float16[1,20,6,6] NCHW
  const %w : int8[40,10,3,3] NCHW@FRACTAL_Z(2) = splat 1
  const %s : uint64[1] ND = dense [1008981770]
  %a = TransData(%x) {src_format="NCHW", dst_format="NC1HWC0"} \
: float16[1,20,6,6] NCHW@NC1HWC0 engine=aicore
  %q = AscendQuant(%a) {scale=20.0, offset=3.0} : int8[1,20,6,6] NCHW@NC1HWC0 engine=aicore
  %c = Conv2D(%q, %w) {strides=[1,1,1,1], pads=[1,1,1,1], groups=2, offset_x=3} \
: int32[1,40,6,6] NCHW@NC1HWC0 engine=aicore
  %d = AscendDequant(%c, %s) {dtype=float16} : float16[1,40,6,6] NCHW@NC1HWC0 engine=aicore
  %y = TransData(%d) {src_format="NC1HWC0", dst_format="ND"} \
: float16[1,40,6,6] NCHW engine=aicore
  output %q
  output %y
}"""


def test_quantized_layer_in_blocks_of_32_gives_the_same_bits() -> None:
    weights = random_array(5, (40, 10, 3, 3), DType.INT8)
    places: list[int | str] = ["input", "weights", "weights", 0, "output", 8192, 2048, "output"]
    model = stored_model(QUANTIZED, places, {"w": weights})
    outputs = run_both(model, {"x": halves(6, 1, 20, 6, 6)})
    assert np.unique(outputs["y"]).size > 100


def test_four_bits_keep_their_blocks_of_64() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[3,70] ND
      %q = AscendQuant(%x) {scale=3.0, offset=0.0, dst_type=int4} \
: int4[3,70] ND@FRACTAL_NZ engine=aicore
      %t = TransData(%q) {src_format="FRACTAL_NZ", dst_format="ND"} : int4[3,70] ND engine=aicore
      output %q
      output %t
    }"""
    outputs = run_both(stored_model(text), {"x": halves(7, 3, 70)})
    assert outputs["q"].tobytes() == outputs["t"].tobytes()


# Control flow and extents that the run knows -----------------------------------------------------


@pytest.mark.parametrize("flag", [True, False])
def test_branch_that_is_not_taken_is_not_read(flag: bool) -> None:
    text = """graph @g phase laid_out {
      input %x : float16[1,256] ND
      input %p : bool[] ND
      %a = Neg(%x) : float16[1,256] ND engine=aicore
      %f, %t = Switch(%a, %p) : float16[1,256] ND, float16[1,256] ND engine=local
      %b = Exp(%f) : float16[1,256] ND engine=aicore
      %c = SoftmaxV2(%t) {axes=[-1]} : float16[1,256] ND engine=aicore
      %y = Merge(%b, %c) : float16[1,256] ND engine=aicore
      output %y
    }"""
    model = stored_model(text, ["input", "input", 0, 0, 0, 512, 1024, "output"])
    run_both(model, {"x": halves(8, 1, 256), "p": np.array(flag)})


def test_output_of_a_dead_branch_is_an_error() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[4] ND
      input %p : bool[] ND
      %f, %t = Switch(%x, %p) : float16[4] ND, float16[4] ND engine=local
      %y = Exp(%t) : float16[4] ND engine=aicore
      output %y
    }"""
    inputs = {"x": halves(8, 4), "p": np.zeros((), np.bool_)}
    with pytest.raises(AtcError, match="nothing computed the output 'y' in this run"):
        run_exact(stored_model(text), inputs)


def test_dims_of_the_run_take_memory_of_the_run() -> None:
    text = """graph @g phase laid_out {
      input %x : float32[4,5] ND
      %i = NonZero(%x) {transpose=true} : int64[2,?] ND engine=aicpu
      %t = TransposeD(%i) {perm=[1,0]} : int64[?,2] ND engine=aicore
      %n = Neg(%x) : float32[4,5] ND engine=aicore
      %j = Flatten(%t) {axis=1} : int64[?,2] ND engine=local
      %y = GatherNd(%n, %j) : float32[?] ND engine=aicore
      output %y
    }"""
    x = random_array(9, (4, 5))
    x[x < 0] = 0
    outputs = run_both(stored_model(text, ["input", "run", "run", 0, "run", "run"]), {"x": x})
    np.testing.assert_array_equal(outputs["y"], -x[x > 0])


# Loading and running ----------------------------------------------------------------------------


def moving(storage: str = "@NC1HWC0") -> MemoryModel:
    text = f"""graph @g phase laid_out {{
      input %x : float16[1,3,4,4] NCHW
      %a = TransData(%x) {{src_format="NCHW", dst_format="NC1HWC0"}} \
: float16[1,3,4,4] NCHW{storage} engine=aicore
      %y = Relu(%a) : float16[1,3,4,4] NCHW{storage} engine=aicore
      output %y
    }}"""
    return stored_model(text)


def names(model: SimModel | ExactModel) -> list[str]:
    model.run({"x": halves(0, 1, 3, 4, 4)})
    found = [node.op for node in model.profile]
    model.close()
    return found


def test_change_of_format_costs_nothing_unless_bytes_are_stored() -> None:
    assert names(SimModel(moving())) == ["Relu"]
    assert names(ExactModel(moving())) == ["TransData", "Relu"]
    assert names(SimModel(moving(), merged=False)) == ["TransData", "Relu"]


def test_output_that_only_changed_its_format_is_there() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[1,3,4,4] NCHW
      %a = TransData(%x) {src_format="NCHW", dst_format="NC1HWC0"} \
: float16[1,3,4,4] NCHW@NC1HWC0 engine=aicore
      %y = TransData(%a) {src_format="NC1HWC0", dst_format="NCHW"} \
: float16[1,3,4,4] NCHW engine=aicore
      output %y
      output %a
    }"""
    x = halves(0, 1, 3, 4, 4)
    outputs = run_both(stored_model(text), {"x": x})
    assert outputs["y"].tobytes() == outputs["a"].tobytes() == x.tobytes()


def test_storage_that_contradicts_the_nodes_is_refused() -> None:
    with pytest.raises(AtcError, match="dst_format is 'NC1HWC0', but %a is stored as NCHW"):
        ExactModel(moving(""))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('src_format="NCHW", dst_format="NC1HWCO"', "formats are ND, NCHW, .* found 'NC1HWCO'"),
        (
            'src_format="NCHW", dst_format="NCHW"',
            "NCHW and NCHW store this tensor in the same way",
        ),
        ('src_format="ND", dst_format="NCHW"', "NCHW and ND store this tensor in the same way"),
        (
            'src_format="ND", dst_format="FRACTAL_NZ", groups=0',
            "groups must be at least 1, found 0",
        ),
        ('src_format="ND", dst_format="FRACTAL_NZ", src_subformat=1', "src_subformat must be 0"),
    ],
)
def test_change_of_format_is_held_to_its_attributes(attributes: str, message: str) -> None:
    text = f"""graph @g phase laid_out {{
      input %x : float16[4,4] ND
      %y = TransData(%x) {{{attributes}}} : float16[4,4] ND@FRACTAL_NZ engine=aicore
      output %y
    }}"""
    with pytest.raises(AtcError, match=message):
        SimModel(stored_model(text))


def test_failing_node_is_named() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[4,4] ND
      input %i : int32[2] ND
      %y = GatherV2D(%x, %i) {axis=0} : float16[2,4] ND engine=aicore name="pick"
      output %y
    }"""
    with pytest.raises(AtcError) as caught:
        run_exact(stored_model(text), {"x": halves(0, 4, 4), "i": np.array([0, 9], np.int32)})
    (found,) = caught.value.diagnostics
    assert found.code.name == "device-run-failed"
    assert found.place is not None
    assert found.place.node_name == "pick"


def test_padding_counts_for_the_memory_limit() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[256,1,16,16] NCHW@NC1HWC0
      %y = Neg(%x) : float16[256,1,16,16] NCHW@NC1HWC0 engine=aicore
      output %y
    }"""
    wanted = r"storage formats take 4\.0 MiB .*, the limit is 3\.0 MiB"
    with limited_memory("3M"), pytest.raises(AtcError, match=wanted) as caught:
        ExactModel(stored_model(text))
    assert caught.value.diagnostics[0].code.name == "device-memory"
    with limited_memory("5M"):
        ExactModel(stored_model(text)).close()


def test_memory_limit_holds() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[1024,1024] ND
      %y = Neg(%x) : float16[1024,1024] ND engine=aicore
      output %y
    }"""
    with limited_memory("2M"), pytest.raises(AtcError, match=r"the limit is 2\.0 MiB"):
        ExactModel(stored_model(text))


class Plain:
    """A back end that keeps tensors as it likes."""

    name = "plain"

    def open(self) -> None: ...

    def load(self, model: Any) -> Any:
        return model

    def run(self, handle: Any, inputs: Any) -> dict[str, Any]:
        return {}

    def profile(self, handle: Any) -> tuple[()]:
        return ()

    def close(self) -> None: ...


def test_back_end_says_whether_it_stores_in_formats() -> None:
    assert isinstance(SimBackend(), ExactBackend)
    model = moving()
    assert load_stored(Plain(), model, "logical") is model
    with pytest.raises(
        AtcError, match="device 'plain' does not run with --storage exact"
    ) as caught:
        load_stored(Plain(), model, "exact")
    assert caught.value.diagnostics[0].code.name == "bad-option-value"
    with pytest.raises(AtcError, match="--storage cannot be 'packed'"):
        load_stored(Plain(), model, "packed")


def test_closed_device_takes_no_model() -> None:
    device = SimBackend()
    with pytest.raises(AtcError, match="device 'sim' is not open"):
        device.load_exact(moving())
