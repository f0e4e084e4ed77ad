"""Rule loop-as-gru: a Loop or Scan whose body is one step of a GRU, written as GRU.

The body is read as algebra: gates may come in any order, from one product or several, and biases from
any sums. Formula: ONNX, GRU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, RuleCase, data
from atc_py.fix.parts.loop_reading import read_recurrence, write_layer
from atc_py.fix.parts.recurrent_layers import gru_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WEIGHTS, _RESET = data(5, 4, seed=1).value, data(5, 2, seed=2).value


def _body(function: str) -> CaseGraph:
    """Return one step of a GRU whose update gate is `function`."""
    return CaseGraph(
        {"h": Fed((2, 2)), "x": Fed((2, 3))},
        ("h2", "y"),
        (
            ("Constant", (), ("w",), {"value": _WEIGHTS}),
            ("Constant", (), ("v",), {"value": _RESET}),
            ("Constant", (), ("one",), {"value_float": 1.0}),
            ("Concat", ("x", "h"), ("xh",), {"axis": 1}),
            ("MatMul", ("xh", "w"), ("g",), {}),
            ("Split", ("g",), ("gr", "gz"), {"axis": 1}),
            ("Sigmoid", ("gr",), ("r",), {}),
            (function, ("gz",), ("z",), {}),
            ("Mul", ("r", "h"), ("rh",), {}),
            ("Concat", ("x", "rh"), ("xr",), {"axis": 1}),
            ("MatMul", ("xr", "v"), ("gn",), {}),
            ("Tanh", ("gn",), ("n",), {}),
            ("Sub", ("one", "z"), ("rest",), {}),
            ("Mul", ("rest", "n"), ("new",), {}),
            ("Mul", ("z", "h"), ("kept",), {}),
            ("Add", ("new", "kept"), ("h2",), {}),
            ("Identity", ("h2",), ("y",), {}),
        ),
    )


@fix_rule(
    "loop-as-gru",
    ("Loop", "Scan"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Loop or Scan whose body is one step of a GRU", "循环体为 GRU 单步的 Loop 或 Scan"
        ),
        after=Words(
            "GRU; Transpose and Reshape of the sequence and of the results",
            "GRU；序列与结果经 Transpose、Reshape",
        ),
        condition=Words(
            "constants decide the number of steps; weights are constant; gates are Sigmoid and Tanh "
            "of sums of the slice and the state, the reset before or after the product; every output "
            "is a state, or the state of each step",
            "步数由常量决定；权重为常量；门为切片与状态之和的 Sigmoid 与 Tanh，复位在乘积之前或之后；"
            "各输出为状态，或各步的状态",
        ),
    ),
    example=RuleCase(
        "Scan",
        (Fed((2, 2)), Fed((4, 2, 3))),
        {"body": _body("Sigmoid"), "num_scan_inputs": 1},
        outputs=2,
    ),
    near_miss=RuleCase(
        "Scan",
        (Fed((2, 2)), Fed((4, 2, 3))),
        {"body": _body("HardSigmoid"), "num_scan_inputs": 1},
        outputs=2,
    ),
)
def loop_as_gru(site: Site) -> Sequence[str]:
    """Write the layer."""
    loop = read_recurrence(site)
    updates = loop.updates
    for x in loop.slices:
        for h in updates:
            layer = gru_of(updates, h, x, loop.names)
            if layer is not None:
                return write_layer(site, loop, layer, x[0])
    raise UnfitError(Words("the body is one step of a GRU", "循环体为 GRU 的一步"))
