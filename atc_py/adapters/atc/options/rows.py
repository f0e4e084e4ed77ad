"""The rows of atc's options, by subject."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind
from atc_py.options.compile_options import PrecisionMode

MODEL = (
    AtcOption("help", "prints the options and stops", kind=ValueKind.SWITCH, values=("true", "false")),
    AtcOption("h", "is `--help`", kind=ValueKind.SWITCH, values=("true", "false")),
    AtcOption(
        "mode",
        "0 compiles, 1 and 5 write a graph as JSON, 3 checks without compiling, 6 shows the "
        "facts of an offline model; 7 and 30 are refused",
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
        "becomes `--input_shape` with ranges; atc calls it deprecated, which is printed",
        keyword="input_shape",
    ),
    AtcOption(
        "input_hint_shape",
        "shapes for tuning; its form is checked",
        Treatment.NO_MEANING,
        since=Since.V8_5,
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

TARGET = (
    AtcOption(
        "output",
        "the offline model without its suffix, which is always appended: `x` and `x.om` become "
        "`x.om` and `x.om.om`. Missing folders are made. A model with open dims is called "
        "`x_linux_x86_64.om`",
        keyword="output",
    ),
    AtcOption(
        "output_type", "a dtype for all outputs, or `node:index:TYPE` for those that --out_nodes names",
    ),
    AtcOption("out_nodes", "values that become the outputs, in this order"),
    AtcOption(
        "is_output_adjust_hw_layout",
        "would return those outputs as NC1HWC0",
        Treatment.REFUSED,
        neutral=("", "false"),
        hint="leave it out and take NCHW; the values are the same",
        late=True,
    ),
    AtcOption("soc_version", "the SoC to compile for"),
    AtcOption(
        "core_type",
        "AiCore is modeled, VectorCore alone is not",
        Treatment.REFUSED,
        default="AiCore",
        values=("AiCore", "VectorCore"),
        code="E10001",
        neutral=("AiCore",),
        hint="leave it out: a network with products needs the AI Core",
    ),
    AtcOption("aicore_num", "all cores are used; results do not depend on it", Treatment.NO_MEANING),
    AtcOption(
        "virtual_type", "results on a virtual device are the same", Treatment.NO_MEANING, default="0",
        values=("0", "1"), code="E10001", kind=ValueKind.NUMBER, since=Since.V8_5,
    ),
    AtcOption(
        "external_weight",
        "the offline model keeps its weights; it computes the same",
        Treatment.NO_MEANING,
        default="0",
        values=("0", "1", "2"),
        code="E10006",
        since=Since.V8_5,
    ),
    AtcOption(
        "save_original_model",
        "no second model is written; the ONNX file is the original",
        Treatment.NO_MEANING,
        values=("true", "false"),
        code="E10005",
        late=True,
    ),
    AtcOption(
        "check_report", "the report of mode 3, and of mode 0 where a node is refused",
        default="check_result.json",
    ),
    AtcOption("json", "the document that modes 1 and 5 write"),
    AtcOption(
        "dump_mode", "mode 1 of an ONNX file: 1 writes the graph with inferred shapes", default="0",
        values=("0", "1"), code="E10006",
    ),
    AtcOption(
        "display_model_info", "1 shows after a compilation what mode 6 shows", default="0",
        values=("0", "1"), code="E10006",
    ),
    AtcOption(
        "host_env_os", "decides the name of a model with open dims", values=("linux", "minios"),
        code="E10001", since=Since.V8_5, late=True,
    ),
    AtcOption(
        "host_env_cpu", "decides the name of a model with open dims",
        values=("x86_64", "aarch64", "arm64", "arm"), code="E10001", since=Since.V8_5, late=True,
    ),
)  # fmt: skip

_QUANTIZE = "quantize the ONNX model with AMCT before it is compiled"

PRECISION = (
    AtcOption(
        "precision_mode",
        "how dtypes may change; force_fp16 where it is not given",
        code="E10001",
    ),
    AtcOption(
        "precision_mode_v2",
        "the same under newer names; mixed_hif8 and cube_hif8 are refused",
        values=(*PrecisionMode.second_names(), "mixed_hif8", "cube_hif8"),
        code="E10001",
        since=Since.V8_5,
    ),
    AtcOption("modify_mixlist", "moves operators between the lists of the mixed modes"),
    AtcOption("keep_dtype", "nodes that keep the model's dtypes"),
    AtcOption("customize_dtypes", "dtypes by node or operator", since=Since.V8_5),
    AtcOption("op_precision_mode", "implementations by operator or node"),
    AtcOption(
        "op_select_implmode",
        "the implementation of the operators in --optypelist_for_implmode, or of all with "
        "`_for_all`; without that list atc uses one of its own that is not published: "
        "high_precision is used for all",
        keyword="implementations",
        values=(
            "high_precision", "high_performance", "high_precision_for_all",
            "high_performance_for_all",
        ),
        code="E10001",
    ),
    AtcOption("optypelist_for_implmode", "operators that --op_select_implmode applies to",
              keyword="implementations"),
    AtcOption(
        "allow_hf32", "whether float32 products round to HF32 where the SoC has it",
        code="E10005", since=Since.V8_5, late=True,
    ),
    AtcOption(
        "is_weight_clip", "clamps weights that become narrower to finite values",
        default="1", code="E10006", since=Since.V8_5, late=True,
    ),
    AtcOption(
        "quant_dumpable",
        "would keep AscendQuant and AscendDequant apart",
        Treatment.REFUSED,
        values=("0", "1"),
        code="E10006",
        neutral=("", "0"),
        hint="switch off the passes with --fusion_switch_file; `atc-py compare` shows the layers",
        since=Since.V8_5,
        late=True,
    ),
    AtcOption(
        "compression_optimize_conf", "would quantize the model on a device", Treatment.REFUSED,
        neutral=("",), hint=_QUANTIZE, since=Since.V8_5,
    ),
    AtcOption(
        "sparsity", "weights stay as they are, sparse or not", Treatment.NO_MEANING, default="0",
        values=("0", "1"), code="E10006", kind=ValueKind.NUMBER, since=Since.V8_5,
    ),
    AtcOption(
        "enable_compress_weight", "weights are compressed without loss on the device",
        Treatment.NO_MEANING, default="false", values=("true", "false"), code="E10005", late=True,
    ),
    AtcOption("compress_weight_conf", "the same, by node", Treatment.NO_MEANING),
    AtcOption(
        "enable_attr_compression", "attributes are not compressed", Treatment.NO_MEANING,
        default="true", values=("true", "false"), code="E10005", since=Since.V9_0, late=True,
    ),
)  # fmt: skip

_ORDER = "the order of launches changes no result"
_TUNING = "tuning changes how fast kernels are, not what they compute"
_CLUSTER = "one device is modeled"

BUILDING = (
    AtcOption("fusion_switch_file", "switches passes on and off"),
    AtcOption(
        "optimization_switch", "switches single passes off, `Name:off;Other:on`; takes "
        "precedence over the file", keyword="disable_pass", since=Since.V9_2,
    ),
    AtcOption(
        "oo_level", "O1 leaves out all passes that can be switched off", keyword="disable_pass",
        default="O3", values=("O1", "O3"), code="E10001", since=Since.V8_5, late=True,
    ),
    AtcOption(
        "oo_constant_folding", "would compute constants on the device", Treatment.REFUSED,
        default="true", values=("true", "false"), code="E10001", neutral=("true",),
        hint="leave it out; constants are folded in float32", since=Since.V8_5, shown=False,
    ),
    AtcOption(
        "oo_dead_code_elimination", "nodes without use change no result", Treatment.NO_MEANING,
        default="true", values=("true", "false"), code="E10001", since=Since.V8_5, shown=False,
    ),
    AtcOption(
        "disable_reuse_memory", "1 gives every value its own address",
        default="0", code="E10006", kind=ValueKind.NUMBER,
    ),
    AtcOption(
        "enable_small_channel", "1 stores filters of at most 4 channels with 4 channels for each tap",
        default="0", code="E10006", late=True,
    ),
    AtcOption(
        "buffer_optimize", "buffers on the chip change no result", Treatment.NO_MEANING,
        default="l2_optimize", values=("l1_optimize", "l2_optimize", "off_optimize"), code="E10001",
    ),
    AtcOption("enable_single_stream", _ORDER, Treatment.NO_MEANING, values=("true", "false"),
              code="E10005", late=True),
    AtcOption("ac_parallel_enable", _ORDER, Treatment.NO_MEANING, default="0", values=("0", "1"),
              code="E10006", since=Since.V8_5, late=True),
    AtcOption("tiling_schedule_optimize", _ORDER, Treatment.NO_MEANING, default="0",
              values=("0", "1"), code="E10006", since=Since.V8_5, late=True),
    AtcOption("topo_sorting_mode", _ORDER, Treatment.NO_MEANING, values=("", "0", "1", "2", "3"),
              code="E10001", since=Since.V8_5, shown=False),
    AtcOption("multi_stream_parallel_mode", _ORDER, Treatment.NO_MEANING, since=Since.V8_5,
              shown=False),
    AtcOption("h2d_overlapped_with_compute", _ORDER, Treatment.NO_MEANING, since=Since.V9_2),
    AtcOption("static_model_ops_lower_limit", _ORDER, Treatment.NO_MEANING, since=Since.V9_2),
    AtcOption("atomic_clean_policy", "memory is always cleared in time", Treatment.NO_MEANING,
              default="0", values=("0", "1"), code="E10006", since=Since.V8_5),
    AtcOption("jit_compile", "kernels are always compiled ahead", Treatment.NO_MEANING, default="1",
              values=("0", "1", "2"), code="E10001", since=Since.V9_2),
    AtcOption(
        "shape_generalized_build_mode", "dims stay as --input_shape says", Treatment.NO_MEANING,
        default="shape_precise", values=("shape_generalized", "shape_precise"), code="E10001",
        since=Since.V8_5,
    ),
    AtcOption(
        "deterministic", "results never depend on the order of threads", Treatment.NO_MEANING,
        default="0", values=("0", "1"), code="E10006", since=Since.V8_5,
    ),
    AtcOption(
        "deterministic_level", "results never depend on the order of threads", Treatment.NO_MEANING,
        default="0", values=("0", "1", "2", "3"), code="E10001", since=Since.V9_0,
    ),
    AtcOption(
        "auto_tune_mode", "newer releases refuse it with E10001, and so does atc-py: leave it out",
        Treatment.REFUSED, neutral=("",), hint="leave it out; tuning changes no result",
    ),
    AtcOption("mdl_bank_path", _TUNING, Treatment.NO_MEANING),
    AtcOption("op_bank_path", _TUNING, Treatment.NO_MEANING),
    AtcOption("cluster_config", _CLUSTER, Treatment.NO_MEANING, since=Since.V8_5),
    AtcOption("hccl_sub_comm_config", _CLUSTER, Treatment.NO_MEANING, since=Since.V9_1),
    AtcOption(
        "raw_ge_options", "options under the graph engine's names, in JSON; the command line "
        "takes precedence, then the levels graph, session and global", since=Since.V9_2,
    ),
    AtcOption(
        "raw_ge_options_ignore_unsupported", "ignores entries of that file that are not options of atc", kind=ValueKind.SWITCH,
        default="false", values=("true", "false"), since=Since.V9_2,
    ),
    AtcOption("build_config", "settings of the graph engine", Treatment.REFUSED, neutral=("",),
              hint="leave it out", since=Since.V9_2, shown=False),
)  # fmt: skip

_NO_COMPILER = "the simulator needs no compiled kernels"

DEBUGGING = (
    AtcOption(
        "log", "there are no log files; diagnostics are printed", Treatment.NO_MEANING, default="null",
        values=("debug", "info", "warning", "error", "null"), code="E10010",
    ),
    AtcOption("debug_dir", "`atc-py convert --kernels` writes the kernels", Treatment.NO_MEANING),
    AtcOption(
        "op_debug_level", _NO_COMPILER, Treatment.NO_MEANING, default="0",
        values=("0", "1", "2", "3", "4"), code="E10001", kind=ValueKind.NUMBER,
    ),
    AtcOption("op_debug_config", _NO_COMPILER, Treatment.NO_MEANING, since=Since.V8_5),
    AtcOption("op_compiler_cache_dir", _NO_COMPILER, Treatment.NO_MEANING),
    AtcOption(
        "op_compiler_cache_mode", _NO_COMPILER, Treatment.NO_MEANING, default="disable",
        values=("enable", "disable", "force"), code="E10001",
    ),
    AtcOption(
        "status_check", "the simulator reports infinities and NaN itself", Treatment.NO_MEANING,
        default="0", values=("0", "1"), code="E10006", since=Since.V8_5,
    ),
    AtcOption("device_id", "atc has no use for it either", Treatment.NO_MEANING, default="0",
              shown=False),
    AtcOption(
        "export_compile_stat", "fusion_result.json in the working directory; 0 writes none",
        default="1", values=("0", "1", "2"), code="E10006", since=Since.V8_5, shown=False,
    ),
)  # fmt: skip
