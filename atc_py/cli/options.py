"""Options that several commands share: one spelling, one help text.

More than 400 lines: each entry is short, and a reader looks for all of them in one place.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.decorators import FC

from atc_py.cli.language_options import LANG as LANG
from atc_py.cli.option_sets import option_set
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.bound_values import bound_values, value_ranges
from atc_py.options.compile_options import (
    AUTO,
    CANN_GENERATIONS,
    DEFAULT_LIST,
    LIST_VARIABLE,
    NEWEST_CANN,
    PrecisionMode,
    QuantBias,
    Semantics,
)
from atc_py.text import Text, plural

SOC = click.option(
    "--soc", "--soc-version", "--soc_version", default="sim", help="SoC to compile for."
)

INPUT_SHAPE = click.option(
    "--input-shape",
    "--input_shape",
    default="",
    metavar='"x:1,3,224,224;y:..."',
    help="Dims of inputs that the model leaves open; 1~8 or -1 for one that each run decides.",
)

AIPP = click.option(
    "--aipp",
    "--insert_op_conf",
    type=click.Path(path_type=Path),
    help="AIPP configurations in ATC's format; the inputs that they are for take pictures.",
)

OP_SPECS = click.option(
    "--op-specs",
    "--op_specs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of operator specifications that replace or extend atc-py's own.",
)

TEMPLATES = click.option(
    "--templates",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of kernel templates that replace or extend atc-py's own.",
)

CALIBRATE = click.option(
    "--calibrate", type=click.Path(path_type=Path), metavar="FILE.csv",
    help="Refit the factors of the cost model to measured kernels: columns op, shape, dtype, "
    "time_us, and output_shape where needed.",
)  # fmt: skip

FACTORS = click.option(
    "--factors",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Estimate with saved factors.",
)


def _hold_to_memory(context: click.Context, _option: click.Parameter, size: str | None) -> None:
    """Limit the memory of the rest of the command to `size`."""
    from atc_py.system.memory_limit import limited_memory, require_own_memory

    if not context.resilient_parsing:
        require_own_memory()
        context.with_resource(limited_memory(size))


MAX_MEMORY = click.option(
    "--max-memory",
    metavar="SIZE",
    expose_value=False,
    callback=_hold_to_memory,
    help="Refuse work that needs more memory, such as 4G; by default three quarters of what the "
    "machine leaves this process.",
)

AS_JSON = click.option(
    "--json", "as_json", is_flag=True, is_eager=True, help="Print one JSON document."
)

REPORT_AS_JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the report as one JSON document; with --output, write it to the file too.",
)


def report_option(formats: Sequence[str], remark: str = "") -> Callable[[FC], FC]:
    """Make the option for the format of a report; its value is None if it was not given."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        help=f"Format of the report; text by default{remark and f'; {remark}'}.",
    )


def report_format(given: str | None, *, as_json: bool) -> str:
    """The format that --format and --json ask for together.

    Raises:
        AtcError: BAD_OPTION where they contradict each other.
    """
    if as_json and given not in {None, "json"}:
        raise BAD_OPTION.error(
            Text("--json and --format {given} ask for different formats", given=given),
            help="give one of them",
        )
    return "json" if as_json else given or "text"


QUANT_BIAS = click.option(
    "--quant-bias",
    type=click.Choice([AUTO, *(each.value for each in QuantBias)]),
    default=AUTO,
    show_default=True,
    help="Biases of layers that are int8 in MODEL: unfolded, as AMCT writes them; folded, with the "
    "offset of the data in them, as `quantize` once wrote them; auto: as the file's metadata state.",
)

CANN = click.option(
    "--cann",
    type=click.Choice([str(each) for each in CANN_GENERATIONS]),
    default=str(NEWEST_CANN),
    show_default=True,
    callback=lambda _context, _option, value: int(value),
    help="Generation of CANN whose deviations from ONNX count.",
)

_SEMANTICS = click.option(
    "--semantics",
    type=click.Choice([each.value for each in Semantics]),
    default=Semantics.ONNX.value,
    show_default=True,
    help="Nodes compute what ONNX defines, or what CANN's parser makes of them.",
)


def semantics(command: FC) -> FC:
    """Add --semantics and --cann."""
    return _SEMANTICS(CANN(command))


LIST = click.option(
    "--list",
    "operator_list",
    metavar="NAME",
    envvar=LIST_VARIABLE,
    default=DEFAULT_LIST,
    show_default=True,
    show_envvar=True,
    help="Operator list that the model must keep to, or any; `atc-py ops lists` names them.",
)

STRICT_LIST = click.option(
    "--strict-list",
    is_flag=True,
    help="Hold to the letter of the list, also where boards take what it forbids.",
)

_PATH = click.Path(path_type=Path)

