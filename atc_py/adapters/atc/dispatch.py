"""The modes: which function does the work of a command line, after the checks that atc makes first."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from atc_py.adapters.atc.checks import (
    check_before_modes,
    check_compilation,
    check_framework,
    check_precision,
    required,
)
from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.conversion import (
    compile_options,
    compiled,
    refuse_not_modeled,
    single_op_options,
)
from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.fusion_result import save_fusion_result
from atc_py.adapters.atc.paths import check_path_text
from atc_py.adapters.atc.shapes import RANGE_WARNINGS
from atc_py.adapters.atc.tokens import Flags
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import NOT_MODELED, OPTIONS_EXCLUDE, AtcError
from atc_py.options.compile_options import CheckOptions
from atc_py.options.output_paths import output_file
from atc_py.text import Text


def dispatch(flags: Flags, words: Sequence[str], console: Console) -> None:
    check_before_modes(flags)
    if flags["singleop"]:
        _single_operators(flags)
        return
    check_framework(flags)
    mode = flags["mode"]
    if mode in {"7", "30"}:
        raise atc_error(
            "E10055",
            f"--mode={mode}; its models are for other devices",
            code=NOT_MODELED,
            option="mode",
            help=Text("give --mode=0 for an .om"),
        )
    {
        "0": _compile,
        "1": _to_json,
        "3": _pre_check,
        "5": _to_json,
        "6": _show_info,
    }[mode](flags, words, console)


def _compile(flags: Flags, words: Sequence[str], console: Console) -> None:
    """Mode 0: write the offline model."""
    if flags["input_shape_range"]:
        for line in RANGE_WARNINGS[: 1 + ("input_shape" in flags)]:
            console.say(line)
    check_compilation(flags)
    refuse_not_modeled(flags)
    try:
        done = compiled(flags, words, console.on_stage)
    except RulesBrokenError as error:
        from atc_py.adapters.atc.modes.pre_check import save_failed_check

        try:
            save_failed_check(error.check, _report_path(flags), compile_options(flags))
        except AtcError as unsaved:
            raise AtcError(*error.diagnostics, *unsaved.diagnostics) from error
        raise
    console.warnings.extend(done.warnings)
    if flags["export_compile_stat"] != "0":
        with suppress(AtcError):  # where it cannot be written ATC only logs that
            save_fusion_result(done)
    if flags["display_model_info"] == "1":
        _print_info(done.output, console)


def _pre_check(flags: Flags, _words: Sequence[str], _console: Console) -> None:
    """Mode 3: check the model, write the report."""
    from atc_py.adapters.atc.modes.pre_check import pre_check

    check_compilation(flags)
    refuse_not_modeled(flags)
    options = CheckOptions.of(compile_options(flags))
    pre_check(Path(flags["model"]), _report_path(flags), options)


def _report_path(flags: Flags) -> Path:
    """The file of the report; a folder for atc's own files comes before the default name."""
    folder = os.environ.get("ASCEND_WORK_PATH", "")
    path = flags["check_report"]
    if folder and "check_report" not in flags:
        path = f"{folder}/{path}"
    return output_file(path, [Path(flags["model"])], "--check_report")


def _to_json(flags: Flags, _words: Sequence[str], _console: Console) -> None:
    """Modes 1 and 5: write a model, or a graph in protobuf's text form, as JSON."""
    from atc_py.adapters.atc.modes.model_json import onnx_to_json, save_json, text_to_json
    from atc_py.adapters.atc.modes.own_om import om_to_json

    om, document = _json_files(flags)
    if flags["mode"] == "5":
        text = text_to_json(om)
    elif flags["framework"] == "-1":
        text = om_to_json(om)
    else:
        options = compile_options(flags) if flags["dump_mode"] == "1" else None
        text = onnx_to_json(om, options)
    save_json(text, document)


def _json_files(flags: Flags) -> tuple[Path, Path]:
    """The model and the document; both are reported where both are missing."""
    missing = [name for name in ("om", "json") if not flags[name]]
    if missing:
        errors = (
            atc_error(
                "E10004",
                name,
                option=name,
                help=Text("give --{name}=FILE", name=name),
            )
            for name in missing
        )
        raise AtcError(*(each.diagnostics[0] for each in errors))
    check_path_text("om", flags["om"])
    check_path_text("json", flags["json"])
    om = Path(flags["om"])
    return om, output_file(flags["json"], [om], "--json")


def _show_info(flags: Flags, _words: Sequence[str], console: Console) -> None:
    """Mode 6: show what an offline model is."""
    om = required(flags, "om", "E10004")
    if flags["framework"] != "-1":
        raise atc_error(
            "E10057", "--om", "--mode=6", code=OPTIONS_EXCLUDE, option="framework",
            help=Text("leave out --framework"),
        )  # fmt: skip
    check_path_text("om", om)
    _print_info(Path(om), console)


def _print_info(om: Path, console: Console) -> None:
    from atc_py.adapters.atc.modes.own_om import model_info

    for line in model_info(om):
        console.say(line)


def _single_operators(flags: Flags) -> None:
    from atc_py.adapters.atc.modes.single_operators import compile_single_operators

    output = required(flags, "output")
    required(flags, "soc_version")
    reason = "it cannot stand beside --singleop"
    for name, allowed in (
        ("framework", "-1"), ("insert_op_conf", ""), ("mode", "0"), ("display_model_info", "0"),
    ):  # fmt: skip
        if flags[name] != allowed:
            raise invalid_value(name, flags[name], reason, Text("leave it out"))
    check_path_text("output", output)
    check_precision(flags)
    refuse_not_modeled(flags)
    compile_single_operators(Path(flags["singleop"]), Path(output), single_op_options(flags))
