"""Options of `convert` and `check_models` as keywords, and their normal form."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from atc_py.diag.codes import BAD_OPTION, OPTIONS_EXCLUDE
from atc_py.diag.suggestions import nearest
from atc_py.options.compile_options import (
    AUTO,
    CANN_GENERATIONS,
    DEFAULT_LIST,
    LIST_VARIABLE,
    NEWEST_CANN,
    PrecisionMode,
    PrecisionOptions,
    QuantBias,
    Semantics,
)
from atc_py.options.fix_rules import FixRules
from atc_py.options.gears import GearKind, Gears, one_kind, parse_gears
from atc_py.options.input_shapes import parse_gear_shapes, parse_input_shapes
from atc_py.options.ranges import Ranges, has_ranges, parse_ranges
from atc_py.tensor.shapes import Shape
from atc_py.text import Text


class PrecisionSettings(TypedDict, total=False):
    """ATC's finer controls of precision, how a model on int8 is to be read, and which passes run.

    Attributes:
        precision_mode_v2: the mode by ATC's second names, in place of `precision_mode`.
        keep_dtype: file of nodes that keep the model's dtypes, in ATC's format like the next two.
        customize_dtypes: file of dtypes by node or operator.
        modify_mixlist: file that moves operators between the lists of the mixed modes.
        input_fp16_nodes: inputs that are fed as float16, joined by `;`.
        output_type: `FP32` or another for all outputs, or `node:index:TYPE` joined by `;`.
        op_precision_mode: file of implementation modes by operator and node.
        implementations: the same for operators alone, as text, `Operator=mode` joined by `;`; the
            file counts more.
        allow_hf32: True or False for all float32 products of the cube; None, the default, for HF32
            in convolutions alone. It matters on SoCs whose cube has HF32.
        is_weight_clip: clamp weights that become narrower to finite values.
        only_atc_passes: leave out rewrites that no known pass of ATC does.
        quant_bias: `unfolded` or `folded`, the convention of the biases of a model in the deploy
            form; `auto`, the default, goes by the file's metadata.
        operator_list: the list of operators that a model must keep to, such as `cann-9.0`; by
            default that of the environment's ATC_PY_LIST, else `any`: any list may take a node.
        strict_list: let rules that boards contradict refuse nodes like any other.
        cann: generation of CANN, 5 to 9, whose deviations from ONNX count.
        semantics: `onnx`, the default, or `cann`: nodes compute what CANN's parser makes of them.
    """

    precision_mode_v2: str | None
    keep_dtype: str | os.PathLike[str] | None
    customize_dtypes: str | os.PathLike[str] | None
    modify_mixlist: str | os.PathLike[str] | None
    input_fp16_nodes: str
    output_type: str
    op_precision_mode: str | os.PathLike[str] | None
    implementations: str
    allow_hf32: bool | None
    is_weight_clip: bool
    only_atc_passes: bool
    quant_bias: str
    operator_list: str | None
    strict_list: bool
    cann: int
    semantics: str


class PrecisionChoice(PrecisionSettings, total=False):
    """The precision mode and its controls, as `convert` and `check_models` take them.

    Attributes:
        precision_mode: any of ATC's modes; `force_fp16` by default.
    """

    precision_mode: str | None


class RuleChoice(TypedDict, total=False):
    """The rules that fix a model, and what they may assume, as `convert` and `fix_model` take them.

    Attributes:
        only: names of the rules that may apply; empty, the default, for all.
        skip: names of rules that do not apply.
        approximate: apply rules whose error has no bound, too.
        all_findings: remove findings of level rewrite, too.
        bind: values of inputs that become constants, by name; every element gets the value.
        ranges: bounds of integer inputs, both included, by name.
        for_precision: replace listed nodes that overflow or lose accuracy in float16, too; None,
            the default, for that in precision mode force_fp16 alone.
        for_cann: replace nodes, too, that the generation `cann` of CANN computes otherwise than
            ONNX, or that its parser refuses; False by default.
    """

    only: Iterable[str]
    skip: Iterable[str]
    approximate: bool
    all_findings: bool
    bind: Mapping[str, float]
    ranges: Mapping[str, tuple[int, int]]
    for_precision: bool | None
    for_cann: bool


class FixChoice(PrecisionChoice, RuleChoice, total=False):
    """Options of `fix_model` besides files and the SoC.

    Attributes:
        dry_run: write nothing.
        seeds: number of random inputs on which both models run; 3 by default, 0 for no proof.
        data: files with data of inputs, as `name=file` or a lone file, and folders of files that are
            called like inputs; other inputs get random data.
        simulate: also run the fixed model on the simulator, in the target's precision; by default.
        external_data: put weights into a separate file, which is always done for 1.8 GB or more.
    """

    dry_run: bool
    seeds: int
    data: Iterable[str]
    simulate: bool
    external_data: bool


class ConvertChoice(PrecisionChoice, total=False):
    """Options of `convert` besides files and the SoC: passes and controls of precision.

    Attributes:
        disable_pass: names of optional passes that do not run.
        fusion_switch_file: ATC's file that switches passes on and off, as lines or as JSON.
        dump_ir: folder for the text form of the graph after each stage.
        verify: check the graph after every pass.
        disable_reuse_memory: give every value an address of its own.
        enable_small_channel: store filters of at most four channels with four for each tap.
        fix: compile the model in the form that `fix_model` would write; None, the default, as it is.
            The mapping has the rules, see `RuleChoice`; an empty one stands for their defaults.
        out_nodes: the results that become the outputs, in order: names of tensors, or `node:index`,
            joined by `;`. Empty, the default, for the model's own outputs.
        input_format: `NCHW`, the default, `NHWC`, `NCDHW` or `ND`: what the axes of inputs are. It
            labels them for AIPP and for gears of image sizes; data are never moved.
        batch_sizes: gears of batch sizes, such as `"1,2,4"` or `[1, 2, 4]`: numbers that take the
            place of -1 on axis 0 of inputs.
        image_sizes: gears of image sizes, such as `"320,320;640,640"` or `[(320, 320), (640, 640)]`:
            heights and widths that take the places of -1.
        dims: gears of any dims, such as `"1,16;2,32"`: numbers that take the places of -1 in the
            order of `input_shape`. Of the three one may be given.
        replace_shapes: the dims of `input_shape` count also where the model fixes others, as they do
            with ATC; by default they are refused.
        atc_cmdline: command line of `atc` that the offline model records, as mode 6 shows it.
        graph_name: name of the graph in the offline model; by default the one in the ONNX file.
        aipp: file of AIPP configurations in ATC's format: inputs that they are for take pictures,
            which the device turns into what the network takes.
    """

    disable_pass: Iterable[str]
    fusion_switch_file: str | os.PathLike[str] | None
    dump_ir: str | os.PathLike[str] | None
    verify: bool
    disable_reuse_memory: bool
    enable_small_channel: bool
    fix: RuleChoice | None
    out_nodes: str
    input_format: str
    batch_sizes: str | Iterable[int]
    image_sizes: str | Iterable[Iterable[int]]
    dims: str | Iterable[Iterable[int]]
    replace_shapes: bool
    atc_cmdline: str
    graph_name: str
    aipp: str | os.PathLike[str] | None


def reject_unknown(function: str, given: Mapping[str, object], known: type) -> None:
    """Refuse keywords that a function does not have, as Python itself does.

    Args:
        function: the name of the function.
        given: its keywords.
        known: the TypedDict that names those that it has.

    Raises:
        TypeError: one of them is unknown; the message names the nearest one that is known.
    """
    for name in sorted(given.keys() - known.__annotations__.keys()):
        hint = "".join(
            Text(". Did you mean {item}?", item=repr(each))
            for each in nearest(name, known.__annotations__, 1)
        )
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def fix_rules(given: RuleChoice) -> FixRules:
    """The choice of rules."""
    return FixRules(
        only=frozenset(given.get("only", ())),
        skip=frozenset(given.get("skip", ())),
        approximate=given.get("approximate", False),
        all_findings=given.get("all_findings", False),
        bind=dict(given.get("bind", {})),
        ranges=dict(given.get("ranges", {})),
        for_precision=given.get("for_precision"),
        for_cann=given.get("for_cann", False),
    )


def chosen_rules(function: str, given: RuleChoice) -> FixRules:
    """The choice of rules that the keyword `fix` of a function has.

    Raises:
        TypeError: a key is unknown.
    """
    reject_unknown(f"{function}(fix=...)", given, RuleChoice)
    return fix_rules(given)


def optional_path(file: str | os.PathLike[str] | None) -> Path | None:
    """A file's name as a path; None where there is none."""
    return None if file is None else Path(file)


