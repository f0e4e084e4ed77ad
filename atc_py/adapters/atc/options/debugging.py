"""Options on logs, caches and debugging."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind

_NO_COMPILER = "the simulator needs no compiled kernels"

ROWS = (
    AtcOption(
        "log", "there are no log files; diagnostics are printed", Treatment.NO_MEANING, default="null",
        values=("debug", "info", "warning", "error", "null"), code="E10010",
    ),
    AtcOption("debug_dir", "`atc-py convert --kernels` writes the kernels", Treatment.NO_MEANING),
    AtcOption(
        "op_debug_level", _NO_COMPILER, Treatment.NO_MEANING, default="0",
        values=("0", "1", "2", "3", "4"), code="E10001", kind=ValueKind.NUMBER,
    ),
    AtcOption("op_debug_config", _NO_COMPILER, Treatment.NO_MEANING, since=Since.NEW),
    AtcOption("op_compiler_cache_dir", _NO_COMPILER, Treatment.NO_MEANING),
    AtcOption(
        "op_compiler_cache_mode", _NO_COMPILER, Treatment.NO_MEANING, default="disable",
        values=("enable", "disable", "force"), code="E10001",
    ),
    AtcOption(
        "status_check", "the simulator reports infinities and NaN itself", Treatment.NO_MEANING,
        default="0", values=("0", "1"), code="E10006", since=Since.NEW,
    ),
    AtcOption("device_id", "atc has no use for it either", Treatment.NO_MEANING, default="0",
              shown=False),
    AtcOption(
        "export_compile_stat", "fusion_result.json in the working directory; 0 writes none",
        default="1", values=("0", "1", "2"), code="E10006", since=Since.NEW, shown=False,
    ),
)  # fmt: skip
