"""Dead code elimination."""

from atc_py.passes.fusion.eliminate_dead_code import EliminateDeadCodePass
from tests.passes.conftest import RunPass

TEXT = """
graph @g phase lowered {
  input %x : float32[2] ND
  %a = Relu(%x) : float32[2] ND
  %b = Relu(%a) : float32[2] ND
  %c = Relu(%b) : float32[2] ND
  output %a
}
"""


def test_dead_chain_is_removed_whole(run_pass: RunPass) -> None:
    graph, changes = run_pass(EliminateDeadCodePass, TEXT)
    assert changes == 2
    assert [node.output.name for node in graph.nodes] == ["a"]
    assert graph.nodes[0].output.consumers == (graph.result,)


def test_graph_without_dead_nodes_is_left_alone(run_pass: RunPass) -> None:
    graph, changes = run_pass(EliminateDeadCodePass, TEXT.replace("output %a", "output %c"))
    assert changes == 0
    assert len(graph.nodes) == 3


def test_node_with_one_live_output_stays(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[4] ND
  %a, %b = SplitVD(%x) {num_split=2, size_splits=[1,3], split_dim=0} : float32[1] ND, float32[3] ND
  output %b
}
"""
    graph, changes = run_pass(EliminateDeadCodePass, text)
    assert (changes, len(graph.nodes)) == (0, 1)
