"""atc's checks of options against one another and the file system, in its order; the first that fails counts."""

import re
from typing import Any

from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.options import FIELDS, OPTIONS
from atc_py.adapters.atc.paths import check_output, check_path_text, check_readable
from atc_py.adapters.atc.shapes import check_hint, input_shape_text
from atc_py.adapters.atc.tokens import Flags, refused_value
from atc_py.diag import NOT_MODELED, OPTIONS_EXCLUDE, AtcError
from atc_py.options.compile_options import PrecisionMode, select_gears
from atc_py.text import Text

_NOT_MODELED = ("HIF8", "HIF4", "FP8E5M2", "FP8E4M3FN")
_TYPES = (
    "FP32", "FP16", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64",
    "DOUBLE",
)  # fmt: skip
"""Names of dtypes; the later ones are in atc's documents and not in its newest table [D]."""

_LARGEST = 2**31 - 1
_PARTS = 3


def check_output_type(flags: Flags) -> None:
    """Check --output_type: its form, dtypes, and that --out_nodes has the outputs that it names."""
    text = flags["output_type"]
    if not text:
        return
    if ":" not in text:
        _check_type(text, text)
        return
    named = {each.strip() for each in flags["out_nodes"].split(";")}
    for entry in filter(None, (each.strip() for each in text.split(";"))):
        parts = [part.strip() for part in entry.split(":")]
        if len(parts) != _PARTS:
            raise _invalid_type(text, f"{entry!r} is not `node:index:TYPE`")
        node, index, dtype = parts
        if not (index.isascii() and index.isdigit()):
            raise _invalid_type(text, f"the index {index!r} of {node!r} is not a number")
        if len(index) > len(str(_LARGEST)) or int(index) > _LARGEST:
            raise atc_error("E10013", index[:20], "output_type", option="output_type")
        _check_type(dtype, text)
        if f"{node}:{index}" not in named:
            raise _invalid_type(text, f"{node}:{index} is not among --out_nodes")


def _check_type(name: str, text: str) -> None:
    if name in _NOT_MODELED:
        raise atc_error(
            "E10055", f"the dtype {name} of Ascend950", code=NOT_MODELED, option="output_type",
            help=Text("give FP16 or FP32"),
        )  # fmt: skip
    if name not in _TYPES:
        raise _invalid_type(
            text, Text("{name} is none of {types}", name=repr(name), types=", ".join(_TYPES))
        )


def _invalid_type(text: str, reason: str) -> Exception:
    help_ = Text('write --output_type=FP16, or "Conv_0:0:FP16" beside --out_nodes="Conv_0:0"')
    return invalid_value("output_type", text, reason, help_)


_CAFFE, _MINDSPORE, _TENSORFLOW = "0", "1", "3"
_UNSET = "-1"
_FRAMEWORKS = {_CAFFE: "Caffe", _MINDSPORE: "MindSpore", _TENSORFLOW: "TensorFlow"}
_ONLY_MODE_30 = "Ascend035"
_SECOND = PrecisionMode.second_names()
_MIXED = {mode.value for mode in PrecisionMode if mode.is_mixed} | {
    "mixed_hif8", *(name for name, mode in _SECOND.items() if mode.is_mixed)
}  # fmt: skip


def check_before_modes(flags: Flags) -> None:
    """Check what concerns every mode: --auto_tune_mode, and how deterministic results are."""
    if flags["auto_tune_mode"]:
        raise _invalid(
            flags,
            "auto_tune_mode",
            "tuning has left atc",
            Text("leave it out; it changes no result"),
        )
    if "deterministic_level" in flags:
        zero = flags["deterministic"] == "0", flags["deterministic_level"] == "0"
        if zero[0] != zero[1]:
            raise _invalid(
                flags,
                "deterministic_level",
                f"it must be 0 where --deterministic is 0, and only there; that is "
                f"{flags['deterministic']}",
                Text("leave both out: results never depend on the order of threads here"),
            )


def check_framework(flags: Flags) -> None:
    """Check the framework against the mode, and refuse those besides ONNX."""
    framework, mode = flags["framework"], flags["mode"]
    if mode == "1" and framework == _MINDSPORE:
        raise _invalid(
            flags, "framework", "mode 1 takes 0, 3 and 5", Text("leave it out for an .om")
        )
    _check_files(flags, "weight")
    if mode in {"0", "3", "30"}:
        if framework == _UNSET:
            raise refused_value(OPTIONS["framework"], "")
        if framework == _CAFFE and not flags["weight"]:
            raise atc_error("E10008", option="weight")
    is_035 = flags["soc_version"].startswith(_ONLY_MODE_30)
    if mode in {"0", "3", "7", "30"} and (mode == "30") is not is_035:
        reason = f"--mode={mode} with --soc_version={flags['soc_version']}"
        raise atc_error(
            "E10055",
            reason,
            code=NOT_MODELED,
            help=Text("mode 30 and Ascend035 must be used together"),
        )
    if framework in _FRAMEWORKS and mode in {"0", "1", "3", "30"}:
        raise atc_error(
            "E10055",
            f"--framework={framework}, {_FRAMEWORKS[framework]}; atc-py reads ONNX alone",
            code=NOT_MODELED,
            option="framework",
            help=Text("convert the network to ONNX and give --framework=5"),
        )


def required(flags: Flags, name: str, code: str = "E10054") -> str:
    """The value of an option that must have one."""
    if not flags[name]:
        raise atc_error(
            code,
            name,
            option=name,
            help=Text("give --{name}: {words}", name=name, words=Text(OPTIONS[name].words)),
        )
    return flags[name]


