"""The memory plan: who shares memory with whom, and what never does."""

import re

import pytest

from atc_py.diag import AtcError
from atc_py.ir import Graph, Phase
from atc_py.ir.memory_plan import Home
from atc_py.ir.parser import parse_graph
from atc_py.ir.printer import print_graph
from atc_py.ir.verifier import verify_graph
from atc_py.passes.manager import verifier_rules
from atc_py.passes.memory.plan_memory import PlanMemoryPass, plan_memory
from atc_py.passes.memory.proof import unsound_places
from atc_py.system.structs import replace
from atc_py.target import Soc, find_soc, socs
from tests.failures import in_one_item
from tests.passes.conftest import RunPass
from tests.passes.replaying import replay

F16 = "float16[1,256] ND"
"""A value of one unit of memory."""


def placed(*statements: str, reuse: bool = True) -> Graph:
    """Return a graph with its plan, which a replay and the verifier find sound."""
    text = "\n".join(["graph @g phase laid_out {", f"input %x : {F16}", *statements, "}"])
    graph = parse_graph(text)
    graph.memory = plan_memory(graph, 512, reuse=reuse)
    graph.phase = Phase.PLACED
    verify_graph(graph, verifier_rules(find_soc("sim")))
    assert replay(graph) == []
    return graph


PADDED = [(0, 512), (1, 512), (448, 512), (480, 512), (481, 1024), (512, 1024), (960, 1024)]
PADDED += [(992, 1024), (993, 1536), (1024, 1536), (100_000, 100_352)]
"""Bytes of a value, and what GE gives it: ((n + 2 * 32 - 1) // 32) * 32, then a multiple of 512.

The first step is that of GE's metadef, whose division drops the rest; the second is the alignment
of its memory assigner.
"""


@pytest.mark.parametrize(("nbytes", "taken"), PADDED)
def test_value_takes_what_the_graph_engine_gives_it(nbytes: int, taken: int) -> None:
    kind = f"uint8[{nbytes}] ND"
    text = f"""graph @g phase laid_out {{
      input %x : {kind}
      %a = TransposeD(%x) {{perm=[0]}} : {kind} engine=aicore
      %y = TransposeD(%a) {{perm=[0]}} : {kind} engine=aicore
      output %y
    }}"""
    graph = parse_graph(text)
    graph.memory = plan_memory(graph, 512, padding=32)
    graph.phase = Phase.PLACED
    assert graph.memory.arena == graph.memory.bound == taken
    assert list(unsound_places(graph, graph.values(), 512, 32)) == []
    wrong = [message for _, message in unsound_places(graph, graph.values(), 512)]
    assert wrong == ["the memory plan must add 0 bytes to each value, found 32"]


def test_proof_is_kept_only_of_a_sound_plan() -> None:
    graph = placed(f"%y = TransposeD(%x) {{perm=[0,1]}} : {F16} engine=aicore", "output %y")
    assert graph.memory is not None
    assert graph.proof is not None
    graph.memory = replace(graph.memory, bound=graph.memory.bound + 1)
    assert list(unsound_places(graph, graph.values(), 512))
    assert graph.proof is None


@in_one_item("soc", socs(), ids=lambda soc: soc.name)
def test_every_soc_of_cann_adds_what_the_graph_engine_adds(soc: Soc) -> None:
    """Check `sim`, which adds nothing, beside all others."""
    assert (soc.gm_align, soc.gm_padding) == (512, 0 if soc.name == "sim" else 32)


def spots(graph: Graph) -> dict[str, int | str]:
    """Return the position of each value, offsets in units."""
    assert graph.memory is not None
    return {
        value.name: spot.value if isinstance(spot, Home) else spot // 512
        for value, spot in graph.memory.spots.items()
    }


def unary(result: str, operand: str, op: str = "Relu", rest: str = "") -> str:
    return f"%{result} = {op}(%{operand}) : {F16} engine=aicore {rest}"


def softmax(result: str, operand: str) -> str:
    """Return a node that may not work in place."""
    return f"%{result} = SoftmaxV2(%{operand}) {{axes=[-1]}} : {F16} engine=aicore"


def binary(result: str, first: str, second: str, rest: str = "") -> str:
    return f"%{result} = Add(%{first}, %{second}) : {F16} engine=aicore {rest}"


