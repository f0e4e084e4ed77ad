"""Object detection: pooling in regions of interest, and choosing boxes."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import FLOATS, columns, operands

ROWS = (
    TargetOp(
        "NonMaxSuppressionV7",
        *operands(
            "boxes scores max_output_size? iou_threshold? score_threshold? index_id? > selected_indices"
        ),
        "Image, class and box of the best boxes of each class, without those that overlap a "
        "better one; rows that are left over are -1.",
        attributes=(
            Attribute("center_point_box", "int", 0),
            Attribute("max_boxes_size", "int", 0),
        ),
        # CANN also takes float16, in which other boxes may win: a choice cannot be nearly right
        columns=columns("(f32 f32 i32|i64 f32 f32 f32 > i32)"),
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
        *operands("features rois rois_n? > y"),
        "Regions of interest pooled to one size, with bilinear samples.",
        attributes=(
            Attribute("spatial_scale", "float"),
            Attribute("pooled_height", "int"),
            Attribute("pooled_width", "int"),
            Attribute("sample_num", "int", 2),
            Attribute("roi_end_mode", "int", 1),
            Attribute("pool_mode", "string", "avg"),
        ),
        columns=columns(FLOATS, "T T i32 > T"),
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
        *operands("x rois roi_actual_num? > y"),
        "Largest value of each cell of a grid over regions of interest.",
        attributes=(
            Attribute("pooled_h", "int"),
            Attribute("pooled_w", "int"),
            Attribute("spatial_scale_h", "float"),
            Attribute("spatial_scale_w", "float"),
        ),
        columns=columns(FLOATS, "T T > T"),
        kernels=on("310 310B 910 A2 A3 CS: f16; 310P 610 950: f16 f32", "T T i32 > T"),
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
