"""Object detection: pooling in regions of interest, and choosing boxes."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    F32,
    FLOATS,
    I32,
    I64,
    Y,
    inputs,
    same,
)

ROWS = (
    TargetOp(
        "NonMaxSuppressionV7",
        inputs(
            "boxes",
            "scores",
            "max_output_size?",
            "iou_threshold?",
            "score_threshold?",
            "index_id?",
        ),
        (Operand("selected_indices"),),
        Unit.VECTOR,
        "Image, class and box of the best boxes of each class, without those that overlap a "
        "better one; rows that are left over are -1.",
        attributes=(
            Attribute("center_point_box", "int", 0),
            Attribute("max_boxes_size", "int", 0),
        ),
        # CANN also takes float16, in which other boxes may win: a choice cannot be nearly right
        columns=tuple(Column((F32, F32, count, F32, F32, F32), (I32,)) for count in (I32, I64)),
        kernels=on(
            "310 910: f16; 310P 310B A2 A3: f16 f32; 610: -; "
            "CS: (f16 f16 i32|i64 f16 f16 f16 > i32)",
            "T T i32|i64 f32 f32 T > i32",
        ),
        family="region",
        formula=(
            "of each image and class, by falling score: keep a box unless a kept one overlaps it "
            "by more than iou_threshold\n"
            "overlap = area of the intersection / area of the union; boxes below score_threshold "
            "are out"
        ),
        passes=20.0,
    ),
    TargetOp(
        "ROIAlign",
        inputs("features", "rois", "rois_n?"),
        Y,
        Unit.VECTOR,
        "Regions of interest pooled to one size, with bilinear samples.",
        attributes=(
            Attribute("spatial_scale", "float"),
            Attribute("pooled_height", "int"),
            Attribute("pooled_width", "int"),
            Attribute("sample_num", "int", 2),
            Attribute("roi_end_mode", "int", 1),
            Attribute("pool_mode", "string", "avg"),
        ),
        columns=tuple(Column((dtype, dtype, I32), (dtype,)) for dtype in FLOATS),
        kernels=on("310 310P 310B 610 910 A2 A3: f16 f32; CS: f16", "T T i32 > T"),
        family="region",
        formula=(
            "y[r, c, i, j] = mean or largest (pool_mode) of bilinear samples in cell (i, j) of "
            "region r\n"
            "regions are scaled by spatial_scale; they are at least one pixel high and wide with "
            "roi_end_mode 0, and begin half a pixel earlier with 2"
        ),
        takes=Layout.IMAGE,
        picks=True,
    ),
    TargetOp(
        "ROIPooling",
        inputs("x", "rois", "roi_actual_num?"),
        Y,
        Unit.VECTOR,
        "Largest value of each cell of a grid over regions of interest.",
        attributes=(
            Attribute("pooled_h", "int"),
            Attribute("pooled_w", "int"),
            Attribute("spatial_scale_h", "float"),
            Attribute("spatial_scale_w", "float"),
        ),
        columns=same(*FLOATS, inputs=2),
        kernels=on("310 310B 910 A2 A3 CS: f16; 310P 610: f16 f32", "T T i32 > T"),
        family="region",
        selects=True,
        formula=(
            "y[r, c, i, j] = largest x of cell (i, j) of region r, 0 of an empty cell\n"
            "corners are scaled and rounded to pixels, half away from 0, and both belong to the "
            "region\n"
            "cell i of n has the rows floor(i * height / n) to ceil((i + 1) * height / n), cut "
            "off at the edge"
        ),
        takes=Layout.IMAGE,
        picks=True,
    ),
)
