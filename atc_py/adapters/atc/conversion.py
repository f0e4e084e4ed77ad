"""Mode 0: atc's options as keywords of `convert`."""

from collections.abc import Callable, Sequence
from typing import Any

from atc_py.adapters.atc.checks import spelled_keywords
from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.options import OPTIONS, Treatment
from atc_py.adapters.atc.paths import made_folder, offline_model
from atc_py.adapters.atc.shapes import has_open_dims, input_shape_text
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import NOT_MODELED
from atc_py.options.compile_options import CompileOptions, PrecisionMode
from atc_py.options.option import parse_options
from atc_py.passes.pipeline import PIPELINE, rows_by_name
from atc_py.passes.precision.implementations import ATC_MODES, PRECISE
from atc_py.pipeline.convert import convert
from atc_py.results.conversion import Conversion
from atc_py.system.cache_folders import legible
from atc_py.target import find_soc
from atc_py.text import Text

PROGRAM = "atc-py atc"
"""Name under which a command line is recorded."""

_FORMER_SOCS = {"Ascend910": "Ascend910A", "Ascend710": "Ascend310P3"}
"""Names of older releases, and those that the same SoCs have now [I]."""

_NOT_MODELED_VALUES = {"precision_mode_v2": ("mixed_hif8", "cube_hif8"), "mode": ("7", "30")}


def compiled(
    flags: Flags, words: Sequence[str], on_stage: Callable[[str], None] | None = None
) -> Conversion:
    """Compile the model that the options name."""
    path = offline_model(flags, is_open=has_open_dims(flags))
    keywords = {
        **convert_keywords(flags),
        "atc_cmdline": legible(" ".join((PROGRAM, *words))),
        "graph_name": flags["output"].rpartition("/")[2],
    }
    with made_folder(path):
        return convert(flags["model"], path, on_stage=on_stage, **keywords)


def compile_options(flags: Flags) -> CompileOptions:
    """The options of a compilation that the options say, for modes that write no offline model."""
    return parse_options("atc", CompileOptions, convert_keywords(flags))


def single_op_options(flags: Flags) -> CompileOptions:
    """The options of the compilation of single operators, which have shapes of their own.

    Dtypes are kept where no precision mode is given: the file states those of each operator
    itself [inferred].
    """
    keywords = {**convert_keywords(flags), "input_shape": "", "refuse_as_parser": False}
    if not flags["precision_mode"] and not flags["precision_mode_v2"]:
        keywords["precision_mode"] = PrecisionMode.MUST_KEEP_ORIGIN_DTYPE.value
    return parse_options("atc", CompileOptions, keywords)


def convert_keywords(flags: Flags) -> dict[str, Any]:
    """The keywords of `convert` that the options say, besides files."""
    keywords = spelled_keywords(flags)
    keywords |= {"soc": soc_name(flags), "input_shape": input_shape_text(flags)}
    _check_cores(flags)
    keywords["implementations"] = _implementations(flags)
    keywords["replace_shapes"] = True
    keywords["refuse_as_parser"] = True
    disabled = _switched_off(flags)
    if disabled:
        keywords["disable_pass"] = disabled
    return keywords


def _check_cores(flags: Flags) -> None:
    """Refuse more cores than the SoC has; cube and vector cores may be told apart."""
    given = flags["aicore_num"]
    if not given:
        return
    soc = find_soc(soc_name(flags))
    limits = soc.aicores, soc.vector_cores or soc.aicores
    for number, most in zip(given.split("|"), limits, strict=False):
        if number and float(number) > most:  # int() refuses thousands of digits
            reason = Text("{soc} has {most} of these cores", soc=soc.name, most=most)
            raise invalid_value("aicore_num", given, reason, Text("leave it out"))


def soc_name(flags: Flags) -> str:
    """The name of the SoC, that of today where an older one is given.

    Modes that need none have the generic device.
    """
    name = flags["soc_version"]
    return _FORMER_SOCS.get(name, name) or "sim"


def refuse_not_modeled(flags: Flags) -> None:
    """Refuse options that would change results and are not modeled."""
    for name, value in flags.given.items():
        option = OPTIONS[name]
        refused = option.effect is Treatment.REFUSED and value not in option.neutral
        if name.endswith("_adjust_hw_layout"):
            refused = "true" in value and bool(flags[_SUBJECTS[name]])
        if refused or value in _NOT_MODELED_VALUES.get(name, ()):
            raise atc_error(
                "E10055",
                f"--{name}={value}; {option.words}",
                code=NOT_MODELED,
                option=name,
                help=Text(option.hint or "choose another value"),
            )


_SUBJECTS = {
    "is_input_adjust_hw_layout": "input_fp16_nodes",
    "is_output_adjust_hw_layout": "out_nodes",
}
"""Options without which those on layouts have no effect."""


def _implementations(flags: Flags) -> str:
    """The implementations that --op_select_implmode says, in the form of the keyword.

    high_precision alone means a list of atc's own, which is not published; it is taken for all
    operators [I]. high_performance alone is the default.
    """
    given = flags["op_select_implmode"]
    mode = given.removesuffix("_for_all")
    listed = [each.strip() for each in flags["optypelist_for_implmode"].split(",")]
    if given != mode or (not any(listed) and mode == PRECISE):
        listed = [op for op, modes in ATC_MODES.items() if mode in modes]
    return ";".join(f"{op}={mode}" for op in listed if op and mode)


def _switched_off(flags: Flags) -> tuple[str, ...]:
    """The passes that --oo_level and --optimization_switch turn off, by their names here."""
    off = {row.name for row in PIPELINE if row.optional} if flags["oo_level"] == "O1" else set()
    by_name = rows_by_name()
    for entry in filter(None, (each.strip() for each in flags["optimization_switch"].split(";"))):
        name, _, word = (part.strip() for part in entry.rpartition(":"))
        if word not in {"on", "off"} or not name:
            raise invalid_value(
                "optimization_switch",
                entry,
                "it must be `Name:on` or `Name:off`",
                Text('write --optimization_switch="ConvBatchnormFusionPass:off"'),
            )
        row = by_name.get(name)
        if row is not None and row.optional:
            off = off - {row.name} if word == "on" else off | {row.name}
    return tuple(sorted(off))
