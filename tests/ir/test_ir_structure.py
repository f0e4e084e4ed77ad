"""The verifier on structure: every SSA rule broken once, beside the graph that keeps it."""

from collections.abc import Callable

import numpy as np

from atc_py.diag import AtcError
from atc_py.ir import DenseConst, Graph, Node, TensorType, Value
from atc_py.ir.parser import parse_graph
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.target import Operand, TargetOp
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item

_ANY = (Operand("any", optional=True, variadic=True),)
ROW = TargetOp("Any", _ANY, _ANY, "Takes and gives anything.")
T = TensorType(DType.INT8, (2,))

GOOD = """\
graph @g phase lowered {
  input %x : int8[2] ND
  const %c : int8[2] ND = splat 1
  %y = One(%x) : int8[2] ND  from [7 "conv2" Conv, 8 "bn" BatchNormalization]
  %z = Opt(%y, %c) : int8[2] ND
  %p, %q = Many(%z, %x, %z) : int8[2] ND, int8[2] ND
  output %p
  output %c
  output %p as "again"
}
"""


def messages(graph: Graph) -> list[str]:
    """Return the verifier's findings where every operator takes anything."""
    try:
        verify_graph(graph, Rules(lambda _op: ROW))
    except AtcError as error:
        return [found.message for found in error.diagnostics]
    return []


def test_good_structure_breaks_nothing() -> None:
    assert messages(parse_graph(GOOD)) == []


def two_values_one_name(graph: Graph) -> None:
    graph.nodes[1].output.name = "y"


def input_and_constant_share_a_name(graph: Graph) -> None:
    graph.constants()[0].name = "x"


def two_nodes_one_name(graph: Graph) -> None:
    graph.nodes[2].name = "One:y"


def node_twice(graph: Graph) -> None:
    graph.nodes.append(graph.nodes[2])


def input_twice(graph: Graph) -> None:
    graph.inputs.append(graph.inputs[0])


def output_of_no_producer(graph: Graph) -> None:
    graph.nodes[1].output.producer = None


def output_of_another_producer(graph: Graph) -> None:
    graph.nodes[1].output.producer = graph.nodes[0]


def input_with_producer(graph: Graph) -> None:
    graph.inputs[0].producer = graph.nodes[0]


def input_with_data(graph: Graph) -> None:
    graph.inputs[0].const = DenseConst(np.ones(2, np.int8))


def output_with_data(graph: Graph) -> None:
    graph.nodes[2].outputs[1].const = DenseConst(np.ones(2, np.int8))


def use_not_recorded(graph: Graph) -> None:
    graph.inputs[0]._drop_use(graph.nodes[0], 0)


def use_recorded_at_another_position(graph: Graph) -> None:
    graph.inputs[0]._add_use(graph.nodes[1], 0)


def output_not_recorded(graph: Graph) -> None:
    graph.outputs[0]._drop_use(graph.result, 2)


def output_recorded_at_another_position(graph: Graph) -> None:
    graph.outputs[0]._add_use(graph.result, 1)


def use_by_a_node_outside(graph: Graph) -> None:
    Node("One", "outside", [graph.inputs[0]], [Value("o", T)])


def node_too_early(graph: Graph) -> None:
    graph.nodes[0], graph.nodes[1] = graph.nodes[1], graph.nodes[0]


def last_node_too_early(graph: Graph) -> None:
    graph.nodes[1], graph.nodes[2] = graph.nodes[2], graph.nodes[1]


def use_of_a_removed_node(graph: Graph) -> None:
    del graph.nodes[0]
    graph.inputs[0].consumers[0].drop_inputs()


def use_of_a_foreign_value(graph: Graph) -> None:
    graph.nodes[0].set_input(0, Value("foreign", T))


def output_that_nothing_computes(graph: Graph) -> None:
    graph.result.set_input(0, Value("nowhere", T))


def output_without_name(graph: Graph) -> None:
    graph.output_names.pop()


def cycle(graph: Graph) -> None:
    graph.nodes[0].set_input(0, graph.nodes[1].output)


def self_loop(graph: Graph) -> None:
    graph.nodes[0].set_input(0, graph.nodes[0].output)


@in_one_item(
    ("damage", "expected"),
    [
        (two_values_one_name, ["Opt 'Opt:z': 2 values are called %y; only one may be"]),
        (input_and_constant_share_a_name, ["2 values are called %x; only one may be"]),
        (two_nodes_one_name, ["Many 'One:y': another node has the same name"]),
        (node_twice, ["Many 'Many:p': occurs more than once among the graph's nodes"]),
        (input_twice, ["%x occurs more than once among the graph's inputs"]),
        (output_of_no_producer, ["Opt 'Opt:z': its output %z names no node as its producer"]),
        (
            output_of_another_producer,
            ["Opt 'Opt:z': its output %z names One:y as its producer"],
        ),
        (
            input_with_producer,
            [
                "One 'One:y': %x is its output and an input of the graph",
                "One 'One:y': is in a cycle: One:y -> One:y",
            ],
        ),
        (input_with_data, ["%x is an input of the graph and has constant data"]),
        (output_with_data, ["Many 'Many:p': its output %q has constant data"]),
        (use_not_recorded, ["One 'One:y': %x does not record its use as input 0"]),
        (
            use_recorded_at_another_position,
            ["Opt 'Opt:z': %x records a use as input 0 that is not there"],
        ),
        (output_not_recorded, ["Return 'return': %p does not record its use as input 2"]),
        (
            output_recorded_at_another_position,
            ["Return 'return': %p records a use as input 1 that is not there"],
        ),
        (
            use_by_a_node_outside,
            ["One 'outside': %x records a use as input 0 that is not there"],
        ),
        (node_too_early, ["Opt 'Opt:z': uses %y before it is computed"]),
        (last_node_too_early, ["Many 'Many:p': uses %z before it is computed"]),
        (use_of_a_removed_node, ["Opt 'Opt:z': uses %y, which nothing in the graph computes"]),
        (
            use_of_a_foreign_value,
            ["One 'One:y': uses %foreign, which nothing in the graph computes"],
        ),
        (output_that_nothing_computes, ["nothing in the graph computes its output %nowhere"]),
        (
            output_without_name,
            ["every output of the graph must have a name, found 3 outputs and 2 names"],
        ),
        (
            cycle,
            [
                "One 'One:y': uses %z before it is computed",
                "One 'One:y': is in a cycle: One:y -> Opt:z -> One:y",
            ],
        ),
        (
            self_loop,
            [
                "One 'One:y': uses %y before it is computed",
                "One 'One:y': is in a cycle: One:y -> One:y",
            ],
        ),
    ],
)
def test_broken_structure_is_reported(damage: Callable[[Graph], None], expected: list[str]) -> None:
    graph = parse_graph(GOOD)
    damage(graph)
    assert messages(graph) == expected


def test_every_cycle_is_reported_once() -> None:
    graph = Graph()
    nodes = [graph.add_node("One", [None], [(name, T)]) for name in "abcde"]
    for user, producer in [(0, 1), (1, 2), (2, 1), (3, 4), (4, 3)]:
        nodes[user].set_input(0, nodes[producer].output)
    found = [message for message in messages(graph) if "cycle" in message]
    assert found == [
        "One 'One:b': is in a cycle: One:b -> One:c -> One:b",
        "One 'One:d': is in a cycle: One:d -> One:e -> One:d",
    ]
