"""Options of commands: those of options structs, and those that several commands share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial, wraps
from pathlib import Path
from types import EllipsisType
from typing import Any, get_origin

import click
import msgspec
from click.core import ParameterSource
from click.decorators import FC

from atc_py.cli.help_text import LANG as LANG
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import BAD_OPTION
from atc_py.options.compile_options import CheckOptions
from atc_py.options.option import Option, OptionField, fields_of, keywords_of, options_in
from atc_py.system.memory_limit import limited_memory, require_own_memory
from atc_py.text import Text, plural


def comma_separated(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """The values of an option that may be repeated and may hold several, apart by commas."""
    return tuple(filter(None, (value.strip() for value in ",".join(given).split(","))))


def option_set(*options: Callable[[FC], FC]) -> Callable[[FC], FC]:
    """A decorator that adds options, in this order, to those of a command."""

    def add(command: FC) -> FC:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def options_of(
    kind: type[msgspec.Struct],
    *names: str | EllipsisType,
    without: Iterable[str] = (),
    after: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[[Any], Any]:
    """A decorator that adds the options of an options struct to those of a command.

    Args:
        kind: the struct.
        *names: keywords, or fields with several of them, in the order of the help; `...` for all
            that are not named; all by default.
        without: keywords that the command does not have.
        after: other options of the command, by the keyword before them.
    """
    pairs = {option.keyword: (field, option) for field, option in options_in(kind) if option.flags}
    groups = _groups(kind)
    listed = {name: list(pairs) if name is ... else groups[name] for name in names or (...,)}
    owners: dict[str, str | EllipsisType] = {}
    for name, keywords in sorted(listed.items(), key=lambda item: -len(item[1])):
        owners |= dict.fromkeys(keywords, name)
    options = []
    for name, keywords in listed.items():
        for keyword in keywords:
            if keyword in pairs and keyword not in without and owners[keyword] == name:
                options.append(_added(*pairs[keyword]))
                options += [after[keyword]] if after and keyword in after else []
    return option_set(*options)


def _groups(kind: type[msgspec.Struct]) -> dict[str, list[str]]:
    """The keywords of each field, at any depth, and each keyword alone."""
    groups: dict[str, list[str]] = {
        option.keyword: [option.keyword] for _, option in options_in(kind)
    }
    for field in fields_of(kind):
        if field.options:
            groups[field.name] = list(field.options)
        elif field.parts is not None:
            groups |= _groups(field.parts)
            groups[field.name] = [option.keyword for _, option in options_in(field.parts)]
    return groups


def _added(field: OptionField, option: Option) -> Callable[[Any], Any]:
    """The option; one whose value is a struct brings the options of that, and takes them together."""
    own, parts = click_option(field, option), field.parts
    if parts is None:
        return own
    inner = {
        part.keyword: part.flags.split("/")[0]
        for _, part in options_in(parts)
        if part.flags and part.keyword != "all_findings"
    }

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_parts(*args: object, **kwargs: Any) -> object:
            given = {name: kwargs.pop(name) for name in inner}
            used = [inner[name] for name, value in given.items() if value]
            is_given = kwargs.pop(option.keyword)
            if used and not is_given:
                raise click.UsageError(
                    Text("{used} has no effect without --fix", used=", ".join(used))
                )
            return command(*args, **{option.keyword: given if is_given else None}, **kwargs)

        added: Callable[..., Any] = options_of(parts, *inner)(own(with_parts))
        return added

    return add


def click_option(field: OptionField, option: Option) -> Callable[[FC], FC]:
    settings: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    settings |= {"cls": AliasedOption, "old": option.old.split()}
    default = field.default if option.default is msgspec.UNSET else option.default
    default = default.value if isinstance(default, Enum) else default
    kind = get_origin(field.type) or field.type
    if option.values is not None:
        settings |= _choice(option.values, default)
    elif kind is bool or field.parts is not None:
        settings |= _flag(option, default)
    elif option.read is not None or (kind in {tuple, frozenset} and default == field.default):
        settings |= {"multiple": True}
        if option.read is not None:
            settings["callback"] = partial(_called, option.read)
    else:
        settings |= _single(kind, option, default)
    if option.variable:
        settings |= {"envvar": option.variable, "show_envvar": True, "show_default": True}
    if option.shown:
        settings["show_default"] = option.shown
    return click.option(*option.spellings, option.keyword, **settings)


def _called(
    function: Callable[[Any], Any], _context: click.Context, _option: click.Parameter, value: Any
) -> Any:
    return function(value)


def _choice(values: Mapping[str, Any], default: Any) -> dict[str, Any]:
    text = next((text for text, value in values.items() if value == default), None)
    settings: dict[str, Any] = {"type": click.Choice(list(values))}
    if text is not None:
        settings |= {"default": text, "show_default": True}
    if list(values) != list(values.values()):
        settings["callback"] = partial(_called, lambda given: values.get(given, default))
    return settings


def _flag(option: Option, default: Any) -> dict[str, Any]:
    if "/" in option.flags:
        return {"default": default}
    return {"is_flag": True} | ({"flag_value": False, "default": True} if default else {})


def _single(kind: Any, option: Option, default: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {} if default is None else {"default": default}
    if kind is Path or option.reads:
        settings["type"] = click.Path(path_type=None if option.parse is not None else Path)
    elif kind in {int, float}:
        settings["type"] = kind if option.numbers is None else click.IntRange(*option.numbers)
    return settings


def _hold_to_memory(context: click.Context, _option: click.Parameter, size: str | None) -> None:
    """Limit the memory of the rest of the command to `size`."""
    if not context.resilient_parsing:
        require_own_memory()
        context.with_resource(limited_memory(size))


LIKE = click.option(
    "--like", type=click.Path(path_type=Path), metavar="FILE.onnx",
    help="ONNX file that MODEL, an offline model of Huawei's atc, was compiled from: it "
    "supplies attributes that fused launches have lost, and the names of values.",
)  # fmt: skip

SUBMODEL = click.option(
    "--submodel", "--model", metavar="N|NAME",
    help="The model to use in a file of Huawei's atc that has several, by its position or "
    "name in `info`.",
)  # fmt: skip

MAX_MEMORY = click.option(
    "--max-memory",
    metavar="SIZE",
    expose_value=False,
    callback=_hold_to_memory,
    help="Refuse work that needs more memory than this, such as 4G; by default three quarters "
    "of what is available to this process.",
)

CALIBRATE = click.option(
    "--calibrate", type=click.Path(path_type=Path), metavar="FILE.csv", multiple=True,
    help="Refit the factors of the cost model to measured kernels: columns op, shape, dtype, "
    "time_us, and output_shape where needed, or an op_summary of msprof; or to whole networks: "
    "columns model, time_us, and input_shape where needed. May be repeated.",
)  # fmt: skip

BOARD_JSON = click.option(
    "--board-json", type=click.Path(path_type=Path), metavar="FILE",
    help="JSON of the model that the board ran, written by `atc --mode=1`: it maps kernels to "
    "nodes of the network.",
)  # fmt: skip

FACTORS = click.option(
    "--factors",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Estimate with saved factors.",
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
    """The format that --format and --json ask for together."""
    if as_json and given not in {None, "json"}:
        raise BAD_OPTION.error(
            Text("--json and --format {given} ask for different formats", given=given),
            help=Text("give one of them"),
        )
    return "json" if as_json else given or "text"


def refuse_compiling(context: click.Context, model: Path, *also: str) -> None:
    """Reject options that concern compilation, and those called `also`, for an offline model."""
    from atc_py.package.foreign import is_offline

    compiling = {*keywords_of(CheckOptions) - {"soc"}, "aipp", *also}
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
                "{given} applies to compiling an ONNX model, but {model} is already compiled: "
                "omit the option, or give the ONNX model",
                "{given} apply to compiling an ONNX model, but {model} is already compiled: "
                "omit the options, or give the ONNX model",
                given=", ".join(given),
                model=model,
            )
        )
