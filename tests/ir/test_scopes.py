"""Scopes of launches in the text form."""

import pytest

from atc_py.diag import AtcError
from atc_py.ir.parser import parse_graph
from atc_py.ir.printer import print_graph

TEXT = """graph @g phase laid_out {
  input %x : float16[4] ND
  %a = Neg(%x) : float16[4] ND  engine=aicore  scope=3
  %y = Relu(%a) : float16[4] ND  engine=aicore  scope=3  from [0 "r" Relu]
  output %y as "y"
}
"""


def test_scope_is_read_and_printed() -> None:
    graph = parse_graph(TEXT)
    assert [node.scope for node in graph.nodes] == [3, 3]
    assert print_graph(graph) == TEXT


def test_node_of_its_own_launch_says_nothing() -> None:
    assert "scope" not in print_graph(parse_graph(TEXT.replace("  scope=3", "")))


def test_scope_that_is_not_a_number_is_refused_with_its_place() -> None:
    with pytest.raises(AtcError, match="the number of a scope"):
        parse_graph(TEXT.replace("scope=3", "scope=three"))
