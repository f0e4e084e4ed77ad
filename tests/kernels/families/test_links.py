"""Kernels that apply functions to their results, on the host: what the simulator computes."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from atc_py.compare.kernels.verify import Verdict
from atc_py.ir import AttrValue, Engine, Graph, Node, Phase, TensorType, Value
from atc_py.kernels.collect import collect
from atc_py.system.cache_folders import templates_dir
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16

ACTIVATIONS: dict[str, dict[str, AttrValue]] = {
    "Relu": {}, "LeakyRelu": {"negative_slope": 0.1}, "Sigmoid": {}, "Tanh": {}, "GeluV2": {},
    "Swish": {"scale": 1.0}, "HardSwish": {}, "Elu": {}, "Muls": {"value": 0.3}, "Neg": {}, "Tan": {},
}  # fmt: skip


def follow(
    graph: Graph,
    before: Node,
    op: str,
    others: tuple[Shape, ...] = (),
    attributes: Mapping[str, AttrValue] | None = None,
    place: int = 0,
) -> Node:
    """Add a function of the result of `before` to its launch; `place` is that of the result."""
    value = before.outputs[0]
    inputs: list[Value | None] = [
        graph.add_input("other", TensorType(value.type.dtype, shape, Format.ND)) for shape in others
    ]
    inputs.insert(place, value)
    before.scope = before.scope or 1 + max(node.scope for node in graph.nodes)
    node = graph.add_node(op, inputs, [("out", value.type)], dict(attributes or {}))
    node.engine, node.scope = Engine.AICORE, before.scope
    return node


def product(add_node: AddNode, graph: Graph, dtype: DType = F16, m: int = 37, n: int = 53) -> Node:
    """Return a product of matrices."""
    types = [TensorType(dtype, shape) for shape in ((m, 70), (70, n))]
    return add_node(graph, "MatMulV2", types, [TensorType(dtype, (m, n))])


def convolution(add_node: AddNode, graph: Graph) -> Node:
    """Return a convolution with bias whose tiles have tails on every side."""
    shapes: list[Shape] = [(2, 5, 11, 13), (19, 5, 3, 3), (19,)]
    types = [
        TensorType(F16, s, Format.NCHW if len(s) == len("NCHW") else Format.ND) for s in shapes
    ]
    result = TensorType(F16, (2, 19, 11, 13), Format.NCHW)
    attributes: dict[str, AttrValue] = {"strides": (1, 1, 1, 1), "pads": (1, 1, 1, 1)}
    return add_node(graph, "Conv2D", types, [result], attributes)


def launches(graph: Graph, soc: str = "sim") -> list[str]:
    """Return the operations of each kernel."""
    return ["+".join(kernel.facts.key.ops) for kernel in collect(graph, find_soc(soc))]


@pytest.mark.parametrize(
    "dtype",
    [F16, *(pytest.param(dtype, marks=pytest.mark.sweep) for dtype in (F32, BF16))],
    ids=lambda dtype: dtype.value,
)
def test_activations_after_products_are_one_kernel(
    verified: Verified, add_node: AddNode, dtype: DType
) -> None:
    graph = Graph("activations", Phase.TYPED)
    for op, attributes in ACTIVATIONS.items():
        follow(graph, product(add_node, graph, dtype), op, attributes=attributes)
    follow(graph, product(add_node, graph, dtype), "ClipByValue", ((), ()))
    assert launches(graph) == [f"MatMulV2+{op}" for op in (*ACTIVATIONS, "ClipByValue")]
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize("dtype", sampled([BF16], [F16, F32]), ids=lambda dtype: dtype.value)
def test_residuals_after_products_are_one_kernel(
    verified: Verified, add_node: AddNode, dtype: DType
) -> None:
    graph = Graph("residuals", Phase.TYPED)
    for m, n in ((1, 1), (37, 53), (16, 8), (130, 1100)):
        added = follow(graph, product(add_node, graph, dtype, m, n), "Add", ((m, n),))
        scaled = follow(graph, added, "Mul", ((1,),))
        follow(graph, follow(graph, scaled, "Sub", ((m, n),), place=1), "Relu")
    assert {*launches(graph)} == {"MatMulV2+Add+Mul+Sub+Relu"}
    assert wrong(verified(graph)) == []


def test_masks_repeat_along_the_stack(verified: Verified, add_node: AddNode) -> None:
    graph = Graph("mask", Phase.TYPED)
    types = [TensorType(F16, shape) for shape in ((2, 3, 17, 20), (2, 3, 20, 35))]
    head = add_node(graph, "BatchMatMulV2", types, [TensorType(F16, (2, 3, 17, 35))])
    scaled = follow(graph, head, "Mul", ((),))
    follow(graph, follow(graph, scaled, "Add", ((2, 1, 17, 35),)), "Add", ((17, 35),))
    assert launches(graph) == ["BatchMatMulV2+Mul+Add+Add"]
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize(
    "sanitize", [False, pytest.param(True, marks=pytest.mark.sweep)], ids=["plain", "sanitized"]
)
def test_residuals_and_activations_after_convolutions(
    verified: Verified, add_node: AddNode, *, sanitize: bool
) -> None:
    graph = Graph("conv", Phase.TYPED)
    added = follow(graph, convolution(add_node, graph), "Add", ((2, 19, 11, 13),))
    follow(graph, follow(graph, added, "Relu"), "Swish", attributes={"scale": 1.0})
    follow(graph, convolution(add_node, graph), "ClipByValue", ((), ()))
    follow(graph, follow(graph, convolution(add_node, graph), "Mul", ((),)), "GeluV2")
    assert {*launches(graph)} == {
        "Conv2D+Add+Relu+Swish", "Conv2D+ClipByValue", "Conv2D+Mul+GeluV2",
    }  # fmt: skip
    assert wrong(verified(graph, sanitize=sanitize)) == []


def test_functions_after_functions_broadcast(verified: Verified, add_node: AddNode) -> None:
    graph = Graph("chain", Phase.TYPED)
    shape = (3, 5, 31)
    for dtype in (F16, F32, BF16):
        types = [TensorType(dtype, shape)] * 2
        head = add_node(graph, "Mul", types, [TensorType(dtype, shape)])
        raised = follow(graph, follow(graph, head, "Abs"), "Pow", ((),))
        follow(graph, follow(graph, raised, "Sub", ((5, 1),), place=1), "RealDiv", (shape,))
    assert {*launches(graph)} == {"Mul+Abs+Pow+Sub+RealDiv"}
    checked = verified(graph)
    assert wrong(checked) == []


def test_rounding_between_is_the_simulators(verified: Verified, add_node: AddNode) -> None:
    graph = Graph("exact", Phase.TYPED)
    types = [TensorType(F16, (300_007,))] * 2
    head = add_node(graph, "Mul", types, types[:1])
    follow(graph, follow(graph, head, "Add", ((300_007,),)), "Muls", attributes={"value": 0.3})
    checked = verified(graph)
    assert [each.verdict for each in checked] == [Verdict.EQUAL]


@pytest.mark.parametrize(
    ("template", "right", "wrong_way"),
    sampled(
        [
            (
                "functions/Swish.j2",
                "    Exp(low, low, count);",
                "    Exp(low, low, count);\n    Muls(low, low, 1.04f, count);",
            ),
        ],
        [
            (
                "formulas.j2",
                "{{ op | instruction }}({{ y }}, {{ x }}, count);",
                "Abs({{ y }}, {{ x }}, count);",
            ),
        ],
    ),
)
def test_a_link_that_is_wrong_is_found(
    verified: Verified,
    add_node: AddNode,
    tmp_path: Path,
    template: str,
    right: str,
    wrong_way: str,
) -> None:
    text = (templates_dir() / "kernels" / template).read_text(encoding="utf-8")
    assert right in text
    own = tmp_path / "own" / template
    own.parent.mkdir(parents=True)
    own.write_text(text.replace(right, wrong_way))
    graph = Graph("wrong", Phase.TYPED)
    follow(
        graph, follow(graph, product(add_node, graph), "Relu"), "Swish", attributes={"scale": 1.0}
    )
    (checked,) = verified(graph, templates=tmp_path / "own")
    assert checked.verdict is Verdict.DIFFERS


def test_empty_results_are_left_alone(verified: Verified, add_node: AddNode) -> None:
    graph = Graph("empty", Phase.TYPED)
    follow(graph, follow(graph, product(add_node, graph, m=0), "Add", ((0, 53),)), "Relu")
    assert launches(graph) == ["MatMulV2+Add+Relu"]
    assert wrong(verified(graph)) == []


def test_what_repeats_inside_a_matrix_begins_another_launch(
    verified: Verified, add_node: AddNode
) -> None:
    graph = Graph("rows", Phase.TYPED)
    relu = follow(graph, product(add_node, graph), "Relu")
    follow(graph, follow(graph, relu, "Add", ((53,),)), "Tanh")
    assert launches(graph) == ["MatMulV2+Relu", "Add+Tanh"]
    assert wrong(verified(graph)) == []


def test_cores_without_a_unified_buffer_apply_what_their_fix_pipe_has(add_node: AddNode) -> None:
    """Fixpipe of Ascend C has a Relu; what follows it is a launch of its own."""
    graph = Graph("split", Phase.TYPED)
    follow(graph, follow(graph, product(add_node, graph), "Relu"), "Tanh")
    assert launches(graph, "Ascend910B1") == ["MatMulV2+Relu", "Tanh"]
    graph = Graph("other", Phase.TYPED)
    follow(graph, follow(graph, product(add_node, graph), "Sigmoid"), "Tanh")
    assert launches(graph, "Ascend910B1") == ["MatMulV2", "Sigmoid+Tanh"]


def test_operators_without_a_formula_are_launched_apart(add_node: AddNode) -> None:
    graph = Graph("apart", Phase.TYPED)
    follow(graph, follow(graph, product(add_node, graph), "Threshold"), "Relu")
    assert launches(graph) == ["MatMulV2", "Threshold+Relu"]


def test_a_result_that_others_read_as_well_is_written(add_node: AddNode) -> None:
    graph = Graph("shared", Phase.TYPED)
    head = product(add_node, graph)
    follow(graph, head, "Relu")
    follow(graph, head, "Tanh")
    assert launches(graph) == ["MatMulV2", "Relu", "Tanh"]


def test_limits_of_a_clip_are_not_chain(add_node: AddNode) -> None:
    graph = Graph("limit", Phase.TYPED)
    follow(graph, product(add_node, graph, m=1, n=1), "ClipByValue", ((1, 1), (1, 1)), place=1)
    assert launches(graph) == ["MatMulV2", "ClipByValue"]


def test_views_belong_to_the_launch(verified: Verified, add_node: AddNode) -> None:
    graph = Graph("views", Phase.TYPED)
    head = product(add_node, graph, m=6)
    shape = graph.add_input("shape", TensorType(DType.INT64, (3,)))
    view = graph.add_node(
        "Reshape", [head.outputs[0], shape], [("out", TensorType(F16, (2, 3, 53)))], {}
    )
    view.engine, view.scope, head.scope = Engine.LOCAL, 1, 1
    follow(graph, view, "Add", ((2, 3, 53),))
    assert launches(graph) == ["MatMulV2+Add"]
    assert wrong(verified(graph)) == []


def test_prelu_of_one_slope_is_part_of_a_kernel(verified: Verified, add_node: AddNode) -> None:
    """Slopes of a fix pipe are float32; those of each channel are another kernel."""
    graph = Graph("slopes", Phase.TYPED)
    for dtype, slopes in ((F16, 1), (F32, 1), (F32, 19)):
        node = follow(graph, convolution(add_node, graph), "PRelu", ((slopes,),))
        node.present_inputs[1].type = TensorType(dtype, (slopes,))
    follow(graph, follow(graph, convolution(add_node, graph), "PRelu", ((1,),)), "Relu")
    assert sorted(launches(graph)) == [
        "Conv2D",
        *["Conv2D+PRelu"] * 2,
        "Conv2D+PRelu+Relu",
        "PRelu",
    ]
    checked = verified(graph)
    assert wrong(checked) == []
