"""The memory plan counts what is stored, and writes over an operand only where blocks agree."""

import pytest

from atc_py.ir.memory_plan import Home, PlacedNode, PlacedTensor, Placement
from atc_py.ir.placement_proof import prove
from atc_py.system.structs import replace
from tests.passes.fusing import changed
from tests.passes.laying_out import laid_out, placed

CHAIN = """
graph @g phase lowered {
  input %x : float16[1,3,16,16] ND
  const %w : float16[3,3,1,1] ND = splat 0.5
  %a = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,3,16,16] ND
  %b = Relu(%a) : float16[1,3,16,16] ND
  %c = Conv2D(%b, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float16[1,3,16,16] ND
  %d = HardMax(%c) {axis=1} : float16[1,3,16,16] ND
  output %d
}
"""
BLOCKS, ROWS = 16 * 16 * 16 * 2, 3 * 16 * 16 * 2
PLACE = BLOCKS + 512
"""What a value of BLOCKS takes: 32 bytes follow it, and 512 are the least that is given out."""


def spots(text: str, soc: str = "Ascend310P3") -> tuple[dict[str, int | str], int]:
    """Return the positions of values, and the size of the arena."""
    graph = placed(laid_out(text, soc=soc), soc)
    assert graph.memory is not None
    found = {
        value.name: spot.value if isinstance(spot, Home) else spot
        for value, spot in graph.memory.spots.items()
    }
    return found, graph.memory.arena


def test_padding_of_blocks_is_counted() -> None:
    found, arena = spots(CHAIN)
    assert found["a"] == found["b"], "a function writes over its operand in the same blocks"
    assert arena == 2 * PLACE
    assert found["c.NCHW"] in {0, PLACE}


def test_conversion_writes_beside_its_operand() -> None:
    packed = {"x.NC1HWC0", "a"}
    found, _ = spots(CHAIN)
    assert len({found[name] for name in packed}) == 2
    assert found["c"] != found["c.NCHW"]


def test_cast_to_a_dtype_with_other_blocks_writes_beside_its_operand() -> None:
    """Check bool, which has blocks of 16 and is in blocks on the generic device alone."""
    text = changed(
        CHAIN,
        {
            "%b = Relu(%a) : float16[1,3,16,16] ND": "%p = Cast(%a) {dst_type=uint8} : "
            "uint8[1,3,16,16] ND\n  %q = Cast(%p) {dst_type=bool} : bool[1,3,16,16] ND\n"
            "  %b = Cast(%q) {dst_type=float16} : float16[1,3,16,16] ND"
        },
    )
    graph = placed(laid_out(text, soc="sim"), "sim")
    dims = {value.name: value.type.stored_dims for value in graph.values()}
    assert dims["p"] == (1, 1, 16, 16, 32)
    assert dims["q"] == (1, 1, 16, 16, 16)
    found, _ = spots(text, "sim")
    assert found["p"] != found["q"]


@pytest.mark.parametrize("storage", ["", "NC1HWC0"])
def test_proof_lets_a_result_over_an_operand_of_the_same_storage_alone(storage: str) -> None:
    tensors = (
        PlacedTensor("x", (16,), 4, Home.INPUT, Home.INPUT),
        PlacedTensor("a", (16,), 4, 0, storage="NC1HWC0"),
        PlacedTensor("b", (16,), 4, 0, storage=storage),
        PlacedTensor("y", (16,), 4, Home.OUTPUT, is_output=True),
    )
    nodes = (
        PlacedNode("first", (0,), (1,)),
        PlacedNode("second", (1,), (2,), in_place=True),
        PlacedNode("third", (2,), (3,)),
    )
    alike = prove(Placement(tensors, nodes, 64, 64, 64))
    if storage:
        assert alike.faults == ()
        return
    assert any("overlaps" in message for _, message in alike.faults)
    apart = (*tensors[:2], replace(tensors[2], spot=64), tensors[3])
    assert prove(Placement(apart, nodes, 64, 128, 128)).faults == ()
