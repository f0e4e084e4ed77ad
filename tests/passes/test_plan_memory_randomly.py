"""Plans of random graphs: never an overlap, never above first-fit, the same each time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.ir import Engine, Graph, Phase, TensorType, Value
from atc_py.ir.verifier import verify_graph
from atc_py.passes.manager import verifier_rules
from atc_py.passes.memory.arena_packing import Span, pack, widest
from atc_py.passes.memory.plan_memory import plan_memory
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.passes.replaying import first_fit, replay
from tests.sampling import examples

RULES = verifier_rules(find_soc("sim"))

EXTENTS = (0, 1, 200, 256, 700, 1024, 5000)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return kernels that may and may not work in place, views, launches of two nodes, joins."""
    graph = Graph("random", Phase.LAID_OUT)
    extent = draw(st.sampled_from(EXTENTS))
    values = [graph.add_input("x", TensorType(DType.FLOAT16, (1, extent)))]
    for _ in range(draw(st.integers(1, 25))):
        back = draw(st.integers(1, min(6, len(values))))
        _add(draw, graph, values, values[-back])
    count = draw(st.integers(1, 3))
    for value in [values[-1], *draw(st.lists(st.sampled_from(values), max_size=count))]:
        graph.add_output(value)
    return graph


def _add(draw: st.DrawFn, graph: Graph, values: list[Value], value: Value) -> None:
    """Add one more node, or two that are launched together."""
    kind = draw(st.sampled_from(["Relu", "Softmax", "Tile", "Add", "View", "Chain", "Split"]))
    type_ = value.type
    dtype = type_.dtype
    if kind == "View":
        flat = TensorType(dtype, (1, 1, *type_.dims)[-3:]) if type_.rank == 2 else type_
        node = graph.add_node("Unsqueeze", [value], [("v", flat)], {"axes": (0,)})
        if flat is type_:
            graph.remove_nodes([node])
            return
        node.engine = Engine.LOCAL
        values.append(node.output)
        return
    if kind == "Tile":
        size = draw(st.sampled_from(EXTENTS))
        wider = TensorType(dtype, (*type_.dims[:-1], size))
        made = [graph.add_node("TileD", [value], [("t", wider)], {"multiples": (1, 2)})]
    elif kind == "Softmax":
        made = [graph.add_node("SoftmaxV2", [value], [("s", type_)], {"axes": (-1,)})]
    elif kind == "Split":
        pair = [("p", type_), ("q", type_)]
        made = [graph.add_node("SplitD", [value], pair, {"split_dim": 1, "num_split": 2})]
    else:
        other = draw(st.sampled_from([v for v in values if v.type.dims == type_.dims]))
        made = [graph.add_node("Add", [value, other], [("a", type_)])]
        if kind == "Chain":
            made.append(graph.add_node("Relu", [made[0].output], [("r", type_)]))
            for node in made:
                node.scope = len(graph.nodes)
    for node in made:
        node.engine = Engine.AICORE
    values.extend(made[-1].outputs)


@given(graphs(), st.booleans())
@examples(300)
def test_plan_of_a_random_graph_is_sound(graph: Graph, reuse: bool) -> None:
    graph.memory = plan_memory(graph, 512, reuse=reuse)
    assert replay(graph) == []
    graph.phase = Phase.PLACED
    verify_graph(graph, RULES)
    assert graph.memory.bound <= graph.memory.arena
    if reuse:
        assert graph.memory.arena <= first_fit(graph, 512)
        assert plan_memory(graph, 512) == graph.memory


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    """Return blocks of any size and life."""
    made = []
    for _ in range(draw(st.integers(0, 40))):
        first = draw(st.integers(0, 30))
        size = draw(st.integers(0, 20) | st.integers(0, 4000))
        made.append(Span(size, first, first + draw(st.integers(0, 12))))
    return made


def simple_first_fit(blocks: list[Span]) -> int:
    """Return the peak of first-fit in order of time, each against all that are placed."""
    placed: list[tuple[int, Span]] = []
    for block in sorted(blocks, key=lambda each: each.first):
        near = sorted(
            (offset, other.size)
            for offset, other in placed
            if other.first <= block.last and block.first <= other.last
        )
        lowest = 0
        for offset, size in near:
            if offset - lowest >= block.size:
                break
            lowest = max(lowest, offset + size)
        if block.size:
            placed.append((lowest, block))
    return max((offset + block.size for offset, block in placed), default=0)


@given(spans())
@examples(300)
def test_packing_keeps_apart_and_is_between_bound_and_first_fit(blocks: list[Span]) -> None:
    packing = pack(blocks, widest(blocks))
    ends = [o + block.size for o, block in zip(packing.offsets, blocks, strict=True)]
    for at, block in enumerate(blocks):
        for other in range(at):
            near = blocks[other].first <= block.last and block.first <= blocks[other].last
            apart = ends[at] <= packing.offsets[other] or ends[other] <= packing.offsets[at]
            assert apart or not near or not block.size or not blocks[other].size
    moments = range(max((block.last for block in blocks), default=-1) + 1)
    alive = [sum(b.size for b in blocks if b.first <= moment <= b.last) for moment in moments]
    assert widest(blocks) == max(alive, default=0)
    assert widest(blocks) <= packing.peak <= simple_first_fit(blocks)
    assert min(packing.offsets, default=0) >= 0
    assert packing.peak == max(
        (end for end, b in zip(ends, blocks, strict=True) if b.size), default=0
    )


def test_packing_finds_what_first_fit_does_not() -> None:
    blocks = [Span(2, 0, 1), Span(1, 0, 3), Span(3, 2, 3)]
    assert simple_first_fit(blocks) > pack(blocks, widest(blocks)).peak == widest(blocks)


@pytest.mark.parametrize("count", [2_000, 4_000])
def test_wide_and_long_lived_blocks_are_packed_without_looking_at_all_pairs(count: int) -> None:
    blocks = [Span(1 + at * 7 % 13, at, at + count // 2) for at in range(count)]
    packing = pack(blocks, widest(blocks))
    assert widest(blocks) <= packing.peak <= simple_peak(blocks)


def simple_peak(blocks: list[Span]) -> int:
    """Return the sum of all blocks."""
    return sum(block.size for block in blocks)
