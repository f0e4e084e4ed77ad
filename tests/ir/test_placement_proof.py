"""The proof of a memory plan: every rule broken once, beside the plan that keeps it."""

import pytest

from atc_py.ir.memory_plan import Home, PlacedNode, PlacedTensor, Placement, Spot
from atc_py.ir.placement_proof import prove
from atc_py.system.structs import replace
from tests.failures import in_one_item

X, A, B, C, Y = range(5)


def tensor(name: str, spot: Spot, source: Home | None = None, **rest: object) -> PlacedTensor:
    """Return 64 bytes: one unit."""
    dims = rest.pop("dims", (16,))
    return PlacedTensor(name, dims, 4, spot, source, **rest)  # type: ignore[arg-type]


GOOD = Placement(
    tensors=(
        tensor("x", Home.INPUT, Home.INPUT),
        tensor("a", 0),
        tensor("b", 64),
        tensor("c", 0),
        tensor("y", Home.OUTPUT, is_output=True),
    ),
    nodes=(
        PlacedNode("first", (X,), (A,)),
        PlacedNode("second", (A,), (B,)),
        PlacedNode("third", (B,), (C,)),
        PlacedNode("fourth", (C,), (Y,)),
    ),
    alignment=64,
    arena=128,
    bound=128,
)


def faults(placement: Placement) -> list[str]:
    return [message for _, message in prove(placement).faults]


def with_tensor(position: int, **changes: object) -> Placement:
    tensors = list(GOOD.tensors)
    tensors[position] = replace(tensors[position], **changes)  # type: ignore[arg-type]
    return replace(GOOD, tensors=tensors)


def with_node(position: int, **changes: object) -> Placement:
    nodes = list(GOOD.nodes)
    nodes[position] = replace(nodes[position], **changes)  # type: ignore[arg-type]
    return replace(GOOD, nodes=nodes)


def test_sound_placement_has_no_faults_and_a_widest_moment() -> None:
    proof = prove(GOOD)
    assert proof.faults == ()
    assert (proof.widest.nbytes, proof.widest.node, proof.widest.tensors) == (128, 1, (A, B))
    assert proof.nbytes == {A: 64, B: 64, C: 64}


@in_one_item(
    ("placement", "message"),
    [
        (with_tensor(B, spot=0), "%b at [0, 64) overlaps %a at [0, 64), which is still needed at second"),
        (with_tensor(B, spot=0, dims=(32,)), "%b at [0, 128) overlaps %a"),
        (with_tensor(A, spot=64, dims=(8,)), "%b at [64, 128) overlaps %a at [64, 128)"),
        (with_node(3, reads=(C, A)), "%c at [0, 64) overlaps %a at [0, 64), which is still needed"),
        (with_tensor(B, spot=32), "%b must be in the arena at a multiple of 64, found it in the arena at 32"),
        (with_tensor(B, spot=-64), "%b must be in the arena at a multiple of 64, found it in the arena at -64"),
        (with_tensor(B, spot=Home.CHIP), "%b must be in the arena"),
        (with_tensor(B, spot=Home.RUN), "found it in memory allocated during the run"),
        (with_tensor(B, spot=Home.WEIGHTS), "found it among the weights"),
        (with_tensor(B, dims=(None,)), "%b must be in memory allocated during the run"),
        (with_tensor(X, spot=64), "%x must be in the buffer of an input, found it in the arena at 64"),
        (with_tensor(Y, spot=128), "%y must be in the buffer of an output, found it in the arena"),
        (with_tensor(Y, is_output=False), "%y must be in the arena"),
        (with_tensor(C, source=Home.WEIGHTS), "%c must be among the weights"),
        (with_node(2, is_view=True), "%c shows %b, which is in the arena at 64; found it in the arena at 0"),
        (replace(GOOD, arena=64), "the arena must have 128 bytes, found 64"),
        (replace(GOOD, arena=2**70), "the arena must have 128 bytes, found"),
        (replace(GOOD, bound=64), "the peak needs 128 bytes, found 64"),
        (replace(GOOD, alignment=0), "the alignment must be a power of two, found 0"),
        (replace(GOOD, alignment=-64), "the alignment must be a power of two, found -64"),
        (replace(GOOD, alignment=96), "the alignment must be a power of two, found 96"),
    ],
)  # fmt: skip
def test_broken_rule_is_named(placement: Placement, message: str) -> None:
    assert any(message in found for found in faults(placement))


def in_place(**changes: object) -> Placement:
    """Return the second node writes over its operand, which nobody needs afterwards."""
    node = replace(GOOD.nodes[1], **{"in_place": True, **changes})  # type: ignore[arg-type]
    nodes = (GOOD.nodes[0], node, *GOOD.nodes[2:])
    tensors = (*GOOD.tensors[:B], tensor("b", 0), tensor("c", 64), GOOD.tensors[Y])
    return replace(GOOD, nodes=nodes, tensors=tensors)


def test_operand_may_be_overwritten_in_place() -> None:
    assert faults(in_place()) == []


