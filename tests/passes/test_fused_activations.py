"""Decomposed GELU, Swish and HardSwish become one operator, or stay with a reason."""

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.passes.base import Pass
from atc_py.passes.fusion.fuse_gelu import FuseGeluPass
from atc_py.passes.fusion.fuse_hard_swish import FuseHardSwishPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.precision.controls import Custom
from atc_py.passes.precision.mix_lists import MixList
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import results

HEAD = """
graph @g phase lowered {
  input %x : float32[4,8] ND
  const %root : float32[] ND = dense [1.4142135]
  const %inverse : float32[] ND = dense [0.70710677]
  const %one : float32[] ND = dense [1.0]
  const %half : float32[] ND = dense [0.5]
  const %two : float32[] ND = dense [2.0]
  const %three : float32[] ND = dense [3.0]
  const %zero : float32[] ND = dense [0.0]
  const %six : float32[] ND = dense [6.0]
  const %sixth : float32[] ND = dense [0.16666667]
  const %cubic : float32[] ND = dense [0.044715]
  const %slope : float32[] ND = dense [0.7978846]
"""


def _graph(*lines: str) -> str:
    """Return a graph of assignments `name = Op(operands) {attributes}`, the last one being `y`."""
    body = [
        f'  %{line} : float32[4,8] ND from [{at} "{line.split()[0]}" Mul]'
        for at, line in enumerate(lines)
    ]
    return "\n".join([HEAD.rstrip(), *body, "  output %y", "}"])


ERF = ("u = RealDiv(%x, %root)", "e = Erf(%u)", "s = Add(%e, %one)")
TANH = ("t = Tanh(%i)", "s = Add(%one, %t)", "h = Mul(%x, %half)", "y = Mul(%h, %s)")
FORMS: dict[str, tuple[type[Pass], str, tuple[str, ...]]] = {
    "erf, half last": (FuseGeluPass, "GeluV2", (*ERF, "p = Mul(%x, %s)", "y = Mul(%p, %half)")),
    "erf, half of the sum": (
        FuseGeluPass, "GeluV2", (*ERF, "p = Mul(%s, %half)", "y = Mul(%x, %p)")),
    "erf, half of x": (FuseGeluPass, "GeluV2", (*ERF, "h = Mul(%half, %x)", "y = Mul(%h, %s)")),
    "erf of a product, halved by 2": (
        FuseGeluPass, "GeluV2",
        ("u = Mul(%x, %inverse)", *ERF[1:], "p = Mul(%s, %x)", "y = RealDiv(%p, %two)")),
    "tanh of a power": (
        FuseGeluPass, "GeluV2",
        ("c = Pow(%x, %three)", "k = Mul(%c, %cubic)", "a = Add(%x, %k)", "i = Mul(%slope, %a)",
         *TANH)),
    "tanh of products": (
        FuseGeluPass, "GeluV2",
        ("q = Mul(%x, %x)", "c = Mul(%q, %x)", "k = Mul(%cubic, %c)", "a = Add(%k, %x)",
         "i = Mul(%a, %slope)", *TANH)),
    "tanh with x before the sum": (
        FuseGeluPass, "GeluV2",
        ("l = Mul(%x, %slope)", "m = Mul(%x, %cubic)", "k = Mul(%m, %x)", "a = Add(%k, %one)",
         "i = Mul(%l, %a)", *TANH)),
    "swish": (FuseSwishPass, "Swish", ("s = Sigmoid(%x)", "y = Mul(%x, %s)")),
    "swish with a scale": (
        FuseSwishPass, "Swish", ("k = Mul(%x, %two)", "s = Sigmoid(%k)", "y = Mul(%s, %x)")),
    "hard swish by HardSigmoid": (
        FuseHardSwishPass, "HardSwish",
        ("s = HardSigmoid(%x) {alpha=0.16666667, beta=0.5}", "y = Mul(%x, %s)")),
    "hard swish, sixth last": (
        FuseHardSwishPass, "HardSwish",
        ("a = Add(%x, %three)", "c = ClipByValue(%a, %zero, %six)", "p = Mul(%x, %c)",
         "y = RealDiv(%p, %six)")),
    "hard swish, sixth first": (
        FuseHardSwishPass, "HardSwish",
        ("a = Add(%three, %x)", "c = ClipByValue(%a, %zero, %six)", "p = Mul(%c, %sixth)",
         "y = Mul(%p, %x)")),
}  # fmt: skip

