"""Small random graphs: what is chosen moves no more bytes than the best of all choices."""

from itertools import product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atc_py.ir import Graph, Node, Value
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.layout.assign_storage import LAUNCH_SECONDS, StorageAssignment
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.target import Soc, find_soc
from atc_py.target.storage_choices import ROWS, StorageChoice, storage_choices
from atc_py.target.stored_nodes import IMAGES, MATRICES
from atc_py.tensor.storage import Storage
from tests.sampling import examples

MOST_CHOICES = 3000
IMAGE, MATRIX = "float16[1,20,6,6]", "float16[120,6]"
HEAD = f"""
graph @g phase lowered {{
  input %image : {IMAGE} ND
  input %matrix : {MATRIX} ND
  const %flat : int64[2] ND = dense [120, 6]
  const %deep : int64[4] ND = dense [1, 20, 6, 6]
  const %w : float16[20,20,1,1] ND = splat 0.5
  const %v : float16[6,6] ND = splat 0.5
  const %i : int8[6,6] ND = splat 3
  const %s : uint64[1] ND = dense [1008981770]
"""
MAKERS = {
    "conv": "Conv2D({0}, %w) {{pads=[0,0,0,0], strides=[1,1,1,1]}}",
    "product": "MatMulV2({0}, %v)",
    "function": "Tanh({0})",
    "sum": "Add({0}, {1})",
    "rows": "HardMax({0}) {{axis=1}}",
    "view": "Reshape({0}, %{2})",
    "quantized": "AscendAntiQuant(%{3}q) {{offset=0.0, scale=0.5}}",
    "int8": "AscendDequant(%{3}p, %s) {{dtype=float16}}",
}
QUANT = "  %{1}q = AscendQuant({0}) {{offset=0.0, scale=2.0, dst_type=int8}} : {2} ND"
INNER = {"quantized": (QUANT,), "int8": (QUANT, "  %{1}p = MatMulV2(%{1}q, %i) : int32[120,6] ND")}
"""What is computed before the last node of a maker."""


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """Return a text with a few nodes over images and matrices of the same size."""
    values = {"image": True, "matrix": False}
    lines = []
    for at in range(draw(st.integers(2, 9))):
        kind = draw(st.sampled_from(sorted(MAKERS)))
        first = draw(st.sampled_from(sorted(values)))
        is_image = values[first]
        if (kind, is_image) in {("conv", False), ("product", True), ("int8", True)}:
            kind = "function"
        second = draw(
            st.sampled_from([name for name in sorted(values) if values[name] == is_image])
        )
        target = "flat" if is_image else "deep"
        name = f"n{at}"
        made = MAKERS[kind].format(f"%{first}", f"%{second}", target, name)
        whole = (IMAGE if is_image else MATRIX).replace("float16", "int8")
        lines += [inner.format(f"%{first}", name, whole) for inner in INNER.get(kind, ())]
        is_image = is_image is not (kind == "view")
        values[name] = is_image
        lines.append(f"  %{name} = {made} : {IMAGE if is_image else MATRIX} ND")
    outputs = draw(st.sets(st.sampled_from(sorted(values)), min_size=1, max_size=3))
    tail = "".join(f"  output %{name}\n" for name in sorted(outputs | {name}))
    return HEAD + "\n".join(lines) + "\n" + tail + "}\n"


def moved(graph: Graph, ways: dict[Node, StorageChoice], soc: Soc) -> float:
    """Return cost of a choice, as docs/layout.md states it."""
    launch = int(LAUNCH_SECONDS * soc.gm_read * soc.aicores * soc.mhz * 1e6)
    total = 0
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        held = ways[value.producer].output(0) if value.producer else None
        wanted = [ways.get(user, ROWS).input(position) for user, position in value.uses]
        inside = _inside(value, soc)
        for storage in _through(held, set(wanted)):
            nbytes = value.type.nbytes + value.type.with_storage(storage).stored_nbytes
            total += (nbytes + launch) * (2 if inside else 1)
        if held is not None and value.producer and len(storage_choices(value.producer, soc)) > 1:
            padding = value.type.with_storage(held).stored_nbytes - value.type.nbytes
            total += 0 if inside else padding * (1 + sum(each == held for each in wanted))
    return total


def _through(held: Storage | None, wanted: set[Storage | None]) -> set[Storage]:
    """Return the blocked storages of the conversions: from rows or to rows, each once."""
    if wanted <= {held}:
        return set()
    blocked = {each for each in wanted if each is not None and each != held}
    return blocked | ({held} if held is not None else set())


def _inside(value: Value, soc: Soc) -> bool:
    """Return True if the one reader of a value could be in its maker's launch."""
    users = value.consumers
    if value.producer is None or len(users) != 1:
        return False
    made, read = value.producer.op, users[0].op
    if read == "AscendQuant":
        return made == "AscendDequant" and soc.ub_fusion
    makers = {"Conv2D", "MatMulV2", "Tanh", "Add", "Reshape", "AscendDequant"}
    return made in makers and read in {"Tanh", "Add"}


@given(graphs(), st.sampled_from(["Ascend310P3", "Ascend910B3", "Ascend310B1"]))
@settings(examples(300), suppress_health_check=[HealthCheck.too_slow])
def test_choice_is_within_a_twentieth_of_the_best(text: str, name: str) -> None:
    graph, soc = parse_graph(text), find_soc(name)
    context = PassContext(soc, PrecisionMode.FORCE_FP16, "model.onnx")
    for step in (AssignPrecisionPass, AssignFormatsPass):
        step().run(graph, context)
        graph.sort()
    assignment = StorageAssignment(graph, soc)
    assignment.settle(IMAGES)
    assignment.settle(MATRICES)
    found = moved(graph, {node: assignment.choice(node) for node in graph.nodes}, soc)
    options = [storage_choices(node, soc) for node in graph.nodes]
    storages = {way.storage for ways in options for way in ways} - {None}
    count = 1
    for ways in options:
        count *= len(ways)
    if count > MOST_CHOICES:
        return
    least = min(
        moved(graph, dict(zip(graph.nodes, ways, strict=True)), soc) for ways in product(*options)
    )
    assert found == least if len(storages) < 2 else found <= 1.05 * least


def test_ties_are_stored_row_by_row() -> None:
    text = HEAD + f"  %n0 = Tanh(%image) : {IMAGE} ND\n  output %n0\n}}\n"
    graph, soc = parse_graph(text), find_soc("Ascend310P3")
    assignment = StorageAssignment(graph, soc)
    assignment.settle(IMAGES)
    assert assignment.choice(graph.nodes[0]) == ROWS