def precision_options(given: PrecisionSettings) -> PrecisionOptions:
    """The finer controls of precision, paths as paths."""
    return PrecisionOptions(
        keep_dtype=optional_path(given.get("keep_dtype")),
        customize_dtypes=optional_path(given.get("customize_dtypes")),
        modify_mixlist=optional_path(given.get("modify_mixlist")),
        input_fp16_nodes=given.get("input_fp16_nodes", ""),
        output_type=given.get("output_type", ""),
        op_precision_mode=optional_path(given.get("op_precision_mode")),
        implementations=given.get("implementations", ""),
        allow_hf32=given.get("allow_hf32"),
        is_weight_clip=given.get("is_weight_clip", True),
        only_atc_passes=given.get("only_atc_passes", False),
        quant_bias=QuantBias.chosen(given.get("quant_bias", AUTO)),
        operator_list=chosen_list(given.get("operator_list")),
        strict_list=given.get("strict_list", False),
        cann=_generation(given.get("cann", NEWEST_CANN)),
        semantics=_semantics(given.get("semantics", Semantics.ONNX.value)),
    )


def chosen_list(name: str | None) -> str:
    """The operator list that a caller names, else that of the environment or the default."""
    return name or os.environ.get(LIST_VARIABLE) or DEFAULT_LIST


