"""Skeletons: how work is cut for kernels whose arithmetic is left to write."""

from atc_py.ir import Engine, Graph
from atc_py.kernels.collect import collect
from atc_py.kernels.family import Launch
from atc_py.kernels.registry import family_of
from atc_py.kernels.tiling import ShardTiling
from atc_py.target import find_soc
from tests.kernels.conftest import AddNode

SIM = find_soc("sim")


def test_aicpu_nodes_are_shared_out_over_its_cores(graph: Graph, add_node: AddNode) -> None:
    node = add_node(graph, "Relu", [(100,)], [(100,)], engine=Engine.AICPU)
    (kernel,) = collect(graph, SIM)
    plan = family_of(kernel.facts).plan(Launch(kernel.facts, node, SIM))
    assert plan.tiling == ShardTiling(total_length=100, shard_count=8, shard_length=13)
    assert plan.cores == 8
