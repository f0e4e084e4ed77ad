"""Options on passes, memory, tuning and clusters."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind

_ORDER = "the order of launches changes no result"
_TUNING = "tuning changes how fast kernels are, not what they compute"
_CLUSTER = "one device is modeled"

ROWS = (
    AtcOption("fusion_switch_file", "switches passes on and off"),
    AtcOption(
        "optimization_switch", "switches single passes off, `Name:off;Other:on`; it counts more than "
        "the file", keyword="disable_pass", since=Since.NEW,
    ),
    AtcOption(
        "oo_level", "O1 leaves out all passes that can be switched off", keyword="disable_pass",
        default="O3", values=("O1", "O3"), code="E10001", since=Since.NEW, late=True,
    ),
    AtcOption(
        "oo_constant_folding", "would compute constants on the device", Treatment.REFUSED,
        default="true", neutral=("", "true"), hint="leave it out; constants are folded in float32",
        since=Since.NEW, shown=False,
    ),
    AtcOption(
        "oo_dead_code_elimination", "nodes without use change no result", Treatment.NO_MEANING,
        default="true", since=Since.NEW, shown=False,
    ),
    AtcOption(
        "disable_reuse_memory", "1 gives every value its own address",
        default="0", code="E10006", kind=ValueKind.NUMBER,
    ),
    AtcOption(
        "enable_small_channel", "1 stores filters of at most 4 channels with 4 for each tap",
        default="0", code="E10006", late=True,
    ),
    AtcOption(
        "buffer_optimize", "buffers on the chip change no result", Treatment.NO_MEANING,
        default="l2_optimize", values=("l1_optimize", "l2_optimize", "off_optimize"), code="E10001",
    ),
    AtcOption("enable_single_stream", _ORDER, Treatment.NO_MEANING, values=("true", "false"),
              code="E10005", late=True),
    AtcOption("ac_parallel_enable", _ORDER, Treatment.NO_MEANING, default="0", values=("0", "1"),
              code="E10006", since=Since.NEW, late=True),
    AtcOption("tiling_schedule_optimize", _ORDER, Treatment.NO_MEANING, default="0",
              values=("0", "1"), code="E10006", since=Since.NEW, late=True),
    AtcOption("topo_sorting_mode", _ORDER, Treatment.NO_MEANING, since=Since.NEW, shown=False),
    AtcOption("multi_stream_parallel_mode", _ORDER, Treatment.NO_MEANING, since=Since.NEW,
              shown=False),
    AtcOption("h2d_overlapped_with_compute", _ORDER, Treatment.NO_MEANING, since=Since.NEW),
    AtcOption("static_model_ops_lower_limit", _ORDER, Treatment.NO_MEANING, since=Since.NEW),
    AtcOption("atomic_clean_policy", "memory is always cleared in time", Treatment.NO_MEANING,
              default="0", values=("0", "1"), code="E10006", since=Since.NEW),
    AtcOption("jit_compile", "kernels are always compiled ahead", Treatment.NO_MEANING, default="1",
              values=("0", "1", "2"), code="E10001", since=Since.NEW),
    AtcOption(
        "shape_generalized_build_mode", "dims stay as --input_shape says", Treatment.NO_MEANING,
        default="shape_precise", values=("shape_generalized", "shape_precise"), code="E10001",
        since=Since.NEW,
    ),
    AtcOption(
        "deterministic", "results never depend on the order of threads", Treatment.NO_MEANING,
        default="0", values=("0", "1"), code="E10006", since=Since.NEW,
    ),
    AtcOption(
        "deterministic_level", "results never depend on the order of threads", Treatment.NO_MEANING,
        default="0", values=("0", "1", "2", "3"), code="E10001", since=Since.NEW,
    ),
    AtcOption(
        "auto_tune_mode", "newer releases refuse it with E10001, and so does atc-py: leave it out",
        Treatment.REFUSED, neutral=("",), hint="leave it out; tuning changes no result",
    ),
    AtcOption("mdl_bank_path", _TUNING, Treatment.NO_MEANING),
    AtcOption("op_bank_path", _TUNING, Treatment.NO_MEANING),
    AtcOption("cluster_config", _CLUSTER, Treatment.NO_MEANING, since=Since.NEW),
    AtcOption("hccl_sub_comm_config", _CLUSTER, Treatment.NO_MEANING, since=Since.NEW),
    AtcOption(
        "raw_ge_options", "a file without options is accepted; others would need the graph engine",
        Treatment.REFUSED, neutral=("",), hint="give the option of atc that means the same, or "
        "--raw_ge_options_ignore_unsupported to have the file ignored", since=Since.NEW,
    ),
    AtcOption(
        "raw_ge_options_ignore_unsupported", "ignores the options of that file", kind=ValueKind.SWITCH,
        default="false", values=("true", "false"), since=Since.NEW,
    ),
    AtcOption("build_config", "settings of the graph engine", Treatment.REFUSED, neutral=("",),
              hint="leave it out", since=Since.NEW, shown=False),
)  # fmt: skip
