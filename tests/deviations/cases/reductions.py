"""Reductions and positions of extremes."""

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
