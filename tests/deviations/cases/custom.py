"""Custom operators: attributes that the parser drops."""

from typing import Any

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

_RANDOM = np.random.default_rng(6)
A, B = (_RANDOM.standard_normal((2, 3, 3)).astype(np.float32) for _ in range(2))

for generation, adjoint in ((5, "x1"), (9, "x2")):
    name = f"adj_{adjoint}"
    deviation(
        DeviationCase(
            f"BatchMatMul/adj-{adjoint}-ignored",
            generation,
            DeviatingNode("BatchMatMul", 13, (A, B), {name: 1}),
            DeviatingNode("BatchMatMul", 13, (A, B), {name: 0}),
            lambda a, b: np.einsum("nij,njk->nik", a, b),
            reference=(
                (lambda a, b: np.einsum("nji,njk->nik", a, b))
                if adjoint == "x1"
                else (lambda a, b: np.einsum("nij,nkj->nik", a, b))
            ),
        )
    )

# One image, two boxes that do not meet, one class, and a window that holds them.
BOXES = np.array([[[[1, 1, 2, 2]], [[3, 3, 5, 4]]]], np.float16)
SCORES = np.array([[[0.5], [0.75]]], np.float16)
WINDOW = np.array([[0, 0, 8, 8]], np.float16)
LIMITS: dict[str, Any] = {
    "score_threshold": 0.25,
    "iou_threshold": 0.5,
    "max_size_per_class": 2,
    "max_total_size": 2,
}

deviation(
    DeviationCase(
        "BatchMultiClassNMS/coordinate-frame-ignored",
        9,
        DeviatingNode(
            "BatchMultiClassNMS",
            13,
            (BOXES, SCORES, WINDOW),
            {**LIMITS, "change_coordinate_frame": 1},
            outputs=4,
        ),
        DeviatingNode("BatchMultiClassNMS", 13, (BOXES, SCORES, WINDOW), LIMITS, outputs=4),
        lambda boxes, *_: boxes[:, ::-1, 0],
        reference=lambda boxes, *_: boxes[:, ::-1, 0] / np.float16(8),
    )
)
deviation(
    DeviationCase(
        "BatchMultiClassNMS/transpose-box-ignored",
        6,
        DeviatingNode(
            "BatchMultiClassNMS",
            13,
            (BOXES.transpose(0, 2, 3, 1).copy(), SCORES, WINDOW),
            {**LIMITS, "transpose_box": 1},
            outputs=4,
        ),
        DeviatingNode("BatchMultiClassNMS", 13, (BOXES, SCORES, WINDOW), LIMITS, outputs=4),
        None,
        reference=lambda boxes, *_: boxes.transpose(0, 3, 1, 2)[:, ::-1, 0],
    )
)

# Without offsets, and with weights of 1, it is a convolution; here of one window.
PIXELS, FILTER = (_RANDOM.integers(-3, 4, (1, 1, 3, 3)).astype(np.float32) for _ in range(2))
OFFSETS = np.concatenate([np.zeros((1, 18, 1, 1)), np.ones((1, 9, 1, 1))], 1).astype(np.float32)

deviation(
    DeviationCase(
        "DeformableConv2D/four-numbers-refused",
        9,
        DeviatingNode(
            "DeformableConv2D",
            13,
            (PIXELS, FILTER, OFFSETS),
            {"pads": [0] * 4, "strides": [1] * 4, "data_format": "NCHW"},
        ),
        None,
        None,
        "cann-9.0",
        lambda x, window, _: (x * window).sum().reshape(1, 1, 1, 1),
    )
)


# The compiler looks into the factors before it chooses how they are applied.
SUMS = _RANDOM.integers(-500, 500, (1, 2, 3, 3)).astype(np.int32)
FACTORS = np.array([0.5, 0.25], np.float16)
DEQUANT = {"d": FACTORS}


def dequantized(sums: Any, *_: Any) -> Any:
    return sums.astype(np.float32) * FACTORS.astype(np.float32).reshape(1, 2, 1, 1)


for family, release in (("Ascend310P3", "9.1"), ("Ascend910B3", "8.5")):
    deviation(
        DeviationCase(
            "AscendDequant/factors-computed",
            release,
            DeviatingNode("AscendDequant", 13, (SUMS, FACTORS)),
            DeviatingNode("AscendDequant", 13, (SUMS,), constants=DEQUANT),
            None,
            reference=dequantized,
            soc=family,
        )
    )
    deviation(
        DeviationCase(
            "AscendDequant/factors-in-a-row",
            release,
            DeviatingNode(
                "AscendDequant", 13, (SUMS,), constants={"d": FACTORS.reshape(1, 2, 1, 1)}
            ),
            DeviatingNode("AscendDequant", 13, (SUMS,), constants=DEQUANT),
            None,
            reference=dequantized,
            soc=family,
        )
    )
