"""Implementation modes: which nodes get which, and what is said of those that change nothing."""

from collections.abc import Mapping

import pytest

from atc_py.diag import Severity
from atc_py.diag.codes import IMPLEMENTATION_NOT_MODELED, NO_SUCH_IMPLEMENTATION
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.controls import Controls, NodeSettings
from atc_py.passes.precision.implementations import IMPLEMENTATIONS
from atc_py.target import find_soc, operators
from atc_py.target.rows.parts import IMPL_MODE

NET = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  %a = Sigmoid(%x) : float32[2,2] ND from [0 "first" Sigmoid]
  %b = Sigmoid(%a) : float32[2,2] ND from [1 "second" Sigmoid]
  %c = Relu(%b) : float32[2,2] ND from [2 "relu" Relu]
  %d = MatMulV2(%c, %c) : float32[2,2] ND from [3 "product" MatMul]
  output %d
}
"""
TWO = {"Sigmoid", "Softplus", "Softsign", "SoftmaxV2", "LogSoftmaxV2"}


def compiled(
    types: Mapping[str, str],
    nodes: Mapping[str, str] | None = None,
    mode: str = "force_fp16",
    soc: str = "sim",
) -> tuple[dict[str, object], PassContext]:
    """Return the implementations of NET's nodes by their names, None where none is set."""
    controls = Controls(implementations=NodeSettings(dict(nodes or {}), dict(types or {})))
    graph = parse_graph(NET)
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx", controls=controls)
    AssignPrecisionPass().run(graph, context)
    made = {n.origins[0].name: n for n in graph.nodes if n.op != "Cast" and n.origins}
    return {name: node.attributes.get("impl_mode") for name, node in made.items()}, context


def said(context: PassContext) -> list[str]:
    """Return the warnings on implementations."""
    assert {each.code for each in context.sink.diagnostics} <= {NO_SUCH_IMPLEMENTATION}
    return [each.message for each in context.sink.diagnostics]


@pytest.mark.parametrize(
    ("mode", "implementation"),
    [
        ("high_precision", "high_precision"),
        ("high_performance", "high_performance"),
        ("super_performance", "high_performance"),
        ("keep_fp16", "high_performance"),
    ],
)
def test_mode_chooses_an_implementation(mode: str, implementation: str) -> None:
    found, context = compiled({"Sigmoid": mode})
    assert found["first"] == found["second"] == implementation
    assert found["relu"] is None
    assert said(context) == []
    rules = [each.rule for each in context.decisions.nodes.values()]
    assert sum(rule.endswith(f"op-precision-mode: {implementation}") for rule in rules) == 2


def test_nodes_own_mode_comes_before_its_operators() -> None:
    found, _ = compiled({"Sigmoid": "high_performance"}, {"second": "high_precision"})
    assert (found["first"], found["second"]) == ("high_performance", "high_precision")


def test_nobody_asks_and_nothing_is_set() -> None:
    found, context = compiled({})
    assert set(found.values()) == {None}
    assert said(context) == []


def test_float32_has_one_implementation() -> None:
    found, context = compiled({"Sigmoid": "high_performance"}, mode="must_keep_origin_dtype")
    assert set(found.values()) == {None}
    (message,) = said(context)
    assert "it computes float32 on aicore; 2 nodes" in message
    assert context.sink.diagnostics[0].place is not None
    assert context.sink.diagnostics[0].place.node_name == "first"


def test_operator_with_one_implementation_is_named() -> None:
    found, context = compiled({"Relu": "high_precision"})
    assert set(found.values()) == {None}
    assert said(context) == ["high_precision changes nothing for Relu: it has one implementation"]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("enable_float_32_execution", "multiplied as float32 here"),
        ("enable_hi_float_32_execution", "not a product of float32 on a cube that has HF32"),
        ("support_out_of_bound_index", "always checked"),
    ],
)
def test_mode_about_something_else_says_why_it_changes_nothing(mode: str, reason: str) -> None:
    found, context = compiled({"MatMulV2": mode, "Sigmoid": mode})
    assert set(found.values()) == {None}
    assert len(said(context)) == 2
    assert all(reason in message for message in said(context))


ACTIVATIONS = """
graph @g phase lowered {
  input %x : float32[2,4] ND
  %a = Sigmoid(%x) : float32[2,4] ND from [0 "Sigmoid" Sigmoid]
  %b = SoftmaxV2(%x) {axes=[-1]} : float32[2,4] ND from [1 "SoftmaxV2" Softmax]
  %c = LogSoftmaxV2(%x) {axes=[-1]} : float32[2,4] ND from [2 "LogSoftmaxV2" LogSoftmax]
  %d = Softplus(%x) : float32[2,4] ND from [3 "Softplus" Softplus]
  %e = Softsign(%x) : float32[2,4] ND from [4 "Softsign" Softsign]
  output %a
  output %b
  output %c
  output %d
  output %e
}
"""
EACH, DIFFERENCE = "high_performance", "float16_difference"
KERNELS: dict[str, dict[str, str]] = {
    "sim": {},
    "Ascend310": {
        "Sigmoid": EACH,
        "SoftmaxV2": "float16_exponential",
        "LogSoftmaxV2": EACH,
        "Softplus": EACH,
    },
    "Hi3796CV300CS": dict.fromkeys(
        ("Sigmoid", "SoftmaxV2", "LogSoftmaxV2", "Softplus", "Softsign"), EACH
    ),
    "Ascend310B1": {"Sigmoid": EACH, "SoftmaxV2": DIFFERENCE},
    "Ascend610": {"Sigmoid": EACH, "SoftmaxV2": DIFFERENCE},
    "Ascend910A": {"Sigmoid": EACH, "SoftmaxV2": DIFFERENCE},
    "Ascend310P3": {"SoftmaxV2": DIFFERENCE},
    "Ascend910B3": {"SoftmaxV2": DIFFERENCE},
    "Ascend910_9391": {"SoftmaxV2": DIFFERENCE},
    "Ascend950PR_9599": {},
}
"""What kernels of CANN 8.1 round to float16 in ATC's default modes, by SoC; read off the kernels.

Those of Ascend950PR_9599 are not in 8.1: that they round no step is inferred.
"""


