"""Results as many as data decide, on the host: boxes and places of elements other than 0."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.kernels.program import Job, run_jobs
from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.device.sim.kernel import Call, find_kernel
from atc_py.ir import Graph, Node, Phase, TensorType
from atc_py.kernels.kernels import INDEX, emit_kernels, write_kernels
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong

Array = NDArray[Any]
Arrays = Sequence[Array]

F16, F32, BF16, I32 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16, DType.INT32


def test_boxes_of_several_classes(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("classes", Phase.TYPED)
    images, count, classes = 3, 40, 4
    ways = ((F16, False, False, 1), (F32, True, True, 4), (BF16, False, True, 4))
    for dtype, turned, framed, kinds in ways:
        boxes = (images, kinds, 4, count) if turned else (images, count, kinds, 4)
        inputs = [
            TensorType(dtype, boxes),
            TensorType(dtype, (images, count, classes)),
            TensorType(dtype, (images, 4)) if framed else None,
            TensorType(I32, (images,)) if turned else None,
        ]
        shapes = ((images, 30, 4), (images, 30), (images, 30))
        outputs = [*(TensorType(dtype, shape) for shape in shapes), TensorType(I32, (images,))]
        attributes = {
            "score_threshold": 0.2, "iou_threshold": 0.3, "max_size_per_class": 9,
            "max_total_size": 30, "transpose_box": turned,
            "change_coordinate_frame": framed and not turned,
        }  # fmt: skip
        add_node(graph, "BatchMultiClassNonMaxSuppression", inputs, outputs, attributes)
    assert wrong(verified(graph)) == []


def _ran(graph: Graph, folder: Path, inputs: Mapping[str, Arrays]) -> dict[str, Array]:
    """Return what the kernel of each node, by its operator, makes of `inputs`.

    `--verify` leaves these kernels out: with random data they find as much as they find, and not
    as much as the graph declares.
    """
    kernels = emit_kernels(graph, find_soc("sim"))
    write_kernels(kernels.files, folder)
    listed = json.loads(kernels.files[INDEX])
    assert all(each["complete"] for each in listed["kernels"])
    assert find_compiler().build(folder, listed["kernels"], listed["buffers"], "found") is None
    types = {
        node.op: TensorFacts(node.output.type.dtype, node.output.type.shape) for node in graph.nodes
    }
    jobs = []
    for kernel in listed["kernels"]:
        (row,) = kernel["rows"]
        outputs, given = (types[kernel["op"]],), inputs[kernel["op"]]
        jobs.append(
            Job(kernel["name"], 0, row["cores"], row["workspace_bytes"], tuple(given), outputs)
        )
    outcomes = run_jobs(folder / "found", jobs, folder)
    assert [outcome.faults for outcome in outcomes] == [()] * len(jobs)
    return {
        kernel["op"]: outcome.results[0].reshape(types[kernel["op"]].shape)
        for kernel, outcome in zip(listed["kernels"], outcomes, strict=True)
    }


def test_as_much_as_is_found(add_node: AddNode, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    graph = Graph("found", Phase.TYPED)
    x = (generator.random((3, 4, 400)) < 0.3).astype(np.float32)
    places = np.stack(np.nonzero(x))
    counted = TensorType(DType.INT64, tuple(places.shape))
    add_node(graph, "NonZero", [TensorType(F32, x.shape)], [counted], {"transpose": True})
    scalars = [TensorType(F32, ())] * 3
    add_node(graph, "Range", scalars, [TensorType(F32, (700,))])
    low = generator.uniform(0, 3, (2, 30, 2))
    boxes = np.concatenate([low, low + generator.uniform(-1, 2, low.shape)], 2).astype(np.float32)
    scores = generator.uniform(0, 1, (2, 3, 30)).astype(np.float32)
    limits = np.array([6], np.int64), np.array([0.2], np.float32), np.array([0.3], np.float32)
    types = [TensorType(F32, boxes.shape), TensorType(F32, scores.shape)]
    types += [TensorType(each, (1,)) for each in (DType.INT64, F32, F32)]
    add_node(graph, "NonMaxSuppressionV7", types, [TensorType(I32, (40, 3))])
    (suppressing,) = [node for node in graph.nodes if node.op == "NonMaxSuppressionV7"]
    numbers = [np.array(each, np.float32) for each in (3, 200, 0.28125)]
    suppressed = boxes, scores, *limits
    found = _ran(
        graph, tmp_path,
        {"NonZero": (x,), "Range": numbers, "NonMaxSuppressionV7": suppressed},
    )  # fmt: skip
    assert np.array_equal(found["NonZero"], places)
    assert np.array_equal(found["Range"], np.arange(700, dtype=np.float32) * numbers[2] + 3)
    assert np.array_equal(found["NonMaxSuppressionV7"], _expected(suppressing, suppressed))


def _expected(node: Node, inputs: Arrays) -> Array:
    """Return what the simulator makes of a node's inputs."""
    kernel = find_kernel(node.op)
    assert kernel is not None
    given = tuple(TensorFacts(value.type.dtype, value.type.shape) for value in node.present_inputs)
    outputs = tuple(TensorFacts(value.type.dtype, value.type.shape) for value in node.outputs)
    attributes = {"center_point_box": 0, "max_boxes_size": 0}
    facts = NodeView(node.op, node.name, "aicore", given, outputs, attributes)
    result = np.zeros(outputs[0].shape, np.int32)
    kernel.run(Call(facts, tuple(inputs), (result,)))
    return result
