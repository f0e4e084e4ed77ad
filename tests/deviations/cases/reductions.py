"""Reductions and positions of extremes."""

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

_RANDOM = np.random.default_rng(11)
X = _RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
CANN_9 = "cann-9.0"

for _op, _position, _dtype in (("ArgMax", np.argmax, np.int64), ("ArgMin", np.argmin, np.int32)):
    for _generation, _axis in ((5, 0), (6, -1)):
        deviation(
            DeviationCase(
                f"{_op}/kept-axis-at-1",
                _generation,
                DeviatingNode(_op, 13, (X,), {"axis": _axis}),
                None
                if _op == "ArgMin"
                else DeviatingNode(_op, 13, (X,), {"axis": _axis, "keepdims": 0}),
                lambda x, position=_position, axis=_axis, dtype=_dtype: np.expand_dims(
                    position(x, axis), 1
                ).astype(dtype),
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
        "ReduceSumSquare/axes-input-not-read",
        "9.1",
        DeviatingNode("ReduceSumSquare", 18, (X,), {"keepdims": 1}, {"axes": np.array([1])}),
        DeviatingNode("ReduceSumSquare", 17, (X,), {"axes": [1], "keepdims": 1}),
        None,
        CANN_9,
    )
)
deviation(
    DeviationCase(
        "ReduceSumSquare/axes-absent",
        "8.5",
        DeviatingNode("ReduceSumSquare", 13, (X,), {"keepdims": 1}),
        DeviatingNode("ReduceSumSquare", 13, (X,), {"axes": [0, 1, 2], "keepdims": 1}),
        None,
    )
)
deviation(
    DeviationCase(
        "ReduceSumSquare/keepdims-absent",
        "9.2",
        DeviatingNode("ReduceSumSquare", 13, (X,), {"axes": [1]}),
        DeviatingNode("ReduceSumSquare", 13, (X,), {"axes": [1], "keepdims": 1}),
        lambda x: (x * x).sum(1),
    )
)

AXES = {"axes": np.array([1])}
ATTRIBUTE = {"axes": [1], "keepdims": 0}

for _op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceLogSumExp"):
    if _op != "ReduceMean":
        deviation(
            DeviationCase(
                f"{_op}/axes-attribute-lost",
                "9.1",
                DeviatingNode(_op, 13, (X,), ATTRIBUTE),
                DeviatingNode(_op, 11, (X,), ATTRIBUTE),
                lambda x: x,
                CANN_9,
            )
        )
    if _op != "ReduceLogSumExp":
        deviation(
            DeviationCase(
                f"{_op}/axes-input-lost",
                "9.0",
                DeviatingNode(_op, 18, (X,), constants=AXES),
                DeviatingNode(_op, 13, (X,), ATTRIBUTE),
                lambda x: x,
                "base",
            )
        )
    deviation(
        DeviationCase(
            f"{_op}/axes-absent",
            "9.1",
            DeviatingNode(_op, 11, (X,)),
            DeviatingNode(_op, 11, (X,), {"axes": [0, 1, 2]}),
            lambda x: x,
            CANN_9,
        )
    )

# Neither the parser nor what is published after it says what is reduced.
for _op in ("ReduceLogSumExp", "ReduceLogSum"):
    deviation(
        DeviationCase(
            f"{_op}/axes-input-lost",
            "9.0",
            DeviatingNode(_op, 18, (np.abs(X),), constants=AXES),
            DeviatingNode(_op, 13, (np.abs(X),), ATTRIBUTE),
            None,
            CANN_9,
        )
    )
deviation(
    DeviationCase(
        "ReduceLogSum/axes-attribute-lost",
        "9.2",
        DeviatingNode("ReduceLogSum", 13, (np.abs(X),), ATTRIBUTE),
        DeviatingNode("ReduceLogSum", 11, (np.abs(X),), ATTRIBUTE),
        None,
        CANN_9,
    )
)
for _op, _row, _release in (
    ("ReduceLogSumExp", "axes-absent-undefined", "9.0"),
    ("ReduceLogSum", "axes-absent-undefined", "9.0"),
    ("ReduceSum", "axes-absent-undefined", "8.5"),
):
    deviation(
        DeviationCase(
            f"{_op}/{_row}",
            _release,
            DeviatingNode(_op, 11, (np.abs(X),)),
            DeviatingNode(_op, 11, (np.abs(X),), {"axes": [0, 1, 2]}),
            None,
            CANN_9,
        )
    )
for _op, _release in (("ReduceLogSum", "9.1"), ("ReduceSum", "9.2")):
    # Right after an input the parser knows the rank.
    deviation(
        DeviationCase(
            f"{_op}/axes-absent",
            _release,
            DeviatingNode(_op, 11, (np.abs(X),), follows=True),
            DeviatingNode(_op, 11, (np.abs(X),)),
            None,
            CANN_9,
        )
    )
for _release in ("5", "9.1"):
    deviation(
        DeviationCase(
            "ReduceSum/no-op-refused",
            _release,
            DeviatingNode("ReduceSum", 13, (X,), {"noop_with_empty_axes": 1}),
            DeviatingNode("ReduceSum", 13, (X,), {"noop_with_empty_axes": 0}),
            None,
            CANN_9,
        )
    )
deviation(
    DeviationCase(
        "ReduceSum/axes-input-refused",
        "6",
        DeviatingNode("ReduceSum", 13, (X,), constants=AXES),
        DeviatingNode("ReduceSum", 13, (X,), {"noop_with_empty_axes": 1}, AXES),
        None,
    )
)
deviation(
    DeviationCase(
        "ReduceMean/axes-absent-undefined",
        "5",
        DeviatingNode("ReduceMean", 11, (X,)),
        DeviatingNode("ReduceMean", 11, (X,), {"axes": [0, 1, 2]}),
        None,
    )
)

for _release, _row in (
    ("5", "int32-always"),
    ("9.1", "int32-always"),
    ("9.2", "int32-below-newest"),
):
    deviation(
        DeviationCase(
            f"ArgMin/{_row}",
            _release,
            DeviatingNode("ArgMin", 13, (X,), {"axis": 1}),
            None,
            lambda x: np.expand_dims(np.argmin(x, 1), 1).astype(np.int32),
        )
    )