precision_controls = option_set(
    click.option(
        "--precision-mode-v2",
        "--precision_mode_v2",
        type=click.Choice(list(PrecisionMode.second_names())),
        help="The precision mode by its name in ATC's second scheme, instead of --precision-mode.",
    ),
    click.option(
        "--keep-dtype", "--keep_dtype", type=_PATH, metavar="FILE",
        help="Nodes, or OpType::T, that keep the model's dtypes, one per line.",
    ),
    click.option(
        "--customize-dtypes", "--customize_dtypes", type=_PATH, metavar="FILE",
        help="Lines `node::InputDtype:float16,OutputDtype:float16` that set dtypes.",
    ),
    click.option(
        "--modify-mixlist", "--modify_mixlist", type=_PATH, metavar="FILE",
        help="JSON that moves operators between the lists of the mixed precision modes.",
    ),
    click.option(
        "--input-fp16-nodes", "--input_fp16_nodes", default="", metavar='"x;y"',
        help="Inputs that are fed as float16.",
    ),
    click.option(
        "--output-type", "--output_type", default="", metavar='TYPE|"node:0:TYPE;..."',
        help="Dtype of all outputs, such as FP32 or FP16, or of single ones.",
    ),
    click.option(
        "--op-precision-mode", "--op_precision_mode", type=_PATH, metavar="FILE",
        help="Lines such as `Softmax=high_performance`, by operator or by node.",
    ),
    click.option(
        "--allow-hf32", "--allow_hf32", type=click.Choice(["true", "false"]), default=None,
        callback=lambda _context, _option, value: None if value is None else value == "true",
        help="Round what the cube multiplies in float32 to HF32, where the SoC has it: everywhere "
        "or nowhere; by default in convolutions only.",
    ),
    click.option(
        "--is-weight-clip", "--is_weight_clip", type=click.Choice(["0", "1"]), default="1",
        show_default=True, callback=lambda _context, _option, value: value == "1",
        help="Clamp weights that are narrowed to finite values.",
    ),
    click.option(
        "--only-atc-passes", is_flag=True,
        help="Leave out rewrites that no known pass of ATC does, such as the fusion of a softmax.",
    ),
    QUANT_BIAS,
    LIST,
    STRICT_LIST,
)  # fmt: skip
"""Options that refine a precision mode, that on passes and that on int8 models."""


def precision_mode(
    modes: Iterable[PrecisionMode],
    default: str | None = PrecisionMode.FORCE_FP16.value,
) -> Callable[[FC], FC]:
    """The option for one of `modes`; with a `default` of None, None means not given."""
    return click.option(
        "--precision-mode",
        "--precision_mode",
        type=click.Choice([mode.value for mode in modes]),
        default=default,
        show_default=PrecisionMode.FORCE_FP16.value,
        help="How dtypes may change.",
    )


def refuse_compiling(context: click.Context, model: Path, *also: str) -> None:
    """Reject options that concern compilation if `model` is an offline model.

    Args:
        context: of the command.
        model: the file that the command is about.
        *also: names of parameters that concern compiling in this command alone.

    Raises:
        click.UsageError: `model` is an offline model and such options are given.
    """
    from click.core import ParameterSource

    from atc_py.options.choices import PrecisionChoice
    from atc_py.package.foreign import is_offline

    compiling = {*PrecisionChoice.__annotations__, "aipp", "input_shape", "op_specs", *also}
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in compiling
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if given and is_offline(model):
        raise click.UsageError(
            plural(
                len(given),
                "{given} concerns how an ONNX model is compiled, but {model} is compiled already: "
                "omit the option, or give the ONNX model",
                "{given} concern how an ONNX model is compiled, but {model} is compiled already: "
                "omit the option, or give the ONNX model",
                given=", ".join(given),
                model=model,
            )
        )


def fix_rules(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fix and the options that choose rules; the command gets them as `fix`, or None."""

    @wraps(command)
    def with_rules(*args: object, fix: bool, **kwargs: object) -> object:
        given = {name: kwargs.pop(name) for name in _RULE_FLAGS}
        used = [_RULE_FLAGS[name] for name, value in given.items() if value]
        if used and not fix:
            raise click.UsageError(Text("{used} has no effect without --fix", used=", ".join(used)))
        return command(*args, fix=given if fix else None, **kwargs)

    return rule_choice(_FIX(with_rules))


def _bound(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> object:
    return bound_values(given)


def _ranges(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> object:
    return value_ranges(given)


_FIX = click.option(
    "--fix", is_flag=True, help="Replace what the list refuses first, as `atc-py fix` does."
)
_RULE_FLAGS = {
    "only": "--only",
    "skip": "--skip",
    "approximate": "--allow-approximate",
    "bind": "--bind",
    "ranges": "--range",
    "for_precision": "--for-precision",
    "for_cann": "--for",
}
rule_choice = option_set(
    click.option("--only", multiple=True, metavar="RULE", help="Apply this rule; may be repeated."),
    click.option(
        "--skip", multiple=True, metavar="RULE", help="Leave this rule out; may be repeated."
    ),
    click.option(
        "--allow-approximate", "approximate", is_flag=True,
        help="Apply rules whose error has no bound, too.",
    ),
    click.option(
        "--bind", multiple=True, metavar="NAME=VALUE", callback=_bound,
        help="Make an input a constant of this value; may be repeated.",
    ),
    click.option(
        "--range", "ranges", multiple=True, metavar="NAME=LOW:HIGH", callback=_ranges,
        help="Bounds of an integer input, both included; may be repeated.",
    ),
    click.option(
        "--for-precision/--no-for-precision", default=None,
        help="Replace listed nodes that overflow or lose accuracy in float16, too; by default "
        "where the precision mode is force_fp16.",
    ),
    click.option(
        "--for", "for_cann", type=click.Choice(["cann"]),
        callback=lambda _context, _option, value: value is not None,
        help="Replace nodes, too, that CANN computes otherwise than ONNX, or refuses, on the "
        "generation of --cann.",
    ),
)  # fmt: skip
"""Options that choose rules and what they may assume."""