def test_chain_that_is_not_in_place_takes_turns() -> None:
    graph = placed(
        softmax("a", "x"), softmax("b", "a"), softmax("c", "b"), softmax("y", "c"), "output %y"
    )
    found = spots(graph)
    assert [found[name] for name in "xabcy"] == ["input", 0, 1, 0, "output"]
    assert graph.memory is not None
    assert graph.memory.arena == graph.memory.bound == 2 * 512


def test_elementwise_chain_stays_where_it_is() -> None:
    graph = placed(
        softmax("a", "x"), unary("b", "a"), unary("c", "b"), softmax("y", "c"), "output %y"
    )
    found = spots(graph)
    assert [found[name] for name in "abc"] == [0, 0, 0]
    assert graph.memory is not None
    assert graph.memory.arena == graph.memory.bound == 512


def test_operand_that_is_read_later_is_not_overwritten() -> None:
    graph = placed(
        softmax("a", "x"), unary("b", "a"), binary("c", "a", "b"), softmax("y", "c"), "output %y"
    )
    found = spots(graph)
    assert found["a"] != found["b"]
    assert found["c"] in {found["a"], found["b"]}


def test_input_and_constant_are_never_overwritten() -> None:
    graph = placed(
        f"const %k : {F16} = splat 1.0",
        unary("a", "x"), binary("b", "k", "x"), binary("y", "a", "b"), "output %y",
    )  # fmt: skip
    found = spots(graph)
    assert (found["x"], found["k"], found["y"]) == ("input", "weights", "output")
    assert {found["a"], found["b"]} == {0, 1}


@pytest.mark.parametrize(
    ("operand", "node", "engine"),
    [
        ("float16[1,256]", "Cast(%a) {dst_type=float32} : float32[1,256] ND", "aicore"),
        ("float32[1,256]", "Cast(%a) {dst_type=float16} : float16[1,256] ND", "aicore"),
        ("float16[1,1]", "Add(%a, %x) : float16[1,256] ND", "aicore"),
        ("float16[256,1]", "Add(%a, %x) : float16[256,256] ND", "aicore"),
        ("float16[1,256]", "SoftmaxV2(%a) {axes=[-1]} : float16[1,256] ND", "aicore"),
        ("float64[1,64]", "Abs(%a) : float64[1,64] ND", "aicpu"),
    ],
    ids=["wider", "narrower", "broadcast", "outer", "rows", "aicpu"],
)
def test_result_does_not_overwrite_another_kind_of_operand(
    operand: str, node: str, engine: str
) -> None:
    result = node.split(" : ")[1]
    graph = placed(
        f"input %z : {operand} ND",
        f"%a = TransposeD(%z) {{perm=[0,1]}} : {operand} ND engine={engine}",
        f"%b = {node} engine={engine}",
        f"%y = TransposeD(%b) {{perm=[0,1]}} : {result} engine={engine}",
        "output %y",
    )
    found = spots(graph)
    assert found["a"] != found["b"]


def test_view_is_stored_where_the_value_is_and_keeps_it_alive() -> None:
    graph = placed(
        softmax("a", "x"),
        "const %s : int64[1] ND = splat 256",
        "%v = Reshape(%a, %s) : float16[256] ND engine=local",
        softmax("b", "x"),
        "%w = Unsqueeze(%v) {axes=[0]} : float16[1,256] ND engine=local",
        binary("y", "b", "w"),
        "output %y",
    )
    found = spots(graph)
    assert found["a"] == found["v"] == found["w"] != found["b"]


def test_views_of_inputs_and_constants_are_stored_with_them() -> None:
    graph = placed(
        f"const %k : {F16} = splat 1.0",
        "%v = Unsqueeze(%x) {axes=[0]} : float16[1,1,256] ND engine=local",
        "%w = Unsqueeze(%k) {axes=[0]} : float16[1,1,256] ND engine=local",
        "%y = Add(%v, %w) : float16[1,1,256] ND engine=aicore",
        "output %y",
        "output %v",
    )
    assert spots(graph) == {
        "x": "input",
        "k": "weights",
        "v": "input",
        "w": "weights",
        "y": "output",
    }


