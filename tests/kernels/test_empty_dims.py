"""Kernels of nodes with dims of 0: each is planned, within the buffers, with no size below 1.

The nodes are those that the examples of the listed operators compile to, with their attributes and
storage formats. Each is planned with every dim of its inputs at 0, and with equal dims at 0 at once.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.device.sim.kernel import find_kernel
from atc_py.diag import AtcError
from atc_py.ir import Graph, Node, Phase
from atc_py.ir.parser import parse_graph
from atc_py.kernels.kernels import INDEX, emit_kernels
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.spec import OpSpec, library
from atc_py.system.structs import replace
from atc_py.target import find_operator, find_soc
from atc_py.tensor.shapes import Shape
from tests.sampling import sampled
from tests.spec.one_node import build

SOCS = [find_soc(name) for name in ("Ascend310P3", "Ascend910B1")]
MODES = ("force_fp16", "must_keep_origin_dtype")
SPECS = [spec for spec in library().all() if spec.example.inputs]
CUSTOM_OPSET = 11
SIGNED = {"run_step", "next_column", "source_start", "source"}
"""Steps of copies, which may run backwards; every other number of a tiling is unsigned."""


def compiled(spec: OpSpec, mode: str, folder: Path) -> Graph | None:
    """Return a specification's example after the last pass; None where the mode has no kernel."""
    opset = CUSTOM_OPSET if spec.custom else spec.opsets[-1]
    path, dumps = folder / "model.onnx", folder / mode
    onnx.save(build(spec, opset), path)
    try:
        atc_py.convert(path, folder / "model.om", precision_mode=mode, dump_ir=dumps)
    except AtcError:
        return None
    return parse_graph(max(dumps.iterdir()).read_text(encoding="utf-8"))


def emptied(shapes: Sequence[Shape]) -> Iterator[tuple[Shape, ...]]:
    """Yield variants of shapes: each dim alone at 0, and all dims equal."""
    found = [
        tuple(
            tuple(0 if (at, axis) == place else n for axis, n in enumerate(shape))
            for at, shape in enumerate(shapes)
        )
        for place in ((at, axis) for at, shape in enumerate(shapes) for axis in range(len(shape)))
    ]
    dims = dict.fromkeys(n for shape in shapes for n in shape)
    found += [tuple(tuple(0 if n == e else n for n in shape) for shape in shapes) for e in dims]
    yield from dict.fromkeys(found)


def with_shapes(node: Node, shapes: Sequence[Shape]) -> Graph | None:
    """Return a graph of the node on other shapes; None where only the run knows the results'.

    The device's refusal comes after the stubs are planned: what it refuses is planned as well, with
    results that have no elements.
    """
    row, kernel, given = find_operator(node.op), find_kernel(node.op), iter(shapes)
    assert row is not None
    assert kernel is not None
    assert node.engine is not None
    types = [None if each is None else replace(each.type, dims=next(given)) for each in node.inputs]
    facts = tuple(None if each is None else TensorFacts(each.dtype, each.dims) for each in types)
    stated = tuple(TensorFacts(each.type.dtype, each.type.dims) for each in node.outputs)
    defaults = {x.name: x.default for x in row.attributes if x.default is not None}
    attributes = defaults | node.attributes
    try:
        results = kernel.types(NodeView(node.op, "", node.engine.value, facts, stated, attributes))
    except NodeError:
        results = tuple(TensorFacts(each.dtype, (0,) * len(each.dims)) for each in stated)
    if any(each.is_open for each in results):
        return None
    graph = Graph("empty", Phase.TYPED)
    inputs = [None if each is None else graph.add_input("in", each) for each in types]
    outputs = [
        ("out", replace(was.type, dtype=each.dtype, dims=each.shape))
        for each, was in zip(results, node.outputs, strict=True)
    ]
    graph.add_node(node.op, inputs, outputs, node.attributes).engine = node.engine
    return graph


@pytest.mark.parametrize(
    "spec",
    sampled(SPECS[::6], (spec for at, spec in enumerate(SPECS) if at % 6)),
    ids=lambda spec: spec.op,
)
def test_kernels_of_dims_of_0_are_planned(spec: OpSpec, tmp_path: Path) -> None:
    for mode in MODES:
        graph = compiled(spec, mode, tmp_path)
        for node in graph.nodes if graph is not None else ():
            if any(each.type.is_open for each in node.present_inputs):
                continue
            for shapes in emptied([each.type.shape for each in node.present_inputs]):
                planned = with_shapes(node, shapes)
                if planned is not None:
                    _check(planned)


def _check(graph: Graph) -> None:
    """Check that it has a core, and buffers that fit; no size is negative, none has no bytes."""
    for soc in SOCS:
        files = emit_kernels(graph, soc).files
        if INDEX not in files:
            continue
        index = json.loads(files[INDEX])
        for row in (row for kernel in index["kernels"] for row in kernel["rows"]):
            assert row["cores"] >= 1
            sizes = {name: value for name, value in row["tiling"].items() if name not in SIGNED}
            assert "-" not in json.dumps([*sizes.values()]), sizes
            used: dict[str, int] = {}
            for buffer in row.get("buffers", ()):
                assert buffer["bytes"] > 0, buffer
                used[buffer["storage"]] = used.get(buffer["storage"], 0) + buffer["bytes"]
            assert all(size <= index["buffers"][name] for name, size in used.items())
