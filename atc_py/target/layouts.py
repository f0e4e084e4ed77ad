"""The storage formats that an operator's kernels take: one rule for each class of operators."""

from enum import Enum


class Layout(Enum):
    """Storage that an AI Core kernel asks of its operands and results.

    Kernels of the AI CPU and tensors of open dims are row by row whatever is said here, and so
    do operands that are not images or matrices where an image or a matrix is asked for.

    ROWS: row by row.
    ALIKE: element by element: any storage, the same one for all operands of the result's dims.
        One number, or numbers that are the same for all pixels or rows, are stored row by row.
    IMAGE: images in NC1HWC0.
    SPATIAL: row by row, or images in NC1HWC0 of which only height and width change.
    CONV: images in NC1HWC0, the filter in FRACTAL_Z with the groups of the node; a depthwise one
        has a group for each channel.
    CONV_3D: volumes in NDC1HWC0, the filter in FRACTAL_Z_3D with the groups of the node.
    MATRIX: FRACTAL_NZ where the cube's loads and stores do not turn rows into fractals and back;
        where they do, only constants are FRACTAL_NZ. Of products of int8 everything is in blocks,
        x2 in FRACTAL_Z, on all SoCs but `sim`.
    QUANT: images in NC1HWC0, matrices like those of MATRIX; what quantizes to int8 or back also row
        by row on some SoCs.
    LAST_AXIS: row by row, or FRACTAL_NZ where the last axis alone is worked along.
    REDUCE: row by row, or NC1HWC0 where the channels stay and no axis goes.
    JOIN: any storage whose blocks the joined axis does not cut.
    VIEW: row by row, or FRACTAL_NZ where the last two dims stay.
    HEADS: row by row, or FRACTAL_NZ where the columns of a matrix become heads of four axes, or
        heads become columns, and all matrices are whole blocks.
    """

    ROWS = "rows"
    ALIKE = "alike"
    IMAGE = "image"
    SPATIAL = "spatial"
    CONV = "conv"
    CONV_3D = "conv_3d"
    MATRIX = "matrix"
    QUANT = "quant"
    LAST_AXIS = "last_axis"
    REDUCE = "reduce"
    JOIN = "join"
    VIEW = "view"
    HEADS = "heads"

    @property
    def words(self) -> str:
        return _WORDS[self]


LAYOUTS = {
    "accumulate": Layout.ALIKE,
    "binary": Layout.ALIKE,
    "cast": Layout.ALIKE,
    "conv": Layout.CONV,
    "matmul": Layout.MATRIX,
    "pool": Layout.IMAGE,
    "quant": Layout.QUANT,
    "reduce": Layout.REDUCE,
    "softmax": Layout.LAST_AXIS,
    "unary": Layout.ALIKE,
}
"""By family what its kernels ask for, unless the operator's row says otherwise; else ROWS."""

_WORDS = {
    Layout.ROWS: "row by row",
    Layout.ALIKE: "any, all alike",
    Layout.IMAGE: "NC1HWC0",
    Layout.SPATIAL: "row by row, NC1HWC0",
    Layout.CONV: "NC1HWC0, filter FRACTAL_Z",
    Layout.CONV_3D: "NDC1HWC0, filter FRACTAL_Z_3D",
    Layout.MATRIX: "FRACTAL_NZ, x2 of int8 FRACTAL_Z",
    Layout.QUANT: "NC1HWC0, FRACTAL_NZ",
    Layout.LAST_AXIS: "row by row, FRACTAL_NZ along the last axis",
    Layout.REDUCE: "row by row, NC1HWC0 with keep_dims",
    Layout.JOIN: "any, all alike",
    Layout.HEADS: "row by row, FRACTAL_NZ if heads are split off or joined in whole blocks",
    Layout.VIEW: "row by row, FRACTAL_NZ if the last two dims stay",
}