def test_value_whose_view_is_an_output_is_stored_in_it() -> None:
    graph = placed(
        softmax("a", "x"),
        "%y = Unsqueeze(%a) {axes=[0]} : float16[1,1,256] ND engine=local",
        unary("b", "a"),
        softmax("z", "b"),
        "output %y",
        "output %z",
    )
    assert spots(graph) == {"x": "input", "a": "output", "y": "output", "b": 0, "z": "output"}


def test_values_inside_a_launch_need_no_memory() -> None:
    graph = placed(
        softmax("a", "x"),
        unary("b", "a", rest="scope=1"),
        unary("c", "b", rest="scope=1"),
        softmax("y", "c"),
        "output %y",
    )
    assert spots(graph) == {"x": "input", "a": 0, "b": "chip", "c": 0, "y": "output"}


def test_launch_runs_when_its_last_node_can() -> None:
    graph = placed(
        softmax("a", "x"),
        unary("b", "a", rest="scope=1"),
        softmax("other", "x"),
        binary("c", "b", "other", rest="scope=1"),
        softmax("y", "c"),
        "output %y",
    )
    found = spots(graph)
    assert found["b"] == "chip"
    assert found["other"] != found["a"]  # the launch reads both, at its end


def test_operand_of_a_launch_that_is_read_by_its_head_is_kept() -> None:
    graph = placed(
        softmax("a", "x"),
        "%b = SoftmaxV2(%a) {axes=[-1]} : float16[1,256] ND engine=aicore scope=1",
        binary("c", "b", "a", rest="scope=1"),
        softmax("y", "c"),
        "output %y",
    )
    found = spots(graph)
    assert found["a"] != found["c"]


def test_second_operand_of_a_launch_is_overwritten() -> None:
    graph = placed(
        softmax("a", "x"),
        softmax("r", "x"),
        "%b = SoftmaxV2(%a) {axes=[-1]} : float16[1,256] ND engine=aicore scope=1",
        binary("c", "b", "r", rest="scope=1"),
        softmax("y", "c"),
        "output %y",
    )
    found = spots(graph)
    assert found["r"] == found["c"] != found["a"]


def test_operand_is_overwritten_by_one_of_two_results() -> None:
    graph = placed(
        softmax("a", "x"),
        unary("b", "a", rest="scope=1"),
        unary("c", "a", op="Abs", rest="scope=1"),
        softmax("p", "b"), softmax("q", "c"), binary("y", "p", "q"), "output %y",
    )  # fmt: skip
    found = spots(graph)
    assert found["a"] in {found["b"], found["c"]}
    assert found["b"] != found["c"]


def test_two_results_of_a_launch_are_written_over_two_operands() -> None:
    graph = placed(
        softmax("a", "x"), softmax("r", "x"),
        binary("b", "a", "r", rest="scope=1"), binary("c", "r", "a", rest="scope=1"),
        softmax("p", "b"), softmax("q", "c"), "output %p", "output %q",
    )  # fmt: skip
    found = spots(graph)
    assert {found["a"], found["r"]} == {found["b"], found["c"]}


def test_values_of_open_dims_are_left_to_the_run() -> None:
    graph = placed(
        "%i = NonZero(%x) {dtype=int64, transpose=false} : int64[2,?] ND engine=aicpu",
        "%c = Cast(%i) {dst_type=int32} : int32[2,?] ND engine=aicore",
        softmax("a", "x"), softmax("y", "a"),
        "output %c", "output %y",
    )  # fmt: skip
    assert spots(graph) == {"x": "input", "i": "run", "c": "run", "a": 0, "y": "output"}


def test_result_that_nobody_reads_has_memory_while_it_is_written() -> None:
    graph = placed(
        softmax("a", "x"),
        "%p, %q = SplitD(%a) {split_dim=1, num_split=2} : float16[1,128] ND, float16[1,128] ND engine=aicore",
        "%y = SoftmaxV2(%p) {axes=[-1]} : float16[1,128] ND engine=aicore",
        "output %y",
    )
    found = spots(graph)
    assert {found["a"], found["p"], found["q"]} == {0, 1, 2}


