"""What the operators that ONNX does not define become."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import PRODUCTS, Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    DIVISION,
    EXP,
    FLOATS,
    I32,
    UNDECIDED,
    columns,
    operands,
)
from atc_py.target.soc import Resource
from atc_py.target.vector import Form, VectorFunction

ROWS = (
    TargetOp(
        "AdaptiveMaxPool2d",
        *operands("x > y argmax"),
        "Largest value of windows that divide an image into rows and columns, and where it stands.",
        attributes=(Attribute("output_size", "ints"),),
        columns=columns("f16", "T > T i32"),
        kernels=on("310 310P 310B 610 910 A2 A3: f16; CS: -; 950: f16 f32 bf16", "T > T i32"),
        aicpu=columns("f32 f64", "T > T i32"),
        family="region",
        selects=True,
        formula=(
            "y[i, j] = largest x of rows floor(i * H / h) to ceil((i + 1) * H / h) and of "
            "columns alike\n"
            "argmax[i, j] = its place in the plane of H x W"
        ),
        takes=Layout.IMAGE,
    ),
    TargetOp(
        "Addcmul",
        *operands("input_data x1 x2 value > y"),
        "A tensor plus the product of two others and a factor, all broadcast.",
        columns=columns("f16 f32 i32 i8 u8", "T T T T > T"),
        kernels=on("310 310P 310B 910 A3: ?; A2 950: f16 f32 bf16 i32; 610 CS: -"),
        aicpu=columns("f16 f32 i32 i8 u8"),
        family="binary",
        passes=2.0,
        vector=VectorFunction(Form.BINARY, native=(I32,), rounded_once=True, linked=False),
    ),
    TargetOp(
        "BatchMatMul",
        *operands("x1 x2 > y"),
        "Products of two stacks of matrices, pair by pair.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("adj_x1", "bool", default=False),
            Attribute("adj_x2", "bool", default=False),
            PRODUCTS,
        ),
        columns=(
            *columns("f16", "T T > T"),
            *columns("f32", "T T > T", Resource.CUBE_FLOAT32),
        ),
        kernels=on(f"{UNDECIDED}; 950: f16 f32 bf16", "T T > T"),
        aicpu=columns("f32 i32"),
        family="matmul",
    ),
    TargetOp(
        "BatchMultiClassNonMaxSuppression",
        *operands(
            "boxes scores clip_window? num_valid_boxes? > "
            "nmsed_boxes nmsed_scores nmsed_classes nmsed_num"
        ),
        "The best boxes of each image over all classes, without those that overlap a better one.",
        attributes=(
            Attribute("score_threshold", "float"),
            Attribute("iou_threshold", "float"),
            Attribute("max_size_per_class", "int"),
            Attribute("max_total_size", "int"),
            Attribute("change_coordinate_frame", "bool", default=False),
            Attribute("transpose_box", "bool", default=False),
            Attribute("image_size", "ints", ()),
        ),
        columns=columns(FLOATS, "T T T i32 > T T T i32"),
        kernels=on("310 310P 610 910 CS: f16; 310B A2 A3 950: f16 f32", "T T T i32 > T T T i32"),
        family="region",
        formula=(
            "of each image and class, by falling score: keep a box unless a kept one overlaps it "
            "by more than iou_threshold\n"
            "overlap = area of the intersection / area of the union; the best max_total_size of "
            "all classes are left"
        ),
    ),
    # Its kernel adds rows of the same sequence of both inputs, those of x1 running faster.
    TargetOp(
        "DynSeqOuter",
        *operands("x1 x2 seq_len1# seq_len2# > y"),
        "Each row of a sequence of x2 plus each row of the same sequence of x1.",
        columns=columns(FLOATS, "T T i32 i32 > T"),
        kernels=on("310 310P 310B 910: f16 f32; 610 A2 A3 CS: -", "T T i32 i32 > T"),
        family="region",
        formula="y[t] = x1[i] + x2[j], t counts j of each sequence and within it i",
    ),
    TargetOp(
        "MovingSumWithSigmoid",
        *operands("alpha energy offset# > y"),
        "Sums of alpha over the next ksize frames times the sigmoid of energy, beam by beam; 0 where "
        "a beam has frames of other sequences.",
        attributes=(Attribute("ksize", "int"),),
        columns=columns(FLOATS, "T T i32 > T"),
        kernels=on("310 310P 310B 910: f16 f32; 610 A2 A3 CS: -", "T T i32 > T"),
        family="region",
        formula=(
            "y[beam, frame] = sigmoid(energy) * sum of alpha of frames frame to frame + ksize - 1, as "
            "far as the sequence goes\n"
            "offset has the beams of each sequence, then the frames of each"
        ),
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "EmbeddingBag",
        *operands(
            "weight indices offsets? per_sample_weights? > y offset2bag? bag_size? max_indices?"
        ),
        "Rows of a table looked up and reduced bag by bag; an empty bag gives zeros.",
        attributes=(
            Attribute("mode", "string", "mean"),
            Attribute("scale_grad_by_freq", "bool", default=False),
            Attribute("sparse", "bool", default=False),
            Attribute("include_last_offset", "bool", default=False),
            Attribute("padding_idx", "int", -1),
        ),
        columns=columns("f32", "T i32 i32 T > T"),
        kernels=on(
            "310 310B: f16 f32 (f16 i64 i64 f16 > f16) (f32 i64 i64 f32 > f32); "
            "310P 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -; 950: f16 f32 bf16 "
            "(f16 i64 i64 f16 > f16) (f32 i64 i64 f32 > f32) (bf16 i64 i64 bf16 > bf16)",
            "T i32 i32 T > T",
        ),
        family="region",
        formula=(
            "y[b] = sum, mean or largest (mode) of per_sample_weights[i] * weight[indices[i]] "
            "for the i of bag b\n"
            "bag b has the i from offsets[b] to before offsets[b + 1]; 0 of an empty one"
        ),
        picks=True,
    ),
    TargetOp(
        "RoiExtractor",
        *operands("rois features* > y"),  # CANN: the maps in front, an index after the rois
        "Regions of interest pooled to one size, each from the map that fits its size.",
        attributes=(
            Attribute("finest_scale", "int", 56),
            Attribute("roi_scale_factor", "float", 0.0),
            Attribute("spatial_scale", "floats", (0.25, 0.125, 0.0625, 0.03125)),
            Attribute("pooled_height", "int", 7),
            Attribute("pooled_width", "int", 7),
            Attribute("sample_num", "int", 0),
            Attribute("pool_mode", "string", "avg"),
            Attribute("aligned", "bool", default=True),
        ),
        columns=columns(FLOATS, "T T > T"),
        kernels=on("310 310P 310B 910 A2 A3: f16 f32; 610 CS: -"),
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
