"""Object detection: pooling in regions of interest, and choosing boxes."""

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.rows.parts import FLOATS, Needed, attributes, operator

ROWS = (
    operator(
        "NonMaxSuppressionV7",
        "Image, class and box of the best boxes of each class, without those that overlap a "
        "better one; rows that are left over are -1.",
        "boxes scores max_output_size? iou_threshold? score_threshold? index_id? > selected_indices",
        form="T T i32|i64 f32 f32 T > i32",
        attributes=attributes(center_point_box=0, max_boxes_size=0),
        # CANN also takes float16, in which other boxes may win: a choice cannot be nearly right
        columns="(f32 f32 i32|i64 f32 f32 f32 > i32)",
        kernels="310 910: f16; 310P 310B A2 A3: f16 f32; 610: -; "
        "CS: (f16 f16 i32|i64 f16 f16 f16 > i32)",
        family="region",
        formula=(
            "of each image and class, by falling score: keep a box unless a kept one overlaps it "
            "by more than iou_threshold\n"
            "overlap = area of the intersection / area of the union; boxes below score_threshold "
            "are out"
        ),
        passes=20.0,
    ),
    operator(
        "ROIAlign",
        "Regions of interest pooled to one size, with bilinear samples.",
        "features rois rois_n? > y",
        form="T T i32 > T",
        attributes=attributes(
            spatial_scale=Needed.FLOAT,
            pooled_height=Needed.INT,
            pooled_width=Needed.INT,
            sample_num=2,
            roi_end_mode=1,
            pool_mode="avg",
        ),
        columns=FLOATS,
        kernels="310 310P 310B 610 910 A2 A3: f16 f32; CS: f16",
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
    operator(
        "ROIPooling",
        "Largest value of each cell of a grid over regions of interest.",
        "x rois roi_actual_num? > y",
        form="T T > T",
        attributes=attributes(
            pooled_h=Needed.INT,
            pooled_w=Needed.INT,
            spatial_scale_h=Needed.FLOAT,
            spatial_scale_w=Needed.FLOAT,
        ),
        columns=FLOATS,
        kernels=Kernels("310 310B 910 A2 A3 CS: f16; 310P 610 950: f16 f32", "T T i32 > T"),
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