REFUSALS: dict[str, tuple[str, dict[str, str], str]] = {
    "another root": ("erf, half last", {"[1.4142135]": "[1.5]"}, "the factor must be 0.707107"),
    "another sum": ("erf, half last", {"Add(%e, %one)": "Add(%e, %two)"}, "1 must be added to Erf"),
    "another half": ("erf, half last", {"Mul(%p, %half)": "Mul(%p, %two)"}, "factor must be 0.5"),
    "another x": ("erf, half of the sum", {"Mul(%x, %p)": "Mul(%u, %p)"}, "x must be a factor"),
    "erf handed out": (
        "erf, half last", {"output %y": "output %y\n  output %e"}, "an output of the model"),
    "another cube": ("tanh of a power", {"[3.0]": "[2.0]"}, "x + 0.044715 x^3 must be the operand"),
    "another slope": ("tanh of a power", {"[0.7978846]": "[0.8]"}, "the factor must be 0.797885"),
    "plain tanh": ("tanh of a power", {"Mul(%slope, %a)": "Neg(%a)"}, "must compute %i, found Neg"),
    "sigmoid of another": (
        "swish", {"Mul(%x, %s)": "Mul(%half, %s)"}, "must compute %x, found nothing"),
    "sigmoid read twice": (
        "swish", {"output %y": "%o = Relu(%s) : float32[4,8] ND\n  output %y\n  output %o"},
        "one Mul must read the result of Sigmoid, found Mul, Relu"),
    "another gate": (
        "hard swish by HardSigmoid", {"0.16666667, beta": "0.2, beta"},
        "alpha and beta must be 1 / 6 and 1 / 2, found 0.2, 0.5"),
    "another bound": ("hard swish, sixth last", {"[6.0]": "[7.0]"}, "the bounds must be 0 and 6"),
    "another shift": ("hard swish, sixth last", {"[3.0]": "[4.0]"}, "3 must be added to x"),
}  # fmt: skip


@in_one_item("form", FORMS)
def test_activation_is_found_as_exporters_write_it(form: str) -> None:
    step, op, lines = FORMS[form]
    graph, record = fuse(step, _graph(*lines))
    (node,) = graph.nodes
    assert (node.op, node.output.name, record.effective) == (op, "y", 1)
    assert len(node.origins) == len(lines)


@in_one_item("reason", REFUSALS)
def test_activation_is_left_alone_and_says_why(reason: str) -> None:
    form, changes, message = REFUSALS[reason]
    step, op, lines = FORMS[form]
    graph, record = fuse(step, changed(_graph(*lines), changes))
    assert op not in _operators(graph)
    assert record.nearest is not None
    assert message in record.nearest.reason


def test_swish_with_a_node_that_keeps_its_dtype_is_left_alone() -> None:
    step, op, lines = FORMS["swish"]
    graph, record = fuse(step, _graph(*lines), keep=frozenset({"s"}))
    assert op not in _operators(graph)
    assert (record.matched, record.effective) == (1, 0)
    assert op in _operators(fuse(step, _graph(*lines), keep=frozenset({"s", "y"}))[0])


def test_swish_with_a_node_of_given_dtypes_is_left_alone() -> None:
    step, op, lines = FORMS["swish"]
    custom = {"y": Custom((DType.FLOAT32,))}
    graph, record = fuse(step, _graph(*lines), custom=custom)
    assert op not in _operators(graph)
    assert record.nearest is not None
    assert "customize-dtypes gives the dtypes of Mul" in record.nearest.reason
    graph, record = fuse(step, _graph(*lines), lists={"Mul": MixList.BLACK})
    assert op not in _operators(graph)
    assert record.nearest is not None
    assert "modify-mixlist moves Mul to another list" in record.nearest.reason


@pytest.mark.parametrize("mode", ["force_fp32", "force_fp16"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_stay(form: str, mode: str) -> None:
    step, _, lines = FORMS[form]
    x = np.linspace(-6, 6, 32, dtype=np.float32).reshape(4, 8)
    fused = results(fuse(step, _graph(*lines))[0], {"x": x}, mode)["y"]
    apart = results(_graph(*lines), {"x": x}, mode)["y"]
    # up to eight kernels round; what they round is below 8, or multiplied with x below 1
    bound = 4e-6 if mode == "force_fp32" else 8 * 8 * 2.0**-11
    np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)
    assert np.abs(fused - 1.02 * apart).max() > bound


def _operators(graph: Graph) -> set[str]:
    """Return the operators of a graph."""
    return {node.op for node in graph.nodes}
