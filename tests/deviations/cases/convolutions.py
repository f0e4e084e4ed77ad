"""Convolutions: attributes that the parser wants, and pads that follow from output_shape."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

_RANDOM = np.random.default_rng(4)
X, W, UP = (
    _RANDOM.integers(-3, 4, dims).astype(np.float32)
    for dims in ((1, 2, 4, 4), (2, 2, 3, 3), (2, 3, 3, 3))
)
VOLUME, WINDOW = (
    _RANDOM.integers(-3, 4, dims).astype(np.float16) for dims in ((1, 2, 3, 4, 4), (2, 2, 3, 3, 3))
)
STRIDES = {"kernel_shape": [3, 3], "strides": [2, 2]}

deviation(
    DeviationCase(
        "Conv/no-attribute-refused",
        9,
        DeviatingNode("Conv", 11, (X,), {"group": 1}, {"w": W}),
        DeviatingNode("Conv", 11, (X,), {"strides": [1, 1]}, {"w": W}),
        None,
    )
)
deviation(
    DeviationCase(
        "Conv/same-padding-of-volumes-refused",
        "9.2",
        DeviatingNode(
            "Conv", 11, (VOLUME,), {"auto_pad": "SAME_UPPER", "strides": [1] * 3}, {"w": WINDOW}
        ),
        DeviatingNode(
            "Conv", 11, (VOLUME,), {"auto_pad": "VALID", "strides": [1] * 3}, {"w": WINDOW}
        ),
        None,
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "Conv/padding-of-volumes-at-risk",
        5,
        DeviatingNode(
            "Conv", 11, (VOLUME,), {"auto_pad": "VALID", "strides": [1] * 3}, {"w": WINDOW}
        ),
        DeviatingNode(
            "Conv", 11, (VOLUME,), {"auto_pad": "NOTSET", "strides": [1] * 3}, {"w": WINDOW}
        ),
        None,
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "ConvTranspose/kernel-shape-needed",
        6,
        DeviatingNode("ConvTranspose", 11, (X,), {"strides": [2, 2]}, {"w": UP}),
        DeviatingNode("ConvTranspose", 11, (X,), STRIDES, {"w": UP}),
        None,
    )
)


def _covered(x: Array, window: Array, stride: int) -> Array:
    """Return what all windows cover together."""
    height, width = ((size - 1) * stride + 3 for size in x.shape[2:])
    whole = np.zeros((1, window.shape[1], height, width), np.float32)
    for row, column in np.ndindex(*x.shape[2:]):
        part = np.einsum("c,cohw->ohw", x[0, :, row, column], window)
        whole[0, :, row * stride : row * stride + 3, column * stride : column * stride + 3] += part
    return whole


# Windows cover 9 x 9: of 8 x 8 one row and one column go, at the end, of 7 x 7 one at either side.
deviation(
    DeviationCase(
        "ConvTranspose/output-shape-halves",
        5,
        DeviatingNode("ConvTranspose", 11, (X,), {**STRIDES, "output_shape": [8, 8]}, {"w": UP}),
        DeviatingNode("ConvTranspose", 11, (X,), {**STRIDES, "output_shape": [7, 7]}, {"w": UP}),
        lambda x: _covered(x, UP, 2)[..., :8, :8],
    )
)
deviation(
    DeviationCase(
        "ConvTranspose/output-shape-beside-notset",
        9,
        DeviatingNode(
            "ConvTranspose",
            11,
            (X,),
            {**STRIDES, "output_shape": [7, 7], "auto_pad": "NOTSET"},
            {"w": UP},
        ),
        DeviatingNode(
            "ConvTranspose",
            11,
            (X,),
            {**STRIDES, "output_shape": [9, 9], "auto_pad": "NOTSET"},
            {"w": UP},
        ),
        None,
    )
)
deviation(
    DeviationCase(
        "ConvTranspose/output-shape-halves",
        6,
        DeviatingNode(
            "ConvTranspose",
            11,
            (X,),
            {**STRIDES, "output_shape": [8, 8], "auto_pad": "SAME_UPPER"},
            {"w": UP},
        ),
        DeviatingNode("ConvTranspose", 11, (X,), {**STRIDES, "pads": [0, 0, 1, 1]}, {"w": UP}),
        lambda x: _covered(x, UP, 2)[..., 1:, 1:],
    )
)
