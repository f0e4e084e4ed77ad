"""Mode 0: atc's options as keywords of `convert`."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from atc_py.adapters.atc.checks import gear_choice
from atc_py.adapters.atc.faults import atc_error
from atc_py.adapters.atc.options import OPTIONS, Treatment
from atc_py.adapters.atc.paths import made_folder, offline_model
from atc_py.adapters.atc.shapes import has_open_dims, input_shape_text
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import Place
from atc_py.diag.codes import NOT_MODELED
from atc_py.options.choices import ConvertChoice
from atc_py.options.compile_options import CompileOptions
from atc_py.passes.manager import PIPELINE
from atc_py.passes.precision.implementation_tables import ATC_MODES, PRECISE
from atc_py.pipeline.convert import compile_options, convert
from atc_py.results.conversion import Conversion
from atc_py.system.path_facts import legible

PROGRAM = "atc-py atc"
"""Name under which a command line is recorded."""

_AS_TEXT = (
    "precision_mode", "precision_mode_v2", "keep_dtype", "customize_dtypes", "modify_mixlist",
    "input_fp16_nodes", "output_type", "op_precision_mode", "fusion_switch_file", "out_nodes",
)  # fmt: skip
"""Options that `convert` takes as they are, by the same names."""

_FORMER_SOCS = {"Ascend910": "Ascend910A", "Ascend710": "Ascend310P3"}
"""Names of older releases, and those that the same SoCs have now [I]."""

_NOT_MODELED_VALUES = {"precision_mode_v2": ("mixed_hif8", "cube_hif8"), "mode": ("7", "30")}


def compiled(
    flags: Flags, words: Sequence[str], on_stage: Callable[[str], None] | None = None
) -> Conversion:
    """Compile the model that the options name; return the record of it.

    Raises:
        AtcError: with every finding of the failing stage.
    """
    path = offline_model(flags, is_open=has_open_dims(flags))
    choice = convert_choice(flags)
    choice["atc_cmdline"] = legible(" ".join((PROGRAM, *words)))
    choice["graph_name"] = flags["output"].rpartition("/")[2]
    with made_folder(path):
        return convert(
            flags["model"],
            path,
            soc=soc_name(flags),
            input_shape=input_shape_text(flags),
            on_stage=on_stage,
            **choice,
        )


def compile_settings(flags: Flags) -> CompileOptions:
    """The options of a compilation that the options say, for modes that write no offline model.

    Raises:
        AtcError: an option has no meaning.
    """
    return compile_options("atc", convert_choice(flags), soc_name(flags), input_shape_text(flags))


def singleop_settings(flags: Flags) -> CompileOptions:
    """The options of the compilation of single operators, which have shapes of their own."""
    from atc_py.adapters.atc.modes.single_operators import with_kept_dtypes

    return compile_options("atc", with_kept_dtypes(convert_choice(flags)), soc_name(flags), "")


def convert_choice(flags: Flags) -> ConvertChoice:
    """The keywords of `convert` that the options say, besides files, SoC and shapes."""
    found: dict[str, Any] = {name: flags[name] for name in _AS_TEXT if flags[name]}
    found |= gear_choice(flags)
    if flags["insert_op_conf"]:
        found["aipp"] = flags["insert_op_conf"]
    if flags["allow_hf32"]:
        found["allow_hf32"] = flags["allow_hf32"] == "true"
    found["implementations"] = _implementations(flags)
    found["replace_shapes"] = True
    found["is_weight_clip"] = flags["is_weight_clip"] != "0"
    found["disable_reuse_memory"] = flags["disable_reuse_memory"] == "1"
    found["enable_small_channel"] = flags["enable_small_channel"] == "1"
    disabled = _switched_off(flags)
    if disabled:
        found["disable_pass"] = disabled
    return cast("ConvertChoice", found)


def soc_name(flags: Flags) -> str:
    """The name of the SoC, that of today where an older one is given.

    Modes that need none have the generic device.
    """
    name = flags["soc_version"]
    return _FORMER_SOCS.get(name, name) or "sim"


def refuse_not_modeled(flags: Flags) -> None:
    """Refuse options that would change results and are not modeled.

    Raises:
        AtcError: NOT_MODELED, with E10055.
    """
    for name, value in flags.given.items():
        option = OPTIONS[name]
        refused = option.effect is Treatment.REFUSED and value not in option.neutral
        if name.endswith("_adjust_hw_layout"):
            refused = "true" in value and bool(flags[_SUBJECTS[name]])
        if name == "raw_ge_options":
            refused = False
        if refused or value in _NOT_MODELED_VALUES.get(name, ()):
            raise atc_error(
                "E10055",
                f"--{name}={value}; {option.words}",
                code=NOT_MODELED,
                place=Place(field=f"--{name}"),
                help=option.hint or "choose another value",
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
    """The passes that --oo_level and --optimization_switch turn off, by their names here.

    Raises:
        AtcError: with E10001 for an entry that is not `Name:on` or `Name:off`.
    """
    off = {row.name for row in PIPELINE if row.optional} if flags["oo_level"] == "O1" else set()
    by_name = {name: row for row in PIPELINE for name in (row.name, *row.atc_names)}
    for entry in filter(None, (each.strip() for each in flags["optimization_switch"].split(";"))):
        name, _, word = (part.strip() for part in entry.rpartition(":"))
        if word not in {"on", "off"} or not name:
            raise atc_error(
                "E10001",
                entry,
                "--optimization_switch",
                "it must be `Name:on` or `Name:off`",
                place=Place(field="--optimization_switch"),
                help='write --optimization_switch="ConvBatchnormFusionPass:off"',
            )
        row = by_name.get(name)
        if row is not None and row.optional:
            off = off - {row.name} if word == "on" else off | {row.name}
    return tuple(sorted(off))
