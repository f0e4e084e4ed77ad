"""Graph, Node and Value: names, uses, replacement, order."""

import gc
import weakref

import numpy as np
import pytest

from atc_py.ir import DenseConst, Graph, Node, Origin, Return, TensorType, Value
from atc_py.tensor.dtypes import DType, Format

T = TensorType(DType.FLOAT16, (2, 3))


def relu(graph: Graph, value: Value | None, name: str = "y") -> Node:
    return graph.add_node("Relu", [value], [(name, T)])


def test_fresh_name_counts_up_and_skips_what_is_taken() -> None:
    graph = Graph()
    assert [graph.fresh_name("a") for _ in range(3)] == ["a", "a.1", "a.2"]
    assert graph.fresh_name("b.1") == "b.1"
    assert [graph.fresh_name("b") for _ in range(2)] == ["b", "b.2"]
    assert graph.fresh_name("a.1") == "a.1.1"
    assert graph.fresh_name("") == ""
    assert graph.fresh_name("") == ".1"


def test_fresh_name_avoids_reserved_names() -> None:
    graph = Graph()
    graph.reserve("a")
    graph.reserve("a")
    assert graph.fresh_name("a") == "a.1"


def test_reserve_of_a_name_in_use_leads_to_no_clash() -> None:
    graph = Graph()
    names = {graph.fresh_name("a"), graph.fresh_name("a")}
    graph.reserve("a")
    assert graph.fresh_name("a") not in names


def test_add_node_names_the_node_after_its_first_output() -> None:
    graph = Graph()
    x = graph.add_input("x", T)
    node = graph.add_node("Relu", [x], [("x", T)], {"k": 1}, [Origin(3, "r", "Relu")])
    assert node.output.name == "x.1"
    assert node.name == "Relu:x.1"
    assert node.output.producer is node
    assert node.origins == (Origin(3, "r", "Relu"),)
    assert repr(node) == "%x.1 = Relu(%x)"
    assert repr(x) == "%x : float16[2,3] ND"


def uses(value: Value) -> list[tuple[Node, int]]:
    return list(value.uses)


def test_uses_follow_set_input() -> None:
    graph = Graph()
    x, z = graph.add_input("x", T), graph.add_input("z", T)
    node = graph.add_node("Add", [x, x], [("y", T)])
    assert uses(x) == [(node, 0), (node, 1)]
    assert x.consumers == (node,)
    node.set_input(0, z)
    assert uses(x) == [(node, 1)]
    assert uses(z) == [(node, 0)]
    node.set_input(1, None)
    assert uses(x) == []
    assert node.inputs == (z, None)
    assert node.present_inputs == (z,)
    assert node.input(1) is None
    assert node.input(2) is None


def test_set_inputs_releases_the_old_ones() -> None:
    graph = Graph()
    x, z = graph.add_input("x", T), graph.add_input("z", T)
    node = graph.add_node("Add", [x, x], [("y", T)])
    node.set_inputs([z])
    assert uses(x) == []
    assert uses(z) == [(node, 0)]
    node.drop_inputs()
    assert uses(z) == []
    assert node.inputs == ()


def test_replace_by_covers_nodes_and_every_graph_output() -> None:
    graph = Graph()
    x = graph.add_input("x", T)
    first, second = relu(graph, x), relu(graph, x)
    user = graph.add_node("Add", [first.output, first.output], [("s", T)])
    graph.add_output(first.output)
    graph.add_output(x)
    graph.add_output(first.output, "again")
    first.output.replace_by(second.output)
    assert user.inputs == (second.output, second.output)
    assert graph.outputs == (second.output, x, second.output)
    assert graph.output_names == ["y", "x", "again"]
    assert first.output.uses == ()
    assert not first.output.is_used
    assert second.output.is_output
    assert not first.output.is_output


def test_outputs_are_uses_by_the_result() -> None:
    graph = Graph()
    x, z = graph.add_input("x", T), graph.add_input("z", T)
    node = relu(graph, x)
    for value in (x, z, x):
        graph.add_output(value)
    assert x.uses == ((node, 0), (graph.result, 0), (graph.result, 2))
    assert list(x.consumers) == [node, graph.result]
    assert (z.uses, z.is_used, z.is_output) == (((graph.result, 1),), True, True)
    assert isinstance(graph.result, Return)
    assert (graph.result.outputs, graph.nodes) == ((), [node])
    graph.set_outputs([z])
    assert graph.outputs == (z,)
    assert list(x.consumers) == [node]
    assert not x.is_output
    assert z.uses == ((graph.result, 0),)


def test_node_that_is_called_like_the_result_returns_nothing() -> None:
    graph = Graph()
    x = graph.add_input("x", T)
    node = graph.add_node("Return", [x], [("y", T)])
    assert x.consumers == (node,)
    assert not x.is_output
    assert graph.outputs == ()


