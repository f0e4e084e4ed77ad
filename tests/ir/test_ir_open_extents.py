"""Open dims in types: `?` in the text form, and what may have them."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.ir import DenseConst, Graph, TensorType
from atc_py.ir.parser import parse_graph
from atc_py.ir.printer import print_graph
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import OpenShapeError, broadcast_dims, closed_shape, format_shape

TEXT = """\
graph @g phase lowered {
  input %x : float32[2,6] ND
  input %s : int64[2] ND
  %y = Reshape(%x, %s) : float32[?,?] ND
  %z = TransposeD(%y) {perm=[1,0]} : float32[?,3] ND
  output %z
}
"""
RULES = Rules(find_operator)


def line(statement: str) -> str:
    """Return a graph with one more statement in front of the others."""
    return TEXT.replace("  input %x", f"  {statement}\n  input %x", 1)


def test_open_dims_survive_the_text_form() -> None:
    graph = parse_graph(TEXT)
    assert print_graph(graph).rstrip() == TEXT.rstrip().replace("output %z", 'output %z as "z"')
    assert [node.output.type.dims for node in graph.nodes] == [(None, None), (None, 3)]
    verify_graph(graph, RULES)


@pytest.mark.parametrize("type_", ["float32[??] ND", "float32[?3] ND", "float32[-?] ND", "?[2] ND"])
def test_question_mark_is_a_dim_alone(type_: str) -> None:
    with pytest.raises(AtcError):
        parse_graph(TEXT.replace("float32[?,?] ND", type_))


def test_constant_with_open_dims_is_not_text() -> None:
    with pytest.raises(AtcError, match="a constant has known dims"):
        parse_graph(line("const %c : float32[?] ND = splat 1.0"))


def test_input_may_have_open_dims() -> None:
    graph = parse_graph(TEXT.replace("float32[2,6]", "float32[2,?]"))
    verify_graph(graph, RULES)
    assert graph.inputs[0].type.is_open


def test_constant_declared_with_open_dims_breaks_an_invariant() -> None:
    graph = Graph("g")
    constant = graph.constant("c", DenseConst(np.zeros(3, np.float32)))
    graph.add_output(constant)
    constant.type = TensorType(DType.FLOAT32, (None,))
    with pytest.raises(AtcError, match=r"declared as float32\[\?\]"):
        verify_graph(graph, RULES)


def test_dims_that_are_not_known_are_not_given_out() -> None:
    type_ = TensorType(DType.FLOAT16, (2, None, 3))
    assert (type_.rank, type_.is_open, str(type_)) == (3, True, "float16[2,?,3] ND")
    for ask in (lambda: type_.shape, lambda: type_.nbytes):
        with pytest.raises(OpenShapeError, match=r"2x\?x3"):
            ask()
    closed = TensorType(DType.FLOAT16, (2, 0, 3))
    assert (closed.is_open, closed.shape, closed.nbytes) == (False, (2, 0, 3), 0)


def test_shapes_are_written_with_question_marks() -> None:
    assert format_shape((None, 3, None)) == "?x3x?"
    assert format_shape(()) == "scalar"
    assert closed_shape((2, 3)) == (2, 3)


@pytest.mark.parametrize(
    ("shapes", "common"),
    [
        ([(None,), (None,)], (None,)),
        ([(None,), (1,)], (None,)),
        ([(None,), (3,)], (3,)),
        ([(None, 1), (4,)], (None, 4)),
        ([(1, None), (2, 1)], (2, None)),
        ([(None, 3), ()], (None, 3)),
        ([(0,), (None,)], (0,)),
        ([(None,), (5,), (1,)], (5,)),
    ],
)
def test_open_dims_broadcast_as_far_as_they_are_known(
    shapes: list[tuple[int | None, ...]], common: tuple[int | None, ...]
) -> None:
    assert broadcast_dims(*shapes) == common
    assert broadcast_dims(*reversed(shapes)) == common


def test_known_dims_beside_open_ones_must_still_broadcast() -> None:
    with pytest.raises(ValueError, match=r"\?x2 and 3 do not broadcast"):
        broadcast_dims((None, 2), (3,))