def test_both_ways_of_a_switch_are_the_data() -> None:
    graph = placed(
        "input %p : bool[] ND",
        softmax("a", "x"),
        f"%no, %yes = Switch(%a, %p) : {F16}, {F16} engine=local",
        unary("n", "no"), unary("m", "yes"),
        f"%y = Merge(%n, %m) : {F16} engine=aicore",
        "output %y",
    )  # fmt: skip
    found = spots(graph)
    assert found["a"] == found["no"] == found["yes"]
    assert found["n"] != found["a"]  # the other way reads it later


def test_offsets_are_aligned_and_sizes_rounded_up() -> None:
    graph = placed(
        "%a = SoftmaxV2(%x) {axes=[-1]} : float16[1,257] ND engine=aicore",
        "%b = SoftmaxV2(%a) {axes=[-1]} : float16[1,1] ND engine=aicore",
        "%c = Add(%a, %b) : float16[1,257] ND engine=aicore",
        "%y = SoftmaxV2(%c) {axes=[-1]} : float16[1,257] ND engine=aicore",
        "output %y",
    )
    assert graph.memory is not None
    assert (graph.memory.arena, graph.memory.bound) == (3 * 512, 3 * 512)


def test_without_reuse_every_value_has_bytes_of_its_own() -> None:
    graph = placed(
        softmax("a", "x"), unary("b", "a"), softmax("c", "b"), softmax("y", "c"), "output %y",
        reuse=False,
    )  # fmt: skip
    found = spots(graph)
    assert [found[name] for name in "abc"] == [0, 1, 2]
    assert graph.memory is not None
    assert (graph.memory.arena, graph.memory.bound) == (3 * 512, 2 * 512)


def test_graph_without_nodes_has_an_empty_arena() -> None:
    graph = placed("output %x")
    assert graph.memory is not None
    assert (graph.memory.arena, graph.memory.bound) == (0, 0)


def test_empty_tensors_take_no_bytes() -> None:
    graph = placed(
        "%a = TileD(%x) {multiples=[1,0]} : float16[1,0] ND engine=aicore",
        "%y = TileD(%a) {multiples=[1,1]} : float16[1,0] ND engine=aicore",
        "output %y",
    )
    assert graph.memory is not None
    assert (spots(graph)["a"], graph.memory.arena) == (0, 0)


def test_pass_ensures_the_phase_and_says_how_many_values_it_placed(run_pass: RunPass) -> None:
    text = f"graph @g phase laid_out {{ input %x : {F16}\n{softmax('a', 'x')}\n{softmax('y', 'a')}\noutput %y }}"
    graph, count = run_pass(PlanMemoryPass, text)
    assert graph.phase is Phase.PLACED
    assert (count, spots(graph)["a"]) == (1, 0)


def test_printed_graph_has_the_places_as_comments() -> None:
    graph = placed(
        softmax("a", "x"), unary("b", "a", rest="scope=1"), softmax("y", "b"), "output %y"
    )
    text = print_graph(graph)
    lines = [line for line in text.splitlines() if "#" in line]
    assert [line.split("  # ")[1] for line in lines] == ["at 0", "at 0", "at output"]
    assert print_graph(parse_graph(text)) == re.sub("  # .*", "", text)


def test_graph_of_phase_placed_without_a_plan_is_a_bug() -> None:
    graph = parse_graph(f"graph @g phase placed {{ input %x : {F16} output %x }}")
    with pytest.raises(AtcError, match="must have a memory plan, found none") as caught:
        verify_graph(graph, verifier_rules(find_soc("sim")))
    assert caught.value.exit_code == 70


def test_plan_of_another_alignment_and_a_forgotten_value_are_bugs() -> None:
    graph = parse_graph(
        f"graph @g phase placed {{ input %x : {F16}\n{softmax('a', 'x')}\n{softmax('y', 'a')}\noutput %y }}"
    )
    graph.memory = plan_memory(graph, 64)
    with pytest.raises(AtcError, match="must be aligned to 512 bytes, found 64"):
        verify_graph(graph, verifier_rules(find_soc("sim")))
    kept = {value: spot for value, spot in graph.memory.spots.items() if value.name != "a"}
    graph.memory = replace(graph.memory, spots=kept, alignment=512)
    with pytest.raises(AtcError, match="no place for %a"):
        verify_graph(graph, verifier_rules(find_soc("sim")))