def check_compilation(flags: Flags) -> None:
    """Check the options of a compilation, or of mode 3, in atc's order."""
    _check_late(flags, "input_format")
    required(flags, "soc_version")
    if flags["mode"] != "3":
        required(flags, "output")
    check_readable("model", required(flags, "model"))
    if flags["output"]:
        check_output(flags["output"])
    check_precision(flags)
    check_hint(flags)
    _check_inputs(flags)
    _check_files(flags, "weight", "cal_conf", "insert_op_conf", "op_name_map")
    _check_late(flags, "enable_compress_weight")
    if flags["enable_compress_weight"] == "true" and flags["compress_weight_conf"]:
        raise _both("E10047", "enable_compress_weight", "compress_weight_conf")
    _check_files(flags, "keep_dtype", "customize_dtypes")
    check_path_text("check_report", flags["check_report"])
    _check_rest(flags)


def spelled_keywords(flags: Flags) -> dict[str, Any]:
    """The keywords of `convert` for the options that are ones of `convert` in another spelling.

    Modes that do not check a value leave one out that the option does not have.
    """
    return {
        option.keyword: text if option.values is None else option.values.get(text, text)
        for name, option in FIELDS.items()
        if (text := flags[name] or option.default)
        and (option.values is None or text in {*option.values, *OPTIONS[name].values})
    }


def check_precision(flags: Flags) -> None:
    """Check the choice of implementations, the precision modes and the lists of the mixed ones."""
    if flags["optypelist_for_implmode"] and not flags["op_select_implmode"]:
        raise _invalid(
            flags,
            "optypelist_for_implmode",
            "it needs --op_select_implmode",
            Text("give --op_select_implmode=high_precision or high_performance"),
        )
    _check_files(flags, "op_precision_mode")
    _check_late(flags, "is_weight_clip")
    both = flags["precision_mode"], flags["precision_mode_v2"]
    if all(both):
        raise _both("E10056", "precision_mode", "precision_mode_v2")
    if flags["modify_mixlist"] and _MIXED.isdisjoint(both):
        raise _invalid(
            flags,
            "modify_mixlist",
            "it needs one of the mixed precision modes",
            Text("give --precision_mode=allow_mix_precision"),
        )
    _check_files(flags, "modify_mixlist")


def _check_inputs(flags: Flags) -> None:
    if len(flags.gears) > 1:
        raise atc_error(
            "E10009", code=OPTIONS_EXCLUDE, option=flags.gears[1],
            help=Text("give one of them; --dynamic_dims varies any dims together"),
        )  # fmt: skip
    select_gears({**spelled_keywords(flags), "input_shape": input_shape_text(flags)})
    if flags["insert_op_conf"] and flags["dynamic_dims"]:
        raise _invalid(
            flags,
            "insert_op_conf",
            "AIPP cannot stand beside --dynamic_dims",
            Text("give --dynamic_batch_size or --dynamic_image_size"),
        )


def _check_rest(flags: Flags) -> None:
    names = (
        "save_original_model", "enable_single_stream", "ac_parallel_enable",
        "tiling_schedule_optimize", "host_env_os", "host_env_cpu", "allow_hf32", "quant_dumpable",
        "enable_attr_compression", "enable_small_channel", "oo_level",
    )  # fmt: skip
    for name in names:
        _check_late(flags, name)
    for name, (form, reason) in _FORMS.items():
        if flags[name] and re.fullmatch(form, flags[name]) is None:
            raise _invalid(flags, name, reason, Text("leave it out: it changes no result"))
    limit = flags["static_model_ops_lower_limit"]
    if limit and (re.fullmatch(r"-1|\d+", limit) is None):
        raise _invalid(
            flags, "static_model_ops_lower_limit", "it must be -1 or more", Text("leave it out")
        )
    for name in ("is_input_adjust_hw_layout", "is_output_adjust_hw_layout"):
        for each in filter(None, (part.strip() for part in flags[name].split(","))):
            if each not in {"true", "false"}:
                raise atc_error("E10005", each, name, option=name)
    check_output_type(flags)


_FORMS = {
    "aicore_num": (
        r"(0|[1-9]\d*)(\|(0|[1-9]\d*)?)?",
        Text("it must be a number of AI Cores, or of cube and vector cores with | between them"),
    ),
    "multi_stream_parallel_mode": (
        r"cv|(LoadBalance|MainStream):(6[0-4]|[1-5]\d|[1-9])",
        Text("it must be cv, LoadBalance:N or MainStream:N, N from 1 to 64"),
    ),
    "h2d_overlapped_with_compute": (
        r"[01]|\d+(,\d+)*,?",
        Text("it must be 0, 1, or boundaries with commas between them"),
    ),
}
"""What atc takes of options whose values are no list, with what it says of others."""


def _check_files(flags: Flags, *names: str) -> None:
    for name in names:
        if flags[name]:
            check_readable(name, flags[name])


def _check_late(flags: Flags, name: str) -> None:
    option, value = OPTIONS[name], flags[name]
    if value and value not in option.values:
        raise refused_value(option, value)


def _both(code: str, first: str, second: str) -> AtcError:
    return atc_error(
        code, f"--{first}", f"--{second}", code=OPTIONS_EXCLUDE, option=second,
        help=Text("give one of them"),
    )  # fmt: skip


def _invalid(flags: Flags, name: str, reason: str, hint: Text) -> AtcError:
    return invalid_value(name, flags[name], reason, hint)
