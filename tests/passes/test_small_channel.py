"""`--enable-small-channel`: filters of few channels with four for each tap, where a kernel has them."""

import pytest

from atc_py.cost.operation import Operation, Tensor
from atc_py.cost.work import work_of
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.layout.assign_storage import AssignStoragePass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.system.structs import replace
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType
from tests.passes.fusing import changed
from tests.passes.laying_out import storages

FIRST = """
graph @g phase lowered {
  input %x : float16[1,3,32,32] ND
  const %w : float16[40,3,7,7] ND = splat 0.5
  %y = Conv2D(%x, %w) {pads=[3,3,3,3], strides=[1,1,1,1]} : float16[1,40,32,32] ND
  output %y
}
"""


def stored(text: str, name: str, *, asked: bool) -> dict[str, str]:
    """Return the storages of a graph for a SoC with the option or without."""
    soc = find_soc(name)
    soc = replace(soc, storage=replace(soc.storage, small_channel=asked))
    graph = parse_graph(text)
    context = PassContext(soc, PrecisionMode.FORCE_FP16, "model.onnx")
    for step in (AssignPrecisionPass, AssignFormatsPass, AssignStoragePass):
        step().run(graph, context)
        graph.sort()
    return storages(graph)


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend910A", "Ascend310B1", "Ascend910B3"])
def test_first_filter_has_four_channels_a_tap_where_asked_for(soc: str) -> None:
    """Check the kernels of CANN 8.1: C at most 4, window not 1 x 1, data stay in NC1HWC0."""
    assert stored(FIRST, soc, asked=False)["w"] == "FRACTAL_Z"
    found = stored(FIRST, soc, asked=True)
    assert (found["w"], found["y"]) == ("FRACTAL_Z_C04", "NC1HWC0")


OTHERS = {
    "more channels": {"[1,3,32,32]": "[1,5,32,32]", "[40,3,7,7]": "[40,5,7,7]"},
    "one tap": {"[40,3,7,7]": "[40,3,1,1]", "pads=[3,3,3,3]": "pads=[0,0,0,0]"},
    "groups": {"[1,3,32,32]": "[1,6,32,32]", "{pads": "{groups=2, pads"},
    "computed": {"const %w : float16[40,3,7,7] ND = splat 0.5": "input %w : float16[40,3,7,7] ND"},
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_filters_stay_as_they_are(case: str) -> None:
    found = stored(changed(FIRST, OTHERS[case]), "Ascend910B3", asked=True)
    assert "FRACTAL_Z_C04" not in found.values()


def test_channels_are_padded_to_a_block_unless_the_filter_has_four() -> None:
    """Check 49 taps of 3 channels: 49 blocks of 16, or 4 x 49 / 16 = 13 of them."""
    row = find_operator("Conv2D")
    assert row is not None
    data, out = (Tensor(s, DType.FLOAT16) for s in ((1, 3, 32, 32), (1, 40, 32, 32)))
    strides = (("strides", (1, 1, 1, 1)),)
    products = [
        work_of(Operation(row, (data, Tensor((40, 3, 7, 7), DType.FLOAT16, kept)), (out,), strides))
        for kept in ((49, 3, 16, 16), (13, 3, 16, 16))
    ]
    plain, small = (work.product for work in products)
    assert plain is not None
    assert small is not None
    assert (plain.k, plain.window) == (147, (49, 3))
    assert (small.k, small.window) == (4 * 49, None)
    assert plain.macs == small.macs == 32 * 32 * 40 * 147
    assert [find_soc(name).storage.pads_to_four for name in ("sim", "Ascend910B3")] == [True, False]
