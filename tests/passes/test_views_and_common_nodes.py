"""Views, transpositions, identities and nodes that are there twice."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from atc_py.passes.fusion.merge_reshapes import MergeReshapesPass
from atc_py.passes.fusion.merge_transposes import MergeTransposesPass
from atc_py.passes.fusion.remove_identities import RemoveIdentitiesPass
from tests.passes.fusing import fuse
from tests.passes.numbers import results

CONSTANTS = """
  const %flat : int64[1] ND = dense [24]
  const %flat2 : int64[1] ND = dense [24]
  const %same : int64[3] ND = dense [2, 3, 4]
  const %other : int64[2] ND = dense [6, 4]
"""


def _graph(body: str, x: str = "float32[2,3,4] ND") -> str:
    """Return a graph with input `x` that returns `y`."""
    lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
    return f"graph @g phase lowered {{\n  input %x : {x}{CONSTANTS}{lines}\n  output %y\n}}"


VIEW = "%v = Reshape(%x, %flat) : float32[24] ND"
TURN = "%t = TransposeD(%x) {perm=[1,2,0]} : float32[3,4,2] ND"
CASES: dict[str, tuple[type[Pass], str, list[str]]] = {
    "view of a view": (
        MergeReshapesPass, f"{VIEW}\n%y = Reshape(%v, %other) : float32[6,4] ND", ["Reshape"]),
    "view of a Flatten": (
        MergeReshapesPass,
        "%v = Flatten(%x) {axis=1} : float32[2,12] ND\n%y = Reshape(%v, %other) : float32[6,4] ND",
        ["Reshape"]),
    "there and back": (
        MergeReshapesPass,
        f"{VIEW}\n%b = Reshape(%v, %same) : float32[2,3,4] ND\n%y = Relu(%b) : float32[2,3,4] ND",
        ["Relu"]),
    "view that others read": (
        MergeReshapesPass,
        (f"{VIEW}\n%z = Relu(%v) : float32[24] ND\n%w = Reshape(%v, %other) : float32[6,4] ND\n"
        "%r = Relu(%w) : float32[6,4] ND\n%f = Reshape(%r, %flat) : float32[24] ND\n"
        "%y = Add(%z, %f) : float32[24] ND"),
        ["Reshape", "Relu", "Reshape", "Relu", "Reshape", "Add"]),
    "two transpositions": (
        MergeTransposesPass,
        f"{TURN}\n%y = TransposeD(%t) {{perm=[1,0,2]}} : float32[4,3,2] ND", ["TransposeD"]),
    "transposition and its inverse": (
        MergeTransposesPass,
        (f"{TURN}\n%b = TransposeD(%t) {{perm=[2,0,1]}} : float32[2,3,4] ND\n"
        "%y = Relu(%b) : float32[2,3,4] ND"), ["Relu"]),
    "ConcatD of one": (
        RemoveIdentitiesPass,
        "%c = ConcatD(%x) {N=1, concat_dim=0} : float32[2,3,4] ND\n%y = Relu(%c) : float32[2,3,4] ND",
        ["Relu"]),
    "slice of all": (
        RemoveIdentitiesPass,
        ("%c = StridedSliceD(%x) {begin=[0,0,0], end=[2,3,4], strides=[1,1,1]} : float32[2,3,4] ND\n"
        "%y = Relu(%c) : float32[2,3,4] ND"), ["Relu"]),
    "the same twice": (
        MergeCommonNodesPass,
        (f"{VIEW}\n%w = Reshape(%x, %flat2) : float32[24] ND\n%a = Neg(%v) : float32[24] ND\n"
        "%b = Neg(%w) : float32[24] ND\n%y = Add(%a, %b) : float32[24] ND"),
        ["Reshape", "Neg", "Add"]),
}  # fmt: skip

REFUSALS: dict[str, tuple[type[Pass], str, str]] = {
    "one view": (MergeReshapesPass, "%y = Reshape(%x, %flat) : float32[24] ND",
                 "a view must come before, found a value from outside"),
    "view that is handed out": (
        MergeReshapesPass, "%y = Reshape(%x, %same) : float32[2,3,4] ND", "a view must come before"),
    "one transposition": (
        MergeTransposesPass, "%y = TransposeD(%x) {perm=[1,0,2]} : float32[3,2,4] ND",
        "axes longer than 1 change places: [1, 0, 2]"),
    "slice backwards": (
        RemoveIdentitiesPass,
        ("%c = StridedSliceD(%x) {begin=[1,0,0], end=[-3,3,4], strides=[-1,1,1]} : float32[2,3,4] ND\n"
        "%y = Relu(%c) : float32[2,3,4] ND"), "strides must be at least 1, found [-1, 1, 1]"),
    "identity that is handed out": (
        RemoveIdentitiesPass, "%y = ConcatD(%x) {N=1, concat_dim=0} : float32[2,3,4] ND",
        "%y is an output of the model"),
    "border that moves data": (
        RemoveIdentitiesPass,
        ("%c = PadV3D(%x) {paddings=[0,0,0,0,1,-1]} : float32[2,3,4] ND\n"
        "%y = Relu(%c) : float32[2,3,4] ND"), "no border may be added"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_changes_nothing_goes_and_numbers_stay(case: str) -> None:
    step, body, operators = CASES[case]
    graph, record = fuse(step, _graph(body))
    assert record.effective >= 1
    assert [node.op for node in graph.nodes] == operators
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    found, wanted = results(graph, {"x": x})["y"], results(_graph(body), {"x": x})["y"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reason", REFUSALS)
def test_what_changes_something_stays_and_says_why(reason: str) -> None:
    step, body, message = REFUSALS[reason]
    _, record = fuse(step, _graph(body))
    assert record.effective == 0
    assert record.nearest is not None
    assert message in record.nearest.reason


def test_transposition_that_moves_no_element_is_a_view() -> None:
    text = _graph("%y = TransposeD(%x) {perm=[1,0,2]} : float32[1,3,4] ND", "float32[3,1,4] ND")
    graph, _ = fuse(MergeTransposesPass, text)
    assert [node.op for node in graph.nodes] == ["Reshape"]
    x = np.arange(12, dtype=np.float32).reshape(3, 1, 4)
    np.testing.assert_array_equal(results(graph, {"x": x})["y"], results(text, {"x": x})["y"])


@pytest.mark.parametrize(
    "body",
    [
        "%a = Neg(%x) : float32[2,3,4] ND\n%b = Relu(%x) : float32[2,3,4] ND",
        "%a = Muls(%x) {value=2.0} : float32[2,3,4] ND\n%b = Muls(%x) {value=3.0} : float32[2,3,4] ND",
        (
            "%a = RandomUniform(%same) {dtype=float32} : float32[2,3,4] ND\n"
            "%b = RandomUniform(%same) {dtype=float32} : float32[2,3,4] ND"
        ),
        (
            "%a = RandomStandardNormal(%same) {dtype=float32} : float32[2,3,4] ND\n"
            "%b = RandomStandardNormal(%same) {dtype=float32} : float32[2,3,4] ND"
        ),
    ],
    ids=["other operators", "other attributes", "random numbers", "normal numbers"],
)
def test_nodes_that_differ_stay_apart(body: str) -> None:
    graph, record = fuse(
        MergeCommonNodesPass, _graph(f"{body}\n%y = Add(%a, %b) : float32[2,3,4] ND")
    )
    assert (len(graph.nodes), record.effective) == (3, 0)


def test_common_nodes_of_unlike_precision_stay_apart() -> None:
    text = _graph(
        '%a = Neg(%x) : float32[2,3,4] ND from [0 "one" Neg]\n'
        '%b = Neg(%x) : float32[2,3,4] ND from [1 "two" Neg]\n%y = Add(%a, %b) : float32[2,3,4] ND'
    )
    assert fuse(MergeCommonNodesPass, text, keep=frozenset({"two"}))[1].effective == 0
    graph, _ = fuse(MergeCommonNodesPass, text)
    assert [origin.name for origin in graph.nodes[0].origins] == ["two", "one"]