def _generation(number: object) -> int:
    """A generation of CANN.

    Raises:
        AtcError: BAD_OPTION for any other value; True is no number.
    """
    if isinstance(number, int) and number is not True and number in CANN_GENERATIONS:
        return number
    known = ", ".join(map(str, CANN_GENERATIONS))
    raise BAD_OPTION.error(
        Text("cann must be one of {known}, found {number}", known=known, number=repr(number)),
        help=Text("leave it out for the newest"),
    )


def _semantics(name: str) -> Semantics:
    """The reading of nodes that is called `name`."""
    known = {each.value: each for each in Semantics}
    if name not in known:
        raise BAD_OPTION.error(
            Text(
                "semantics must be one of {known}, found {name}",
                known=", ".join(known),
                name=repr(name),
            )
        )
    return known[name]


def chosen_mode(given: PrecisionChoice) -> PrecisionMode:
    """The mode that one of two options names; force_fp16 where neither does.

    Raises:
        AtcError: OPTIONS_EXCLUDE where both do, BAD_OPTION for an unknown name.
    """
    first, second = given.get("precision_mode"), given.get("precision_mode_v2")
    if first is not None and second is not None:
        raise OPTIONS_EXCLUDE.error(
            Text(
                "--precision-mode {first} and --precision-mode-v2 {second} both name a mode",
                first=first,
                second=second,
            ),
            help=Text("give one of them"),
        )
    if second is None:
        return _precision_mode(first or PrecisionMode.FORCE_FP16.value, tuple(PrecisionMode))
    known = PrecisionMode.second_names()
    if second not in known:
        raise BAD_OPTION.error(
            Text("no precision mode is called {second} here", second=repr(second)),
            help=Text("modes are {known}", known=", ".join(known)),
        )
    return known[second]


def _precision_mode(name: str, allowed: Sequence[PrecisionMode]) -> PrecisionMode:
    """The one of the `allowed` precision modes that is called `name`."""
    mode = next((mode for mode in allowed if mode.value == name), None)
    if mode is None:
        known = ", ".join(mode.value for mode in allowed)
        raise BAD_OPTION.error(
            Text("no precision mode is called {second} here", second=repr(name)),
            help=Text("modes are {known}", known=known),
        )
    return mode


def input_shapes(given: str | Mapping[str, Sequence[int]]) -> dict[str, Shape]:
    """Input shapes from either form."""
    if isinstance(given, str):
        return parse_input_shapes(given) if given else {}
    return {name: tuple(int(dim) for dim in shape) for name, shape in given.items()}


def shapes_and_ranges(
    given: str | Mapping[str, Sequence[int]],
) -> tuple[dict[str, Shape], Ranges]:
    """The shapes of inputs, and the ranges of those with dims that each run decides."""
    if not isinstance(given, str) and any(dim < 0 for dims in given.values() for dim in dims):
        given = ";".join(f"{name}:{_gear_text(dims, ',')}" for name, dims in given.items())
    if not isinstance(given, str) or not has_ranges(given):
        return input_shapes(given), {}
    found = parse_ranges(given)
    opened = {name for name, dims in found.items() if any(dim.is_open for dim in dims)}
    closed = {name: dims for name, dims in found.items() if name not in opened}
    shapes = {name: tuple(dim.low for dim in dims) for name, dims in closed.items()}
    return shapes, {name: found[name] for name in found if name in opened}


def chosen_gears(choice: ConvertChoice, given: str | Mapping[str, Sequence[int]]) -> Gears | None:
    """The gears that one of three options lists, for inputs of the shapes given.

    Raises:
        AtcError: OPTIONS_EXCLUDE where several do; BAD_OPTION and BAD_INPUT_SHAPE for values without
            meaning.
    """
    texts = {
        GearKind.BATCH: _gear_text(choice.get("batch_sizes", ""), ","),
        GearKind.IMAGE: _gear_text(choice.get("image_sizes", ""), ";"),
        GearKind.DIMS: _gear_text(choice.get("dims", ""), ";"),
    }
    found = one_kind(texts)
    if found is None:
        return None
    if not isinstance(given, str):
        given = ";".join(f"{name}:{_gear_text(dims, ',')}" for name, dims in given.items())
    shapes = parse_gear_shapes(given) if given else {}
    return parse_gears(*found, shapes, choice.get("input_format", ""))


def _gear_text(given: str | Iterable[int | Iterable[int]], separator: str) -> str:
    """Gears as text; numbers and lists of numbers are joined."""
    if isinstance(given, str):
        return given
    return separator.join(
        str(each) if isinstance(each, int) else ",".join(map(str, each)) for each in given
    )
