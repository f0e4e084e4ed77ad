"""TransData: where they are inserted, which go, and what the verifier says where one is missing."""

import re

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import BROKEN_INVARIANT
from atc_py.passes.layout.assign_storage import AssignStoragePass
from atc_py.passes.layout.insert_trans_data import InsertTransDataPass
from atc_py.passes.layout.merge_trans_data import MergeTransDataPass
from tests.passes.conftest import RunPass
from tests.passes.laying_out import conversions, laid_out, placed

SHARED = """
graph @g phase lowered {
  input %x : float16[1,16,8,8] ND
  const %w : float16[16,16,1,1] ND = splat 0.5
  const %v : float16[8,8] ND = splat 0.5
  %c = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,16,8,8] ND
  %d = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,16,8,8] ND
  %h = HardMax(%c) {axis=1} : float16[1,16,8,8] ND
  %p = BatchMatMulV2(%c, %v) : float16[1,16,8,8] ND
  output %c
  output %d
  output %h
  output %p
}
"""
STORED = """
graph @g phase laid_out {
  input %x : float16[1,16,8,8] NCHW
  %a = TransData(%x) {dst_format="NC1HWC0", src_format="NCHW"} : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %b = TransData(%x) {dst_format="NC1HWC0", src_format="NCHW"} : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %r = Relu(%a) : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %s = Add(%r, %b) : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %t = TransData(%s) {dst_format="NCHW", src_format="NC1HWC0"} : float16[1,16,8,8] NCHW engine=aicore
  %u = TransData(%t) {dst_format="NC1HWC0", src_format="NCHW"} : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %z = Relu(%u) : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore
  %y = TransData(%z) {dst_format="NCHW", src_format="NC1HWC0"} : float16[1,16,8,8] NCHW engine=aicore
  output %y
}
"""


def test_readers_that_want_the_same_share_one() -> None:
    graph = laid_out(SHARED)
    assert conversions(graph) == [
        "c.NCHW: NCHW > FRACTAL_NZ",
        "c: NC1HWC0 > NCHW",
        "d: NC1HWC0 > NCHW",
        "p: FRACTAL_NZ > ND",
        "x: NCHW > NC1HWC0",
    ]
    assert [value.type.storage for value in graph.outputs] == [None] * 4
    assert graph.output_names == ["c", "d", "h", "p"]
    placed(graph)


FILTER = """
graph @g phase lowered {
  input %x : float16[1,16,8,8] ND
  input %z : float16[20,16,3,3] ND
  const %w : float16[16,16,1,1] ND = splat 0.5
  %f = Conv2D(%z, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[20,16,3,3] ND
  %y = Conv2D(%x, %f) {pads=[1,1,1,1], strides=[1,1,1,1]} : float16[1,20,8,8] ND
  output %y
}
"""


def test_image_becomes_a_filter_at_once_where_a_kernel_does_it() -> None:
    """Check the pair NC1HWC0 to FRACTAL_Z, which the operator information of CANN 8.1 lists."""
    ends = ["x: NCHW > NC1HWC0", "y: NC1HWC0 > NCHW", "z: NCHW > NC1HWC0"]
    graph = laid_out(FILTER, soc="Ascend910B3")
    assert conversions(graph) == sorted([*ends, "f: NC1HWC0 > FRACTAL_Z"])
    placed(graph, "Ascend910B3")
    through_rows = ["f: NC1HWC0 > NCHW", "f.NCHW: NCHW > FRACTAL_Z"]
    assert conversions(laid_out(FILTER, soc="sim")) == sorted([*ends, *through_rows])


def test_computed_filter_of_groups_is_stored_with_their_diagonals() -> None:
    text = FILTER.replace("16[16,16,1,1]", "16[8,16,1,1]").replace("{pads=[1", "{groups=2, pads=[1")
    text = text.replace(": float16[20,16,3,3] ND\n  %y", ": float16[20,8,3,3] ND\n  %y")
    nodes = [node for node in placed(laid_out(text)).nodes if node.op == "TransData"]
    groups = {str(node.attributes["dst_format"]): node.attributes["groups"] for node in nodes}
    assert groups == {"NC1HWC0": 1, "NCHW": 1, "FRACTAL_Z": 2}


def test_conversion_has_the_origins_of_what_it_converts() -> None:
    text = re.sub(r"(%c = .*)", r'\1 from [3 "conv" Conv]', SHARED)
    graph = laid_out(text)
    made = {node.present_inputs[0].name: node for node in graph.nodes if node.op == "TransData"}
    assert [origin.name for origin in made["c"].origins] == ["conv"]
    assert [origin.name for origin in made["x"].origins] == ["conv"]


def test_nothing_is_inserted_where_no_storage_is_chosen() -> None:
    graph = laid_out(SHARED, steps=(InsertTransDataPass, MergeTransDataPass))
    assert not conversions(graph)
    assert all(value.type.storage is None for value in graph.values())
    placed(graph)


def test_equal_ones_are_one_and_pairs_cancel(run_pass: RunPass) -> None:
    graph, changes = run_pass(MergeTransDataPass, STORED)
    assert changes == 3
    assert conversions(graph) == ["x: NCHW > NC1HWC0", "z: NC1HWC0 > NCHW"]
    assert [node.op for node in graph.nodes] == ["TransData", "Relu", "Add", "Relu", "TransData"]


def test_conversion_that_is_an_output_or_differs_stays(run_pass: RunPass) -> None:
    handed_out = STORED.replace("  output %y", "  output %y\n  output %t")
    graph, _ = run_pass(MergeTransDataPass, handed_out)
    assert conversions(graph) == ["s: NC1HWC0 > NCHW", "x: NCHW > NC1HWC0", "z: NC1HWC0 > NCHW"]
    other = STORED.replace(
        '{dst_format="NC1HWC0", src_format="NCHW"} : float16[1,16,8,8] NCHW@NC1HWC0 engine=aicore\n'
        "  %r",
        '{dst_format="FRACTAL_NZ", src_format="NCHW"} : float16[1,16,8,8] NCHW@FRACTAL_NZ '
        "engine=aicore\n  %r",
    )
    graph, _ = run_pass(MergeTransDataPass, other)
    assert "x: NCHW > FRACTAL_NZ" in conversions(graph)


def test_graph_without_its_conversions_is_refused() -> None:
    graph = laid_out(SHARED, steps=(AssignStoragePass,))
    with pytest.raises(AtcError) as caught:
        placed(graph)
    messages = [found.message for found in caught.value.diagnostics]
    assert {found.code for found in caught.value.diagnostics} == {BROKEN_INVARIANT}
    assert any("Conv2D takes %x as NC1HWC0, found float16[1,16,8,8] NCHW" in m for m in messages)
    assert any("HardMax takes %c row by row, found" in message for message in messages)
    assert any("the output %d must be stored row by row" in message for message in messages)


def test_result_in_a_storage_that_no_kernel_gives_is_refused() -> None:
    graph = laid_out(SHARED)
    (node,) = [node for node in graph.nodes if node.op == "HardMax"]
    conv = next(node for node in graph.nodes if node.op == "Conv2D")
    node.output.type = node.output.type.with_storage(conv.output.type.storage)
    with pytest.raises(AtcError, match="HardMax produces none of its results as"):
        placed(graph)
