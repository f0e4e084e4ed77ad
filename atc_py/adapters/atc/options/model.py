"""Options on the mode, the model and its inputs."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind

ROWS = (
    AtcOption("help", "prints the options and stops", kind=ValueKind.SWITCH, values=("true", "false")),
    AtcOption("h", "is `--help`", kind=ValueKind.SWITCH, values=("true", "false")),
    AtcOption(
        "mode",
        "0 compiles, 1 and 5 write a graph as JSON, 3 checks without compiling, 6 shows what an "
        "offline model is; 7 and 30 are refused",
        default="0",
        values=("0", "1", "3", "5", "6", "7", "30"),
        code="E10001",
        kind=ValueKind.NUMBER,
    ),
    AtcOption(
        "framework",
        "5, ONNX, is read; the other frameworks are refused: convert such a network to ONNX first",
        default="-1",
        values=("0", "1", "3", "5"),
        code="E10007",
        kind=ValueKind.NUMBER,
    ),
    AtcOption("model", "the ONNX file", keyword="model"),
    AtcOption(
        "weight", "belongs to Caffe; an ONNX file has its weights itself", Treatment.NO_MEANING
    ),
    AtcOption("om", "the offline model of mode 1 or 6, the graph of mode 5"),
    AtcOption(
        "input_shape",
        "dims of inputs; -1 goes with one of the three options on gears, and ranges such as 1~8 are "
        "taken where the network compiles for open dims",
        keyword="input_shape",
    ),
    AtcOption(
        "input_shape_range",
        "becomes `--input_shape` with ranges; atc calls it deprecated, and a line says so",
        keyword="input_shape",
    ),
    AtcOption(
        "input_hint_shape",
        "shapes for tuning; its form is checked",
        Treatment.NO_MEANING,
        since=Since.NEW,
    ),
    AtcOption(
        "input_format",
        "names the axes of inputs for AIPP and gears of image sizes; no data are moved",
        values=("NCHW", "NCDHW", "ND"),
        code="E10001",
        late=True,
    ),
    AtcOption("dynamic_batch_size", "gears of batch sizes in one offline model"),
    AtcOption("dynamic_image_size", "gears of heights and widths in one offline model"),
    AtcOption("dynamic_dims", "gears of any dims in one offline model"),
    AtcOption("insert_op_conf", "AIPP: images are prepared in the model"),
    AtcOption("input_fp16_nodes", "inputs that are fed as float16"),
    AtcOption(
        "is_input_adjust_hw_layout",
        "would feed those inputs as NC1HWC0",
        Treatment.REFUSED,
        neutral=("", "false"),
        hint="leave it out and feed NCHW; the values are the same",
        late=True,
    ),
    AtcOption("op_name_map", "belongs to Caffe", Treatment.NO_MEANING),
    AtcOption(
        "cal_conf",
        "would quantize the model",
        Treatment.REFUSED,
        neutral=("",),
        hint="quantize the ONNX model with AMCT, or bring it into that form with `atc-py quantize`",
        shown=False,
    ),
    AtcOption("target", "atc has no use for it either", Treatment.NO_MEANING, shown=False),
    AtcOption(
        "enable_scope_fusion_passes", "belongs to TensorFlow", Treatment.NO_MEANING
    ),
    AtcOption("singleop", "compiles a list of single operators to offline models"),
)  # fmt: skip