def test_bound_counts_what_could_be_overwritten_once() -> None:
    placement = with_node(1, in_place=True)
    nodes = (*placement.nodes[:2], replace(placement.nodes[2], in_place=True), placement.nodes[3])
    assert faults(replace(placement, nodes=nodes)) == ["the peak needs 64 bytes, found 128"]


@pytest.mark.parametrize(
    "placement",
    [
        in_place(in_place=False),
        in_place(writes=(B, 5)),
        replace(in_place(), tensors=(*in_place().tensors[:A], tensor("a", 0, dims=(4, 4)), *in_place().tensors[B:])),
        replace(in_place(), nodes=(*in_place().nodes[:3], PlacedNode("fourth", (C, A), (Y,)))),
    ],
    ids=["row", "two-results", "other-dims", "still-needed"],
)  # fmt: skip
def test_overlap_that_is_not_in_place_is_found(placement: Placement) -> None:
    extra = tensor("more", 128)
    whole = (
        replace(placement, tensors=(*placement.tensors, extra))
        if len(placement.nodes[1].writes) == 2
        else placement
    )
    assert any("%b at [0, 64) overlaps %a" in found for found in faults(whole))


def test_launch_keeps_what_is_inside_it_on_the_chip() -> None:
    nodes = (GOOD.nodes[0], *(replace(node, scope=1) for node in GOOD.nodes[1:3]), GOOD.nodes[3])
    tensors = (*GOOD.tensors[:B], tensor("b", Home.CHIP), tensor("c", 64), GOOD.tensors[Y])
    assert faults(replace(GOOD, nodes=nodes, tensors=tensors)) == []
    found = faults(replace(GOOD, nodes=nodes, tensors=(*tensors[:C], tensor("c", 0), tensors[Y])))
    assert any("%c at [0, 64) overlaps %a" in each for each in found)


def test_what_a_launch_makes_and_reads_is_not_written_over_in_it() -> None:
    nodes = (
        GOOD.nodes[0],
        *(replace(node, scope=1, in_place=True) for node in GOOD.nodes[1:3]),
        GOOD.nodes[3],
    )
    tensors = (*GOOD.tensors[:B], tensor("b", 64), tensor("c", 0), GOOD.tensors[Y])
    assert faults(replace(GOOD, nodes=nodes, tensors=tensors)) == []
    same = (*tensors[:C], tensor("c", 64), tensors[Y])
    assert any(
        "%c at [64, 128) overlaps %b" in f for f in faults(replace(GOOD, nodes=nodes, tensors=same))
    )


def test_result_is_not_written_over_what_only_its_neighbor_reads() -> None:
    nodes = (
        GOOD.nodes[0],
        replace(GOOD.nodes[1], scope=1, in_place=True),
        PlacedNode("third", (X,), (C,), scope=1),
        PlacedNode("fourth", (B, C), (Y,)),
    )
    found = faults(replace(GOOD, nodes=nodes))
    assert any("%c at [0, 64) overlaps %a at [0, 64)" in each for each in found)


def test_result_that_is_written_over_half_of_its_operand_is_found() -> None:
    nodes = (GOOD.nodes[0], replace(GOOD.nodes[1], in_place=True), *GOOD.nodes[2:])
    tensors = (
        GOOD.tensors[X], tensor("a", 0, dims=(32,)), tensor("b", 64, dims=(32,)), *GOOD.tensors[C:],
    )  # fmt: skip
    found = faults(replace(GOOD, nodes=nodes, tensors=tensors))
    assert any("%b at [64, 192) overlaps %a at [0, 128)" in each for each in found)


def test_part_of_an_operand_is_not_overwritten_through_a_view_of_other_dims() -> None:
    tensors = (
        *GOOD.tensors[:A], tensor("a", 0, dims=(32,)), tensor("b", 0), tensor("c", 0), GOOD.tensors[Y],
    )  # fmt: skip
    nodes = (
        GOOD.nodes[0],
        replace(GOOD.nodes[1], is_view=True),
        replace(GOOD.nodes[2], in_place=True),
        GOOD.nodes[3],
    )
    found = faults(replace(GOOD, nodes=nodes, tensors=tensors))
    assert any("%c at [0, 64) overlaps %a at [0, 128)" in each for each in found)


def test_value_that_leaves_its_launch_is_not_on_the_chip() -> None:
    nodes = (
        GOOD.nodes[0],
        *(replace(node, scope=1) for node in GOOD.nodes[1:3]),
        PlacedNode("fourth", (C, B), (Y,)),
    )
    tensors = (*GOOD.tensors[:B], tensor("b", Home.CHIP), tensor("c", 64), GOOD.tensors[Y])
    assert any(
        "%b must be in the arena" in found
        for found in faults(replace(GOOD, nodes=nodes, tensors=tensors))
    )


def test_node_that_runs_before_its_launch_is_found() -> None:
    nodes = (
        replace(GOOD.nodes[0], scope=1),
        GOOD.nodes[1],
        replace(GOOD.nodes[2], scope=1),
        GOOD.nodes[3],
    )
    assert "second reads %a before it is computed" in faults(replace(GOOD, nodes=nodes))
