"""What the operators that ONNX does not define become."""

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.row import PRODUCTS, Unit
from atc_py.target.rows.parts import (
    DIVISION,
    EXP,
    FLOATS,
    I32,
    UNDECIDED,
    Needed,
    attributes,
    columns,
    operator,
)
from atc_py.target.soc import Resource
from atc_py.target.vector import Form, VectorFunction

ROWS = (
    operator(
        "AdaptiveMaxPool2d",
        "Largest value of windows that divide an image into rows and columns, and where it stands.",
        "x > y argmax",
        form="T > T i32",
        attributes=attributes(output_size=Needed.INTS),
        columns="f16",
        kernels="310 310P 310B 610 910 A2 A3: f16; CS: -; 950: f16 f32 bf16",
        aicpu="f32 f64",
        family="region",
        selects=True,
        formula=(
            "y[i, j] = largest x of rows floor(i * H / h) to ceil((i + 1) * H / h) and of "
            "columns alike\n"
            "argmax[i, j] = its place in the plane of H x W"
        ),
        takes=Layout.IMAGE,
    ),
    operator(
        "Addcmul",
        "A tensor plus the product of two others and a factor, all broadcast.",
        "input_data x1 x2 value > y",
        columns=columns("f16 f32 i32 i8 u8", "T T T T > T"),
        kernels="310 310P 310B 910 A3: ?; A2 950: f16 f32 bf16 i32; 610 CS: -",
        aicpu="f16 f32 i32 i8 u8",
        family="binary",
        passes=2.0,
        vector=VectorFunction(Form.BINARY, native=(I32,), rounded_once=True, linked=False),
    ),
    operator(
        "BatchMatMul",
        "Products of two stacks of matrices, pair by pair.",
        "x1 x2 > y",
        form="T T > T",
        unit=Unit.CUBE,
        attributes=(*attributes(adj_x1=False, adj_x2=False), PRODUCTS),
        columns=(
            *columns("f16", "T T > T"),
            *columns("f32", "T T > T", Resource.CUBE_FLOAT32),
        ),
        kernels=f"{UNDECIDED}; 950: f16 f32 bf16",
        aicpu=columns("f32 i32"),
        family="matmul",
    ),
    operator(
        "BatchMultiClassNonMaxSuppression",
        "The best boxes of each image over all classes, without those that overlap a better one.",
        "boxes scores clip_window? num_valid_boxes? > "
        "nmsed_boxes nmsed_scores nmsed_classes nmsed_num",
        form="T T T i32 > T T T i32",
        attributes=attributes(
            score_threshold=Needed.FLOAT,
            iou_threshold=Needed.FLOAT,
            max_size_per_class=Needed.INT,
            max_total_size=Needed.INT,
            change_coordinate_frame=False,
            transpose_box=False,
            image_size=(),
        ),
        columns=FLOATS,
        kernels="310 310P 610 910 CS: f16; 310B A2 A3 950: f16 f32",
        family="region",
        formula=(
            "of each image and class, by falling score: keep a box unless a kept one overlaps it "
            "by more than iou_threshold\n"
            "overlap = area of the intersection / area of the union; the best max_total_size of "
            "all classes are left"
        ),
    ),
    # Its kernel adds rows of the same sequence of both inputs, those of x1 running faster.
    operator(
        "DynSeqOuter",
        "Each row of a sequence of x2 plus each row of the same sequence of x1.",
        "x1 x2 seq_len1# seq_len2# > y",
        form="T T i32 i32 > T",
        columns=FLOATS,
        kernels="310 310P 310B 910: f16 f32; 610 A2 A3 CS: -",
        family="region",
        formula="y[t] = x1[i] + x2[j], t counts j of each sequence and within it i",
    ),
    operator(
        "MovingSumWithSigmoid",
        "Sums of alpha over the next ksize frames times the sigmoid of energy, beam by beam; 0 where "
        "a beam has frames of other sequences.",
        "alpha energy offset# > y",
        form="T T i32 > T",
        attributes=attributes(ksize=Needed.INT),
        columns=FLOATS,
        kernels="310 310P 310B 910: f16 f32; 610 A2 A3 CS: -",
        family="region",
        formula=(
            "y[beam, frame] = sigmoid(energy) * sum of alpha of frames frame to frame + ksize - 1, as "
            "far as the sequence goes\n"
            "offset has the beams of each sequence, then the frames of each"
        ),
        passes=3 + EXP + DIVISION,
    ),
    operator(
        "EmbeddingBag",
        "Rows of a table looked up and reduced bag by bag; an empty bag gives zeros.",
        "weight indices offsets? per_sample_weights? > y offset2bag? bag_size? max_indices?",
        form="T i32 i32 T > T",
        attributes=attributes(
            mode="mean",
            scale_grad_by_freq=False,
            sparse=False,
            include_last_offset=False,
            padding_idx=-1,
        ),
        columns="f32",
        kernels="310 310B: f16 f32 (f16 i64 i64 f16 > f16) (f32 i64 i64 f32 > f32); "
        "310P 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -; 950: f16 f32 bf16 "
        "(f16 i64 i64 f16 > f16) (f32 i64 i64 f32 > f32) (bf16 i64 i64 bf16 > bf16)",
        family="region",
        formula=(
            "y[b] = sum, mean or largest (mode) of per_sample_weights[i] * weight[indices[i]] "
            "for the i of bag b\n"
            "bag b has the i from offsets[b] to before offsets[b + 1]; 0 of an empty one"
        ),
        picks=True,
    ),
    operator(
        "RoiExtractor",
        "Regions of interest pooled to one size, each from the map that fits its size.",
        # CANN has the maps in front, and an index after the rois.
        "rois features* > y",
        form="T T > T",
        attributes=attributes(
            finest_scale=56,
            roi_scale_factor=0.0,
            spatial_scale=(0.25, 0.125, 0.0625, 0.03125),
            pooled_height=7,
            pooled_width=7,
            sample_num=0,
            pool_mode="avg",
            aligned=True,
        ),
        columns=FLOATS,
        kernels=Kernels("310 310P 310B 910 A2 A3: f16 f32; 610 CS: -"),
        family="region",
        formula=(
            "y[r] = ROIAlign of region r on map floor(log2(sqrt(w * h) / finest_scale + 1e-6))\n"
            "the number is held to those of the maps; regions are scaled by roi_scale_factor "
            "around their middle"
        ),
        takes=Layout.IMAGE,
        picks=True,
    ),
)
