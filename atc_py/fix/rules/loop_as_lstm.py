"""Rule loop-as-lstm: a Loop or Scan whose body is one step of an LSTM, written as LSTM.

The body is read as algebra: gates may come in any order, from one product or several, and biases from
any sums. Formula: ONNX, LSTM.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, RuleCase, data
from atc_py.fix.parts.loop_reading import read_recurrence, write_layer
from atc_py.fix.parts.recurrent_layers import lstm_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WEIGHTS = data(5, 8, seed=1).value


def _body(function: str) -> CaseGraph:
    """Return one step of an LSTM whose input gate is `function`."""
    return CaseGraph(
        {"h": Fed((2, 2)), "c": Fed((2, 2)), "x": Fed((2, 3))},
        ("h2", "c2", "y"),
        (
            ("Constant", (), ("w",), {"value": _WEIGHTS}),
            ("Concat", ("x", "h"), ("xh",), {"axis": 1}),
            ("MatMul", ("xh", "w"), ("g",), {}),
            ("Split", ("g",), ("gi", "gc", "gf", "go"), {"axis": 1}),
            (function, ("gi",), ("i",), {}),
            ("Tanh", ("gc",), ("n",), {}),
            ("Sigmoid", ("gf",), ("f",), {}),
            ("Sigmoid", ("go",), ("o",), {}),
            ("Mul", ("c", "f"), ("kept",), {}),
            ("Mul", ("i", "n"), ("new",), {}),
            ("Add", ("kept", "new"), ("c2",), {}),
            ("Tanh", ("c2",), ("t",), {}),
            ("Mul", ("o", "t"), ("h2",), {}),
            ("Identity", ("h2",), ("y",), {}),
        ),
    )


@fix_rule(
    "loop-as-lstm",
    ("Loop", "Scan"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Loop or Scan whose body is one step of an LSTM", "循环体为 LSTM 单步的 Loop 或 Scan"
        ),
        after=Words(
            "LSTM; Transpose and Reshape of the sequence and of the results",
            "LSTM；序列与结果经 Transpose、Reshape",
        ),
        condition=Words(
            "constants decide the number of steps; weights are constant; gates are Sigmoid and Tanh "
            "of sums of the slice and the state, without peepholes; every output is a state, or the "
            "state of each step",
            "步数由常量决定；权重为常量；门为切片与状态之和的 Sigmoid 与 Tanh，无窥孔；"
            "各输出为状态，或各步的状态",
        ),
    ),
    example=RuleCase(
        "Scan",
        (Fed((2, 2)), Fed((2, 2)), Fed((4, 2, 3))),
        {"body": _body("Sigmoid"), "num_scan_inputs": 1},
        outputs=3,
    ),
    near_miss=RuleCase(
        "Scan",
        (Fed((2, 2)), Fed((2, 2)), Fed((4, 2, 3))),
        {"body": _body("HardSigmoid"), "num_scan_inputs": 1},
        outputs=3,
    ),
)
def loop_as_lstm(site: Site) -> Sequence[str]:
    """Write the layer."""
    loop = read_recurrence(site)
    updates = loop.updates
    for x in loop.slices:
        for h, c in permutations(updates, 2):
            layer = lstm_of(updates, h, c, x, loop.names)
            if layer is not None:
                return write_layer(site, loop, layer, x[0])
    raise UnfitError(Words("the body is one step of an LSTM", "循环体为 LSTM 的一步"))
