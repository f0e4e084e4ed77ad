"""What the parser needs written out, or reads otherwise, operator by operator."""

import numpy as np

from tests.deviations.case import Array, DeviatingNode, DeviationCase, deviation

_RANDOM = np.random.default_rng(5)
CANN_9 = "cann-9.0"


def drawn(*dims: int) -> Array:
    return _RANDOM.standard_normal(dims).astype(np.float32)


X = drawn(2, 3, 4)

for _release in ("5", "9.1"):
    deviation(
        DeviationCase(
            "Transpose/perm-absent",
            _release,
            DeviatingNode("Transpose", 13, (X,)),
            DeviatingNode("Transpose", 13, (X,), {"perm": [2, 1, 0]}),
            None,
        )
    )
    deviation(
        DeviationCase(
            "DepthToSpace/blocks-of-one",
            _release,
            DeviatingNode("DepthToSpace", 13, (drawn(1, 2, 3, 4),), {"blocksize": 1}),
            DeviatingNode("DepthToSpace", 13, (drawn(1, 4, 3, 4),), {"blocksize": 2}),
            None,
        )
    )
    deviation(
        DeviationCase(
            "Clip/float32-before-11",
            _release,
            DeviatingNode("Clip", 9, (X.astype(np.float16),), {"min": -0.5, "max": 0.5}),
            DeviatingNode("Clip", 9, (X,), {"min": -0.5, "max": 0.5}),
            lambda x: np.clip(x, -0.5, 0.5).astype(np.float32),
        )
    )
for _op in ("Sum", "Mean"):
    deviation(
        DeviationCase(
            f"{_op}/first-shape-alone",
            "9.1",
            DeviatingNode(_op, 13, (X, drawn(4))),
            DeviatingNode(_op, 13, (X, drawn(2, 3, 4))),
            None,
        )
    )
IMAGE = drawn(1, 2, 3, 4)
deviation(
    DeviationCase(
        "GlobalMaxPool/volume-in-part",
        "9.1",
        DeviatingNode("GlobalMaxPool", 13, (drawn(1, 2, 3, 4, 5),)),
        DeviatingNode("GlobalMaxPool", 13, (IMAGE,)),
        lambda x: x.max((2, 4), keepdims=True),
    )
)
for _row, _release in (("signal-axis-twice", "8.5"), ("images-only", "5")):
    deviation(
        DeviationCase(
            f"GlobalMaxPool/{_row}",
            _release,
            DeviatingNode("GlobalMaxPool", 13, (X,)),
            DeviatingNode("GlobalMaxPool", 13, (IMAGE,)),
            None,
        )
    )