def test_sort_and_removal_leave_the_result_where_it_is() -> None:
    graph = Graph()
    first = relu(graph, graph.add_input("x", T))
    second = relu(graph, first.output)
    graph.add_output(second.output)
    graph.nodes.reverse()
    graph.sort()
    assert graph.nodes == [first, second]
    second.output.replace_by(first.output)
    graph.remove_nodes([second])
    assert (graph.nodes, graph.outputs) == ([first], (first.output,))
    assert first.output.consumers == (graph.result,)


def test_remove_nodes_gives_back_uses_and_keeps_order() -> None:
    graph = Graph()
    x = graph.add_input("x", T)
    nodes = [relu(graph, x) for _ in range(4)]
    graph.remove_nodes([nodes[2], nodes[0]])
    assert graph.nodes == [nodes[1], nodes[3]]
    assert x.consumers == (nodes[1], nodes[3])


class Watched(str):
    """A text of which one sees whether it is still there."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize("whole", [True, False])
def test_nodes_that_go_are_free_without_the_collector(whole: bool) -> None:
    graph = Graph()
    text = Watched("text")
    there = weakref.ref(text)
    first = graph.add_node("Relu", [graph.add_input("x", T)], [("r", T)], {"k": text})
    graph.add_output(graph.add_node("Add", [first.output, first.output], [("y", T)]).output)
    del text, first
    gc.disable()
    try:
        if whole:
            graph.dissolve()
        else:
            graph.set_outputs([])
            graph.remove_nodes(graph.nodes)
        assert there() is None
    finally:
        gc.enable()
    assert (graph.nodes, graph.outputs) == ([], ())


def test_constants_are_listed_once_in_order_of_first_use() -> None:
    graph = Graph()
    data = DenseConst(np.zeros((2, 3), np.float16))
    unused, second, first, returned = (graph.constant(n, data) for n in "udef")
    graph.add_node("Add", [first, second], [("y", T)])
    graph.add_node("Add", [second, first], [("z", T)])
    graph.add_output(returned)
    assert list(graph.constants()) == [first, second, returned]
    assert unused not in list(graph.values())


def test_constant_takes_only_the_format_of_like() -> None:
    like = TensorType(DType.INT8, (9,), Format.NCHW)
    value = Graph().constant("c", DenseConst(np.zeros((2, 3), np.float16)), like)
    assert value.type == TensorType(DType.FLOAT16, (2, 3), Format.NCHW)


def test_sort_moves_producers_up_and_else_keeps_the_order() -> None:
    graph = Graph()
    x = graph.add_input("x", T)
    first, second, third = relu(graph, x), relu(graph, x), relu(graph, x)
    late = relu(graph, x, "late")
    second.set_input(0, late.output)
    graph.sort()
    assert graph.nodes == [first, late, second, third]
    graph.sort()
    assert graph.nodes == [first, late, second, third]


def test_sort_takes_a_diamond_for_no_cycle() -> None:
    graph = Graph()
    top = relu(graph, graph.add_input("x", T))
    left = graph.add_node("Add", [top.output, top.output], [("l", T)])
    right = graph.add_node("Add", [left.output, top.output], [("r", T)])
    bottom = graph.add_node("Add", [right.output, left.output], [("b", T)])
    graph.nodes.reverse()
    graph.sort()
    assert graph.nodes == [top, left, right, bottom]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_sort_refuses_a_cycle(length: int) -> None:
    graph = Graph()
    nodes = [relu(graph, None) for _ in range(length)]
    for node, producer in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        node.set_input(0, producer.output)
    with pytest.raises(ValueError, match="cycle through"):
        graph.sort()


def test_sort_does_not_recurse_over_a_long_chain() -> None:
    graph = Graph()
    value = graph.add_input("x", T)
    for _ in range(3000):
        value = relu(graph, value).output
    expected = list(graph.nodes)
    graph.nodes.reverse()
    graph.sort()
    assert graph.nodes == expected


def test_tensor_type_counts_bytes_and_changes_one_part_at_a_time() -> None:
    assert T.nbytes == 12
    assert TensorType(DType.FLOAT64, ()).nbytes == 8
    assert T.with_dtype(DType.INT8) == TensorType(DType.INT8, (2, 3))
    assert T.with_format(Format.NHWC) == TensorType(DType.FLOAT16, (2, 3), Format.NHWC)


def test_value_gets_the_names_of_many_in_order_and_each_once() -> None:
    graph = Graph("g")
    kept = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    kept.stands_for = ("x",)
    for number in range(12):
        other = Value(f"v{number}", kept.type)
        other.stands_for = (f"v{number}", "x")
        other.replace_by(kept)
        assert kept.stands_for == ("x", *(f"v{each}" for each in range(number + 1)))
