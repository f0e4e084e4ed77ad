"""What shares a launch follows from the paths and pipes that a SoC's cores have.

The table is read off CANN's platform configuration: `cube_vector_combine`, `data_move_l0c2ub` and
`fix_pipe_l0c2ub` say whether results of the cube reach the unified buffer; `fix_pipe_pre_act` says
which functions the fix pipe applies, to which dtypes. That Ascend950PR_9599 merges no vector operators
either follows from ATC's guide, which says of its successor that it has no UB fusion.
"""

from collections import Counter

import pytest

from atc_py.cost.cores import pipes_of
from atc_py.cost.factors import expected_case
from atc_py.cost.work import memory_of
from atc_py.ir.parser import parse_graph
from atc_py.kernels.kernels import LEFT, emit_kernels
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc, socs
from atc_py.target.soc import SocFamily
from tests.cost.launches import convolution

IN_BUFFER = {
    SocFamily.SIM, SocFamily.ASCEND310, SocFamily.ASCEND310B, SocFamily.ASCEND310P,
    SocFamily.ASCEND610, SocFamily.ASCEND910, SocFamily.HI3796CV300CS,
}  # fmt: skip
"""Families whose cube hands results to the vector unit within a core."""

CHAIN = """
graph @g phase lowered {
  input %x : float32[2,16,40,32] ND
  input %z : float32[2,16,40,32] ND
  const %low : float32[] ND = dense [LOW]
  const %high : float32[] ND = dense [6.0]
  const %w : float32[16,16,3,3] ND = splat 0.5
  %c = Conv2D(%x, %w) {pads=[1,1,1,1], strides=[1,1,1,1]} : float32[2,16,40,32] ND
  %f = FUNCTION : float32[2,16,40,32] ND
  %g = Tanh(%f) : float32[2,16,40,32] ND
  %y = Mul(%g, %z) : float32[2,16,40,32] ND
  output %y
}
"""
RESIDUAL = """
graph @g phase lowered {
  input %x : float32[2,16,40,32] ND
  const %w : float32[16,16,3,3] ND = splat 0.5
  %c = Conv2D(%x, %w) {pads=[1,1,1,1], strides=[1,1,1,1]} : float32[2,16,40,32] ND
  %r = Relu(%c) : float32[2,16,40,32] ND
  %d = Conv2D(%r, %w) {pads=[1,1,1,1], strides=[1,1,1,1]} : float32[2,16,40,32] ND
  %s = Add(%d, %r) : float32[2,16,40,32] ND
  %y = Relu(%s) : float32[2,16,40,32] ND
  output %y
}
"""
FUNCTIONS = {
    "Relu": "Relu(%c)",
    "LeakyRelu": "LeakyRelu(%c) {negative_slope=0.1}",
    "Add": "Add(%z, %c)",
    "Sigmoid": "Sigmoid(%c)",
    "ClipByValue": "ClipByValue(%c, %low, %high)",
}

WHOLE = [{"Conv2D", "FUNCTION", "Tanh", "Mul"}]
IN_PIPE = [{"Conv2D", "FUNCTION"}, {"Tanh", "Mul"}]
APART = [{"Conv2D"}, {"FUNCTION", "Tanh", "Mul"}]


def _launches(
    soc: str, function: str, mode: str = "force_fp16", low: float = 0.0
) -> list[set[str]]:
    """Return the operators of each launch; casts and conversions of storage aside."""
    text = CHAIN.replace("FUNCTION", FUNCTIONS[function]).replace("LOW", str(low))
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")
    run_passes(graph, context, verify=True, disabled=frozenset({"assign-storage"}))
    launches: dict[object, set[str]] = {}
    for node in graph.nodes:
        if node.op not in {"Cast", "TransData"}:
            launches.setdefault(node.scope or node, set()).add(node.op)
    return list(launches.values())


def _named(launches: list[set[str]], function: str) -> list[set[str]]:
    """Return launches with the function's name in its place."""
    return [{function if op == "FUNCTION" else op for op in launch} for launch in launches]


