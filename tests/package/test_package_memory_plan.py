"""The memory plan in an offline model: it comes back as it was, and a wrong one is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT, OM_PLAN
from atc_py.ir import Graph, Phase
from atc_py.ir.parser import parse_graph
from atc_py.package.reader import open_model
from atc_py.package.schema import FORMAT_VERSION
from atc_py.passes.memory.plan_memory import plan_memory
from tests.package.conftest import Seal

TEXT = """graph @net phase laid_out {
  input %x : float16[1,256] ND
  const %k : float16[1,256] ND = splat 2.0
  %a = SoftmaxV2(%x) {axes=[-1]} : float16[1,256] ND engine=aicore
  %v = Unsqueeze(%a) {axes=[0]} : float16[1,1,256] ND engine=local
  %b = SoftmaxV2(%v) {axes=[-1]} : float16[1,1,256] ND engine=aicore
  %c = Mul(%b, %k) : float16[1,1,256] ND engine=aicore scope=1
  %d = Relu(%c) : float16[1,1,256] ND engine=aicore scope=1
  %y = SoftmaxV2(%d) {axes=[-1]} : float16[1,1,256] ND engine=aicore
  output %y
}"""
"""x, k, a, v, b, c, d, y: numbers 0 to 7."""

PLACES: list[int | str] = ["input", "weights", 0, 0, 512, "chip", 512, "output"]
PLAN = {"alignment": 512, "arena": 1024, "lower_bound": 1024, "reuse": True, "workspace": 0}


@pytest.fixture
def graph() -> Graph:
    """Return a graph with a plan; the fixtures `om` and `seal` write it."""
    graph = parse_graph(TEXT)
    graph.memory = plan_memory(graph, 512)
    graph.phase = Phase.PLACED
    return graph


def described(om: Path) -> dict[str, Any]:
    """Return the description as plain data."""
    with open_model(om) as model:
        data: dict[str, Any] = msgspec.json.decode(model.text("model.json"))
    return data


def test_plan_is_part_of_the_description(om: Path) -> None:
    found = described(om)
    assert found["memory"] == {**PLAN, "places": PLACES}
    assert found["format_version"] == FORMAT_VERSION


def test_model_of_the_version_before_has_no_plan_and_is_read(seal: Seal) -> None:
    with open_model(seal({"format_version": 1, "memory": None})) as model:
        assert model.description.memory is None


def test_version_before_cannot_have_a_plan(seal: Seal) -> None:
    with pytest.raises(AtcError, match="version 1 of the format has no memory plan"):
        open_model(seal({"format_version": 1}))


def place(position: int, spot: int | str) -> dict[str, object]:
    places: list[int | str] = [*PLACES[:position], spot, *PLACES[position + 1 :]]
    return {"places": places}


WRONG: list[tuple[dict[str, object], str, str]] = [
    (place(4, 0), "memory.places[4]", "%b at [0, 512) overlaps %a at [0, 512), which is still"),
    (place(3, 512), "memory.places[3]", "%v shows %a, which is in the arena at 0"),
    (place(2, -512), "memory.places[2]", "%a must be in the arena at a multiple of 512"),
    (place(2, 3), "memory.places[2]", "found it in the arena at 3"),
    (place(2, "weights"), "memory.places[2]", "found it among the weights"),
    (place(4, "chip"), "memory.places[4]", "found it in the buffers of a core"),
    (place(0, 2048), "memory.places[0]", "%x must be in the buffer of an input"),
    (place(1, 2048), "memory.places[1]", "%k must be among the weights"),
    (place(7, 1024), "memory.places[7]", "%y must be in the buffer of an output"),
    (place(5, 10**30), "memory", "the arena must have 1000000000000000000000000000512 bytes"),
    (place(5, "moon"), "memory.places[5]", "one of weights, input, output, chip, run; found 'moon'"),
    ({"places": PLACES[:-1]}, "memory.places", "a place for each of 8 tensors, found 7"),
    ({"places": []}, "memory.places", "found 0"),
    ({"arena": 512}, "memory", "the arena must have 1024 bytes, found 512"),
    ({"arena": 2**62}, "memory", "the arena must have 1024 bytes, found 4611686018427387904"),
    ({"lower_bound": 1}, "memory", "the peak needs 1024 bytes, found 1"),
    ({"alignment": 0}, "memory", "a power of two, found 0"),
    ({"alignment": 768}, "memory", "a power of two, found 768"),
    ({"padding": 32}, "memory", "the arena must have 1536 bytes, found 1024"),
    ({"padding": -32}, "memory", "the padding must be at least 0, found -32"),
    ({"workspace": -1}, "memory.workspace", "at least 0, found -1"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "field", "message"), WRONG)
def test_wrong_plan_is_refused_by_name(
    seal: Seal, change: dict[str, object], field: str, message: str
) -> None:
    with pytest.raises(AtcError) as caught:
        open_model(seal({"memory": {**PLAN, "places": PLACES, **change}}))
    findings = [d for d in caught.value.diagnostics if d.place and d.place.field == field]
    assert any(message in finding.message for finding in findings)
    assert {finding.code for finding in caught.value.diagnostics} == {OM_PLAN}


@pytest.mark.parametrize(
    "change",
    [{"places": [1.5] * 8}, {"places": None}, {"arena": "much"}, {"more": 1}, {"reuse": 1}],
)
def test_plan_that_does_not_follow_the_schema_is_refused(
    seal: Seal, change: dict[str, object]
) -> None:
    with pytest.raises(AtcError) as caught:
        open_model(seal({"memory": {**PLAN, "places": PLACES, **change}}))
    assert caught.value.diagnostics[0].code is OM_CONTENT


def test_plan_of_another_graph_is_refused(om: Path, seal: Seal) -> None:
    """Check that one more reader at the end keeps alive what was overwritten."""
    nodes = described(om)["nodes"]
    nodes[-1]["inputs"].append(4)
    with pytest.raises(AtcError, match=r"%d at \[512, 1024\) overlaps %b"):
        open_model(seal({"nodes": nodes}))
