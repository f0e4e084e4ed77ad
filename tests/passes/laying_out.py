"""Graphs in text form, laid out: dtypes, formats, storage and conversions as the passes choose."""

from collections.abc import Sequence

from atc_py.ir import Graph, Phase
from atc_py.ir.parser import parse_graph
from atc_py.ir.verifier import verify_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.layout.assign_storage import AssignStoragePass
from atc_py.passes.layout.insert_trans_data import InsertTransDataPass
from atc_py.passes.layout.merge_trans_data import MergeTransDataPass
from atc_py.passes.manager import verifier_rules
from atc_py.passes.memory.plan_memory import PlanMemoryPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.target import find_soc

STEPS: tuple[type[Pass], ...] = (AssignStoragePass, InsertTransDataPass, MergeTransDataPass)


def laid_out(
    text: str,
    *,
    soc: str = "Ascend310P3",
    mode: str = "force_fp16",
    steps: Sequence[type[Pass]] = STEPS,
) -> Graph:
    """Return a lowered graph with dtypes, formats and what `steps` make of its storage."""
    graph = parse_graph(text)
    row = find_soc(soc)
    context = PassContext(row, PrecisionMode(mode), "model.onnx")
    first: list[type[Pass]] = [AssignPrecisionPass, AssignFormatsPass]
    for step in [*first, *steps]:
        step().run(graph, context)
        graph.sort()
    graph.phase = Phase.LAID_OUT
    verify_graph(graph, verifier_rules(row))
    return graph


def placed(graph: Graph, soc: str = "Ascend310P3") -> Graph:
    """Return the graph with a memory plan; every promise of the last phase is held."""
    row = find_soc(soc)
    PlanMemoryPass().run(graph, PassContext(row, PrecisionMode.FORCE_FP16, "model.onnx"))
    graph.phase = Phase.PLACED
    verify_graph(graph, verifier_rules(row))
    return graph


def conversions(graph: Graph) -> list[str]:
    """Return TransData as `x: NCHW > NC1HWC0`, by the name of what they convert."""
    return sorted(
        f"{node.present_inputs[0].name}: "
        f"{node.attributes['src_format']} > {node.attributes['dst_format']}"
        for node in graph.nodes
        if node.op == "TransData"
    )


def storages(graph: Graph) -> dict[str, str]:
    """Return storage of what nodes compute and of constants, ND for row by row."""
    return {
        value.name: str(value.type.storage or "ND")
        for value in graph.values()
        if value not in graph.inputs
    }
