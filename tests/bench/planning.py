"""How long memory plans of large graphs take, and how close they come to their lower bounds."""

import random
import time
from collections.abc import Callable

from atc_py.ir import Engine, Graph, Phase, TensorType
from atc_py.passes.memory.plan_memory import plan_memory
from atc_py.passes.memory.proof import unsound_places
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.bench.measuring import ROUNDS, say

SIZES = (1_000, 10_000, 100_000)


def planning() -> None:
    """Plan and prove graphs of growing size."""
    alignment = find_soc("sim").gm_align
    for build in (deep, tangled):
        say(f"plan the memory of {build.__name__} graphs, best of {ROUNDS}")
        say(f"  {'nodes':>8} {'plan s':>8} {'us/node':>8} {'prove s':>8} {'arena/bound':>12}")
        for count in SIZES:
            graph = build(count)
            took = _best(lambda graph=graph: _plan(graph, alignment))  # type: ignore[misc]
            proved = _best(lambda graph=graph: _prove(graph, alignment))  # type: ignore[misc]
            plan = graph.memory
            ratio = 0.0 if plan is None else plan.arena / plan.bound
            say(f"  {count:8} {took:8.3f} {took / count * 1e6:8.1f} {proved:8.3f} {ratio:12.4f}")


def _best(action: Callable[[], None]) -> float:
    """Return the shortest of several times in seconds."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def _plan(graph: Graph, alignment: int) -> None:
    """Give the graph a plan."""
    graph.memory = plan_memory(graph, alignment)


def _prove(graph: Graph, alignment: int) -> None:
    """Check the plan with its proof."""
    faults = list(unsound_places(graph, graph.values(), alignment))
    if faults:
        raise SystemExit(f"the plan is not sound: {faults[0][1]}")


def deep(count: int) -> Graph:
    """Return residual blocks of two convolutions, a function and a sum, one after the other."""
    graph = Graph("deep", Phase.LAID_OUT)
    narrow = TensorType(DType.FLOAT16, (1, 16, 8, 8))
    wide = TensorType(DType.FLOAT16, (1, 64, 8, 8))
    value = graph.add_input("x", narrow)
    for _ in range(count // 4):
        first = graph.add_node("Conv2D", [value], [("a", wide)])
        function = graph.add_node("Relu", [first.output], [("b", wide)])
        second = graph.add_node("Conv2D", [function.output], [("c", narrow)])
        value = graph.add_node("Add", [second.output, value], [("d", narrow)]).output
    return _finished(graph)


def tangled(count: int) -> Graph:
    """Return every node reads two of the values before it, mostly near ones; sizes differ by 16."""
    generator = random.Random(1)  # noqa: S311  (the same graph each time, no secret)
    graph = Graph("tangled", Phase.LAID_OUT)
    values = [graph.add_input("x", TensorType(DType.FLOAT16, (512,)))]
    for _ in range(count):
        near = [min(len(values) - 1, int(generator.expovariate(1 / 6))) for _ in range(2)]
        size = generator.choice([256, 512, 1024, 4096])
        type_ = TensorType(DType.FLOAT16, (size,))
        node = graph.add_node("ConcatD", [values[-1 - at] for at in near], [("v", type_)])
        values.append(node.output)
    return _finished(graph)


def _finished(graph: Graph) -> Graph:
    """Return the graph with engines, its last value returned."""
    for node in graph.nodes:
        node.engine = Engine.AICORE
    graph.add_output(graph.nodes[-1].output)
    return graph


if __name__ == "__main__":
    planning()