STEPS = {"kernel_shape": [1, 1], "strides": [2, 2]}
deviation(
    DeviationCase(
        "AveragePool/same-beyond-end",
        "9.1",
        DeviatingNode("AveragePool", 11, (drawn(1, 2, 6, 6),), {**STEPS, "auto_pad": "SAME_UPPER"}),
        DeviatingNode("AveragePool", 11, (drawn(1, 2, 5, 5),), {**STEPS, "auto_pad": "SAME_UPPER"}),
        None,
        reference=lambda x: x[..., ::2, ::2],  # onnxruntime refuses it as well
    )
)
deviation(
    DeviationCase(
        "LpPool/same-beyond-end",
        "9.2",
        DeviatingNode("LpPool", 11, (drawn(1, 2, 6, 6),), {**STEPS, "auto_pad": "SAME_UPPER"}),
        DeviatingNode("LpPool", 11, (drawn(1, 2, 5, 5),), {**STEPS, "auto_pad": "SAME_UPPER"}),
        None,
        CANN_9,
        reference=lambda x: abs(x[..., ::2, ::2]),
    )
)
ONE_CLASS = np.zeros((2, 1), np.float32)
deviation(
    DeviationCase(
        "Multinomial/int32-always",
        "9.1",
        DeviatingNode("Multinomial", 13, (ONE_CLASS,), {"dtype": 7}),
        DeviatingNode("Multinomial", 13, (ONE_CLASS,), {"dtype": 6}),
        lambda logits: np.zeros((len(logits), 1), np.int32),
    )
)
LIKE = np.zeros((2, 3), np.float16)
for _op, _fixed in (
    ("RandomNormalLike", {"mean": 2.0, "scale": 1e-6}),
    ("RandomUniformLike", {"low": 2.0, "high": 2.0}),
):
    for _release in ("5", "9.1"):
        deviation(
            DeviationCase(
                f"{_op}/float32-without-dtype",
                _release,
                DeviatingNode(_op, 13, (LIKE,), _fixed),
                DeviatingNode(_op, 13, (LIKE,), {**_fixed, "dtype": 10}),
                lambda x: np.full(x.shape, 2, np.float32),
                CANN_9,
            )
        )
    deviation(
        DeviationCase(
            f"{_op}/float32-after-nodes",
            "9.2",
            DeviatingNode(_op, 13, (LIKE,), _fixed, follows=True),
            DeviatingNode(_op, 13, (LIKE,), _fixed),
            lambda x: np.full(x.shape, 2, np.float32),
            CANN_9,
        )
    )
A, B = drawn(2, 3), drawn(3, 4)
deviation(
    DeviationCase(
        "Gemm/bias-refused",
        "5",
        DeviatingNode("Gemm", 13, (A, B, drawn(2, 1))),
        DeviatingNode("Gemm", 13, (A, B, drawn(4))),
        None,
    )
)
GRID = np.zeros((1, 3, 4, 2), np.float32)
MODES = {"mode": "bilinear", "padding_mode": "zeros"}
for _row, _name in (("mode-absent", "mode"), ("padding-mode-absent", "padding_mode")):
    deviation(
        DeviationCase(
            f"GridSample/{_row}",
            "9.1",
            DeviatingNode("GridSample", 16, (IMAGE, GRID), {**MODES, _name: None}),
            DeviatingNode("GridSample", 16, (IMAGE, GRID), MODES),
            None,
            CANN_9,
        )
    )
deviation(
    DeviationCase(
        "Split/axis-from-end",
        "9.1",
        DeviatingNode("Split", 18, (X,), {"axis": -1, "num_outputs": 2}, outputs=2),
        DeviatingNode("Split", 18, (X,), {"axis": 2, "num_outputs": 2}, outputs=2),
        None,
        CANN_9,
    )
)
deviation(
    DeviationCase(
        "Split/dims-not-known",
        "8.5",
        DeviatingNode(
            "Split", 18, (abs(X),), {"axis": 2, "num_outputs": 2}, outputs=2, follows=True
        ),
        DeviatingNode("Split", 18, (abs(X),), {"axis": 2, "num_outputs": 2}, outputs=2),
        None,
        CANN_9,
    )
)


def signed_norm(x: Array) -> Array:
    """Windows of 2 by 2 apart, positive sums alone."""
    cubes = (x**3).reshape(1, 2, 2, 2, 2, 2)
    return np.asarray(np.cbrt(cubes.sum((3, 5))))


SIGNED = np.abs(drawn(1, 2, 4, 4)).astype(np.float16) + np.float16(0.5)
SIGNED[..., 0, 0] = -0.75
for _release in ("5", "9.1"):
    deviation(
        DeviationCase(
            "LpPool/odd-p-keeps-signs",
            _release,
            DeviatingNode(
                "LpPool", 11, (SIGNED,), {"kernel_shape": [2, 2], "strides": [2, 2], "p": 3}
            ),
            DeviatingNode(
                "LpPool", 11, (SIGNED,), {"kernel_shape": [2, 2], "strides": [2, 2], "p": 2}
            ),
            signed_norm,
            CANN_9,
        )
    )
