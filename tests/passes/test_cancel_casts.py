"""Casts that change nothing go; those that round stay."""

import numpy as np
import pytest

from atc_py.ir.printer import integer_range
from atc_py.passes.precision.cancel_casts import CancelCastsPass, _holds
from atc_py.tensor.dtypes import DType
from tests.passes.conftest import RunPass


def pair(first: str, second: str) -> str:
    """Return a graph that casts from `first` to `second` and back."""
    return f"""
graph @g phase typed {{
  input %x : {first}[2] ND
  %a = Cast(%x) {{dst_type={second}}} : {second}[2] ND engine=aicore
  %b = Cast(%a) {{dst_type={first}}} : {first}[2] ND engine=aicore
  output %b
}}
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [("float16", "float32"), ("bfloat16", "float32"), ("int8", "float16"), ("bool", "float16")],
)
def test_pair_that_loses_nothing_goes(run_pass: RunPass, first: str, second: str) -> None:
    graph, changes = run_pass(CancelCastsPass, pair(first, second))
    assert (changes, graph.nodes, list(graph.outputs)) == (2, [], graph.inputs)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("float32", "float16"),
        ("float32", "bfloat16"),
        ("float16", "bfloat16"),
        ("int32", "float32"),
        ("int32", "int8"),
        ("float32", "int32"),
        ("float16", "bool"),
    ],
)
def test_pair_that_rounds_stays(run_pass: RunPass, first: str, second: str) -> None:
    graph, changes = run_pass(CancelCastsPass, pair(first, second))
    assert (changes, len(graph.nodes)) == (0, 2)


def test_cast_to_its_own_dtype_goes(run_pass: RunPass) -> None:
    text = """
graph @g phase typed {
  input %x : float16[2] ND
  %a = Cast(%x) {dst_type=float16} : float16[2] ND engine=aicore
  %b = Relu(%a) : float16[2] ND engine=aicore
  output %b
}
"""
    graph, changes = run_pass(CancelCastsPass, text)
    assert (changes, [node.op for node in graph.nodes]) == (1, ["Relu"])


def test_first_cast_that_others_read_stays(run_pass: RunPass) -> None:
    text = pair("float16", "float32").replace("output %b", "output %b\n  output %a")
    graph, changes = run_pass(CancelCastsPass, text)
    assert (changes, len(graph.nodes)) == (1, 1)


_CORNERS = {
    dtype: np.array([0, 1], bool)
    if dtype is DType.BOOL
    else np.array([*integer_range(dtype), 1], dtype.numpy)
    for dtype in DType
    if not dtype.is_float
}


@pytest.mark.parametrize("narrow", _CORNERS)
def test_wide_dtype_holds_the_ends_of_a_narrow_one_as_numpy_says(narrow: DType) -> None:
    for wide in set(_CORNERS) - {narrow, DType.BOOL}:
        exact = np.can_cast(narrow.numpy, wide.numpy, "safe")
        assert _holds(wide, narrow) is exact, wide
