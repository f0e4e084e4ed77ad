"""Options on dtypes and arithmetic."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind
from atc_py.options.compile_options import PrecisionMode

_QUANTIZE = "quantize the ONNX model with AMCT before it is compiled"

ROWS = (
    AtcOption(
        "precision_mode",
        "how dtypes may change; force_fp16 where it is not given",
        code="E10001",
    ),
    AtcOption(
        "precision_mode_v2",
        "the same by newer names; mixed_hif8 and cube_hif8 are refused",
        values=(*PrecisionMode.second_names(), "mixed_hif8", "cube_hif8"),
        code="E10001",
        since=Since.NEW,
    ),
    AtcOption("modify_mixlist", "moves operators between the lists of the mixed modes"),
    AtcOption("keep_dtype", "nodes that keep the model's dtypes"),
    AtcOption("customize_dtypes", "dtypes by node or operator", since=Since.NEW),
    AtcOption("op_precision_mode", "implementations by operator or node"),
    AtcOption(
        "op_select_implmode",
        "the implementation of the operators of --optypelist_for_implmode, of all with `_for_all`; alone, "
        "atc takes a list of its own that is not published: high_precision is taken for all",
        keyword="implementations",
        values=(
            "high_precision", "high_performance", "high_precision_for_all",
            "high_performance_for_all",
        ),
        code="E10001",
    ),
    AtcOption("optypelist_for_implmode", "operators that --op_select_implmode is about",
              keyword="implementations"),
    AtcOption(
        "allow_hf32", "whether float32 products round to HF32 where the SoC has it",
        code="E10005", since=Since.NEW, late=True,
    ),
    AtcOption(
        "is_weight_clip", "clamps weights that become narrower to finite values",
        default="1", code="E10006", since=Since.NEW, late=True,
    ),
    AtcOption(
        "quant_dumpable",
        "would keep AscendQuant and AscendDequant apart",
        Treatment.REFUSED,
        values=("0", "1"),
        code="E10006",
        neutral=("", "0"),
        hint="switch off the passes with --fusion_switch_file; `atc-py compare` shows the layers",
        since=Since.NEW,
        late=True,
    ),
    AtcOption(
        "compression_optimize_conf", "would quantize the model on a device", Treatment.REFUSED,
        neutral=("",), hint=_QUANTIZE, since=Since.NEW,
    ),
    AtcOption(
        "sparsity", "weights stay as they are, sparse or not", Treatment.NO_MEANING, default="0",
        values=("0", "1"), code="E10006", kind=ValueKind.NUMBER, since=Since.NEW,
    ),
    AtcOption(
        "enable_compress_weight", "weights are compressed without loss on the device",
        Treatment.NO_MEANING, default="false", values=("true", "false"), code="E10005", late=True,
    ),
    AtcOption("compress_weight_conf", "the same, by node", Treatment.NO_MEANING),
    AtcOption(
        "enable_attr_compression", "attributes are not compressed", Treatment.NO_MEANING,
        default="true", values=("true", "false"), code="E10005", since=Since.NEW, late=True,
    ),
)  # fmt: skip