def steps_of(
    soc: str, types: Mapping[str, str] | None = None
) -> tuple[dict[str, object], PassContext]:
    """Return what the nodes of ACTIVATIONS round to float16, by operator."""
    controls = Controls(implementations=NodeSettings({}, dict(types or {})))
    graph, mode = parse_graph(ACTIVATIONS), PrecisionMode.FORCE_FP16
    context = PassContext(find_soc(soc), mode, "model.onnx", controls=controls)
    AssignPrecisionPass().run(graph, context)
    made = {node.op: node.attributes.get("impl_mode") for node in graph.nodes if node.op != "Cast"}
    return {op: steps for op, steps in made.items() if steps is not None}, context


@pytest.mark.parametrize("soc", KERNELS)
def test_defaults_are_what_kernels_of_the_soc_compute(soc: str) -> None:
    found, context = steps_of(soc)
    assert found == KERNELS[soc]
    assert said(context) == []


def test_default_modes_are_those_of_the_default_file() -> None:
    """Source: the default list of CANN 8.1: Sigmoid high_precision, both softmaxes the other."""
    _, context = steps_of("Ascend910B3")
    rules = {name.partition(":")[0]: each.rule for name, each in context.decisions.nodes.items()}
    assert rules["Sigmoid"].endswith("default mode: high_precision")
    assert rules["SoftmaxV2"].endswith("default mode: high_performance")
    assert rules["LogSoftmaxV2"].endswith("default mode: high_performance")
    assert "mode:" not in rules["Softplus"].partition("float16")[2]


@pytest.mark.parametrize(
    ("soc", "mode", "steps"),
    [
        ("Ascend910B3", "high_performance", "high_performance"),
        ("Ascend910B3", "high_precision", None),
        ("Ascend310B1", "high_precision", "high_performance"),
    ],
)
def test_mode_of_sigmoid_is_what_the_kernel_makes_of_it(
    soc: str, mode: str, steps: str | None
) -> None:
    found, context = steps_of(soc, {"Sigmoid": mode})
    assert found.get("Sigmoid") == steps
    assert said(context) == []


@pytest.mark.parametrize(
    ("op", "mode", "soc", "note"),
    [
        ("Sigmoid", "high_performance", "Ascend310P3", True),
        ("Sigmoid", "keep_fp16", "Ascend910B3", False),
        ("Softplus", "high_performance", "Ascend910B3", False),
        ("Softsign", "high_precision", "Ascend310P3", False),
    ],
)
def test_mode_without_effect_on_a_soc_says_why(op: str, mode: str, soc: str, note: bool) -> None:
    """Source: the list of all modes of CANN 8.1; Softplus and Softsign are not on it."""
    plain, _ = steps_of(soc)
    found, context = steps_of(soc, {op: mode})
    assert found == plain
    (diagnostic,) = context.sink.diagnostics
    expected = IMPLEMENTATION_NOT_MODELED if note else NO_SUCH_IMPLEMENTATION
    assert diagnostic.code is expected
    why = "polynomial" if note else "ATC does not have this mode"
    assert why in diagnostic.message


@pytest.mark.parametrize("soc", ["sim", "Ascend910B3"])
@pytest.mark.parametrize(
    ("op", "mode"),
    [("Exp", "high_precision"), ("Tanh", "high_performance"), ("LayerNorm", "keep_fp16")],
)
def test_mode_that_atc_has_and_the_simulator_lacks_is_a_note(op: str, mode: str, soc: str) -> None:
    """Source: the list of all modes of CANN 8.1."""
    body = {
        "LayerNorm": "LayerNorm(%x, %x, %x) {begin_norm_axis=0, begin_params_axis=0}",
    }.get(op, f"{op}(%x)")
    text = NET.replace("Relu(%b)", body.replace("%x", "%b"))
    if op == "LayerNorm":
        text = text.replace("%c = LayerNorm", "%c, %m1, %m2 = LayerNorm").replace(
            "begin_params_axis=0} : float32[2,2] ND",
            "begin_params_axis=0} : float32[2,2] ND, float32[1,1] ND, float32[1,1] ND",
        )
    controls = Controls(implementations=NodeSettings({}, {op: mode}))
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx", controls=controls)
    AssignPrecisionPass().run(parse_graph(text), context)
    (diagnostic,) = context.sink.diagnostics
    assert diagnostic.code is IMPLEMENTATION_NOT_MODELED
    assert diagnostic.code.severity is Severity.NOTE


def test_allow_hf32_says_where_it_changes_nothing() -> None:
    for soc, said_of in (("sim", 1), ("Ascend910B3", 0)):
        controls = Controls(allow_hf32=True)
        context = PassContext(
            find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx", controls=controls
        )
        AssignPrecisionPass().run(parse_graph(NET), context)
        assert len(said(context)) == said_of


def test_operators_with_two_implementations_are_those_with_the_attribute() -> None:
    assert {row.name for row in operators() if row.attribute("impl_mode") is IMPL_MODE} == TWO


def test_modes_are_those_of_atc() -> None:
    assert set(IMPLEMENTATIONS) == {
        "high_precision",
        "high_performance",
        "super_performance",
        "enable_float_32_execution",
        "enable_hi_float_32_execution",
        "support_out_of_bound_index",
        "keep_fp16",
    }
