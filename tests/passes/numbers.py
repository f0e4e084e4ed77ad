"""Graphs of the target IR run on the simulator, so that tests compare what passes leave of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from atc_py.device.sim.backend import SimBackend
from atc_py.ir import Graph, Node
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.package.describe import describe
from atc_py.package.schema import PackageContents
from atc_py.passes.base import PassContext
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.target import find_soc
from tests.device.models import Array, MemoryModel


def results(
    graph: Graph | str, feeds: Mapping[str, Array], mode: str = "force_fp16", soc: str = "sim"
) -> dict[str, Array]:
    """Return the results of a lowered or textual graph once it has dtypes and formats."""
    typed = parse_graph(graph) if isinstance(graph, str) else graph
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")
    for step in (AssignPrecisionPass(), AssignFormatsPass()):
        step.run(typed, context)
        typed.sort()
    return results_of_typed(typed, feeds, soc)


def results_of_typed(
    graph: Graph, feeds: Mapping[str, Array], soc: str = "sim"
) -> dict[str, Array]:
    """Return the results of a graph that all passes have been over."""
    names = {value: f"weights/{at}.npy" for at, value in enumerate(graph.constants())}
    arrays = {name: np.array(v.const.numpy()) for v, name in names.items() if v.const is not None}
    for array in arrays.values():
        array.flags.writeable = False
    device = SimBackend()
    device.open()
    model = MemoryModel(describe(graph, PackageContents("test", soc), names), arrays)
    try:
        return device.run(device.load(model), feeds)
    finally:
        device.close()


def node_of(graph: Graph, op: str) -> Node:
    """Return the one node of an operator."""
    (found,) = [node for node in graph.nodes if node.op == op]
    return found


def constant(node: Node, position: int) -> Array:
    """Return the constant at an input of a node."""
    value = node.input(position)
    assert value is not None
    assert value.const is not None
    return np.asarray(value.const.numpy())


def words(*scales: float, shift: int = 0, offset_w: int = 0) -> list[int]:
    """Return graph words, put together bit by bit."""
    bits = np.array(scales, np.float32).view(np.uint32)
    return [int(each) | shift << 32 | (offset_w % 256) << 40 for each in bits]


def literal(name: str, array: Any, dtype: str) -> str:
    """Return a constant's line in the text form."""
    made = np.asarray(array)
    extents = ",".join(map(str, made.shape))
    elements = ", ".join(map(str, made.reshape(-1).tolist()))
    return f"const %{name} : {dtype}[{extents}] ND = dense [{elements}]"