def test_flags_of_rows_are_those_of_the_platform_configuration() -> None:
    for soc in socs():
        assert soc.ub_fusion is (soc.family in IN_BUFFER)
        assert soc.vector_fusion is (soc.family is not SocFamily.ASCEND950)
        assert bool(soc.fix_pipe_functions) is soc.fix_pipe


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend310P3", "Ascend910A"])
def test_all_functions_join_the_cube_where_results_reach_the_buffer(
    soc: str, function: str
) -> None:
    assert _launches(soc, function) == _named(WHOLE, function)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("Relu", IN_PIPE),
        ("LeakyRelu", IN_PIPE),
        ("Add", IN_PIPE),
        ("Sigmoid", WHOLE),
        ("ClipByValue", IN_PIPE),
    ],
)
def test_launches_of_310b_use_its_fix_pipe_or_the_buffer(
    function: str, wanted: list[set[str]]
) -> None:
    """In a file of CANN 8.0 for Ascend310B4 nothing follows a fix pipe in its launch."""
    assert _launches("Ascend310B1", function) == _named(wanted, function)


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend910_9391"])
@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("Relu", IN_PIPE),
        ("LeakyRelu", IN_PIPE),
        ("Add", APART),
        ("Sigmoid", APART),
        ("ClipByValue", APART),
    ],
)
def test_split_cores_apply_relus_alone(soc: str, function: str, wanted: list[set[str]]) -> None:
    """The fix pipe of Atlas A2 and A3 has normal, scalar and vector relu; no sum and no sigmoid."""
    assert _launches(soc, function) == _named(wanted, function)


def test_scalar_relu_takes_float16_alone() -> None:
    """`fix_pipe_pre_act_scalar_relu` lists f16; `normal_relu` lists f32 as well."""
    mode = "must_keep_origin_dtype"
    assert _launches("Ascend910B3", "LeakyRelu", mode) == _named(APART, "LeakyRelu")
    assert _launches("Ascend910B3", "Relu", mode) == _named(IN_PIPE, "Relu")


@pytest.mark.parametrize(
    ("op", "mode", "joins"),
    [
        ("Relu", "force_fp16", True),
        ("LeakyRelu", "force_fp16", True),
        ("ClipByValue", "force_fp16", False),
        ("Relu", "must_keep_origin_dtype", False),
    ],
)
def test_generation_without_ub_fusion_has_its_fix_pipe_alone(
    op: str, mode: str, joins: bool
) -> None:
    """The pass for ExtendConv2D joins Relu and LeakyRelu of float16; nothing else merges."""
    found = Counter(map(frozenset, _launches("Ascend950PR_9599", op, mode, low=0.0)))
    head = [{"Conv2D", op}] if joins else [{"Conv2D"}, {op}]
    assert found == Counter(map(frozenset, [*head, {"Tanh"}, {"Mul"}]))


@pytest.mark.parametrize("name", ["Ascend910B3", "Ascend910_9391"])
def test_stubs_of_split_cores_apply_what_the_launch_has(name: str) -> None:
    """Fixpipe of Ascend C has `reluEn`: the stub of the launch does all that the launch does."""
    soc = find_soc(name)
    graph = parse_graph(RESIDUAL)
    run_passes(graph, PassContext(soc, PrecisionMode.FORCE_FP16, "model.onnx"))
    kernels = emit_kernels(graph, soc)
    (source,) = [
        text
        for name, text in kernels.files.items()
        if "conv2d_relu" in name and name.endswith(".cpp")
    ]
    assert "reluEn = true" in source
    assert LEFT not in source
    scopes = {node.name: node.scope or node.name for node in graph.nodes}
    by_scope = {scopes[node]: kernel for node, kernel in kernels.kernel_of.items()}
    assert all(by_scope[scopes[node]] == kernel for node, kernel in kernels.kernel_of.items())


@pytest.mark.parametrize(("name", "free"), [("Ascend910B3", True), ("Ascend310P3", False)])
def test_function_of_the_fix_pipe_costs_no_vector_time(name: str, free: bool) -> None:
    soc = find_soc(name)
    case = expected_case(soc)
    bare, behind = (
        pipes_of(launch, soc, case, memory_of(launch, soc, case)).vector
        for launch in (
            convolution((1, 64, 56, 56), 64, 3, 1),
            convolution((1, 64, 56, 56), 64, 3, 1, "Relu"),
        )
    )
    assert (behind == bare) is free
