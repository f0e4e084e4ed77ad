"""The order of launches: that of the real compiler, and sound orders of random graphs."""

from pathlib import Path

import onnx
import pytest
from hypothesis import given

from atc_py.ir import Graph, Node, launch_positions, verify_graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.package.ge.model import open_huawei
from atc_py.passes.base import PassContext
from atc_py.passes.manager import verifier_rules
from atc_py.passes.memory.order_launches import OrderLaunchesPass
from atc_py.passes.memory.plan_memory import plan_memory
from atc_py.passes.pipeline import PIPELINE
from atc_py.pipeline.huawei.graphs import import_graph
from atc_py.target import find_soc
from tests.package.ge.test_real_files import LANENET, REAL, VANILLA
from tests.passes.test_plan_memory_randomly import graphs
from tests.sampling import examples

FORK = """\
graph @"fork" phase laid_out {
  input %x : float16[1,4] ND
  %a = Relu(%x) {} : float16[1,4] ND engine=aicore  name="a"  from [0 "a" Relu]
  %b = Sigmoid(%x) {} : float16[1,4] ND engine=aicore  name="b"  from [1 "b" Sigmoid]
  output %a as "a"
  output %b as "b"
}
"""


def launches(graph: Graph) -> list[frozenset[Node]]:
    return [
        frozenset(graph.nodes[at] for at in places)
        for places in launch_positions(graph.nodes).values()
    ]


def order(graph: Graph, soc: str) -> None:
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    OrderLaunchesPass().run(graph, context)


def as_in_network(graph: Graph, network: Path) -> None:
    """Put the nodes into the order of the network that they compute, conversions at either end."""
    proto = onnx.load(network, load_external_data=False).graph
    at = {node.name: position for position, node in enumerate(proto.node)}
    places: dict[Node, int] = {}
    for node in graph.nodes:
        names = [origin.name for origin in node.origins]
        before = (value.producer for value in node.present_inputs)
        last = max((places[made] for made in before if made is not None), default=-1)
        places[node] = max((at[name] for name in names if name in at), default=last)
    graph.nodes.sort(key=lambda node: len(at) if is_last(node, graph) else places[node])
    graph.sort()


def is_last(node: Node, graph: Graph) -> bool:
    """True of conversions of what the graph returns."""
    while node.op in {"Cast", "TransData"}:
        if node.output in graph.outputs:
            return True
        node = node.output.consumers[0]
    return False


@pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")
@pytest.mark.parametrize(
    ("name", "network", "soc", "arena"),
    [
        (LANENET, "lanenet_310B4.onnx", "Ascend310B4", 6_555_648),
        (VANILLA, "vanillacnn_rebuilt.onnx", "Ascend310", 410_624),
    ],
)
def test_order_is_that_of_the_real_file(name: str, network: str, soc: str, arena: int) -> None:
    with open_huawei(REAL / name) as file:
        (model,) = file.all_models()
        graph = import_graph(model).graph
        real = launches(graph)
        as_in_network(graph, REAL / network)
        order(graph, soc)
        assert launches(graph) == real
        assert plan_memory(graph, 512, padding=32).arena == arena


@given(graphs())
@examples(200)
def test_order_of_a_random_graph_has_the_same_launches(graph: Graph) -> None:
    wanted, outputs = launches(graph), graph.outputs
    order(graph, "Ascend310P3")
    assert set(launches(graph)) == set(wanted)
    assert graph.outputs == outputs
    verify_graph(graph, verifier_rules(find_soc("Ascend310P3")))
    made = {node: number for number, launch in enumerate(launches(graph)) for node in launch}
    assert [made[node] for node in graph.nodes] == sorted(made.values())


def test_generic_device_keeps_the_order_of_the_network() -> None:
    graph = parse_graph(FORK)
    (row,) = (row for row in PIPELINE if row.name == "order-launches")
    operators = {node.op for node in graph.nodes}
    assert not row.has_work(operators, find_soc("sim"))
    assert row.has_work(operators, find_soc("Ascend310P3"))
    order(graph, "Ascend310P3")
    assert [node.op for node in graph.nodes] == ["Sigmoid", "Relu"]
