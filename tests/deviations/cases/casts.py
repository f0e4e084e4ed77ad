"""Casts to eight bits."""

import numpy as np

from atc_py.tensor.dtypes import DType
from tests.deviations.case import DeviatingNode, DeviationCase, deviation

HALVES = np.array([300, -300, 200, -1.75, 129.5, -129, 60000, -0.5, 7], np.float16)
BYTES = np.array([-1, -128, 5, 0, 127], np.int8)
WORDS = np.array([-3000, 2000, 300, 5], np.int32)
UINT8, INT8, INT16, INT32, BFLOAT16 = 2, 3, 5, 6, 16

for generation, to, kind in ((5, INT8, np.int8), (6, UINT8, np.uint8)):
    limits = np.iinfo(kind)
    # ONNX leaves open what becomes of a value out of range; atc-py saturates.
    deviation(
        DeviationCase(
            "Cast/float16-wraps",
            generation,
            DeviatingNode("Cast", 13, (HALVES,), {"to": to}),
            DeviatingNode("Cast", 13, (HALVES,), {"to": INT32}),
            lambda x, kind=kind: (np.trunc(x).astype(np.int64) % 256).astype(np.uint8).view(kind),
            reference=lambda x, kind=kind, limits=limits: np.clip(
                np.trunc(x.astype(np.float64)), limits.min, limits.max
            ).astype(kind),
        )
    )
deviation(
    DeviationCase(
        "Cast/int8-magnitude",
        7,
        DeviatingNode("Cast", 13, (BYTES,), {"to": UINT8}),
        DeviatingNode("Cast", 13, (BYTES,), {"to": INT32}),
        lambda x: np.abs(x.astype(np.int32)).astype(np.uint8),
    )
)
deviation(
    DeviationCase(
        "Cast/int8-range",
        9,
        DeviatingNode("Cast", 13, (WORDS,), {"to": INT8}),
        DeviatingNode("Cast", 13, (WORDS,), {"to": INT16}),
        None,
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "Cast/bfloat16-refused",
        6,
        DeviatingNode("Cast", 13, (HALVES,), {"to": BFLOAT16}),
        DeviatingNode("Cast", 13, (HALVES,), {"to": INT32}),
        None,
        reference=lambda x: x.astype(DType.BFLOAT16.numpy),
    )
)
