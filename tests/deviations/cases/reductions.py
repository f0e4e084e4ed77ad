"""Reductions and positions of extremes."""

from __future__ import annotations

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

_RANDOM = np.random.default_rng(11)
X = _RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
CANN_9 = "cann-9.0"

for _op, _position in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
    for _generation, _axis in ((5, 0), (6, -1)):
        deviation(
            DeviationCase(
                f"{_op}/kept-axis-at-1",
                _generation,
                DeviatingNode(_op, 13, (X,), {"axis": _axis}),
                DeviatingNode(_op, 13, (X,), {"axis": _axis, "keepdims": 0}),
                lambda x, position=_position, axis=_axis: np.expand_dims(position(x, axis), 1),
            )
        )

for _op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"):
    _opset = 11 if _op == "ReduceSum" else 13
    deviation(
        DeviationCase(
            f"{_op}/no-axes",
            9,
            DeviatingNode(_op, _opset, (X,)),
            DeviatingNode(_op, _opset, (X,), {"axes": [0, 1, 2]}),
            lambda x: x,
            CANN_9,
        )
    )
for _op in ("ReduceMax", "ReduceMin", "ReduceSum"):
    _near = DeviatingNode(_op, 18, (X,), constants={"axes": np.array([0, 1, 2])})
    deviation(
        DeviationCase(
            f"{_op}/absent-axes", 9, DeviatingNode(_op, 18, (X,)), _near, lambda x: x, CANN_9
        )
    )
    deviation(
        DeviationCase(
            f"{_op}/empty-axes",
            9,
            DeviatingNode(_op, 18, (X,), constants={"axes": np.empty(0, np.int64)}),
            _near,
            lambda x: x,
            CANN_9,
        )
    )

deviation(
    DeviationCase(
        "ReduceSumSquare/keepdims-always",
        6,
        DeviatingNode("ReduceSumSquare", 11, (X,), {"axes": [1], "keepdims": 0}),
        DeviatingNode("ReduceSumSquare", 11, (X,), {"axes": [1], "keepdims": 1}),
        lambda x: (x * x).sum(1, keepdims=True),
    )
)
deviation(
    DeviationCase(
        "ReduceSumSquare/axes-input-not-wired",
        9,
        DeviatingNode("ReduceSumSquare", 18, (X,), constants={"axes": np.array([1])}),
        DeviatingNode("ReduceSumSquare", 18, (X,), constants={"axes": np.array([2, 0, 1])}),
        lambda x: (x * x).sum(keepdims=True),
        CANN_9,
    )
)
