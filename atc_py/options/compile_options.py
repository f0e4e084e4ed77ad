"""Options of a compilation, as values that no later stage changes, and as options of users.

More than 400 lines: a field says all of its option.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from atc_py.diag import BAD_OPTION, OPTIONS_EXCLUDE
from atc_py.options.auto_gears import AutoGears, parse_auto_gears
from atc_py.options.fix_rules import FixRules
from atc_py.options.gears import GearKind, Gears, parse_gear_lists
from atc_py.options.input_shapes import (
    InputFormat,
    OutNode,
    joined_shapes,
    parse_gear_shapes,
    parse_input_format,
    parse_out_nodes,
    parse_shapes,
    shapes_text,
)
from atc_py.options.option import Joint, Option
from atc_py.options.output_paths import output_folder
from atc_py.options.ranges import DimRange, Ranges, shapes_and_ranges
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_V = TypeVar("_V")

AUTO = "auto"
"""The user's choice to leave the convention to the file."""

FIRST_LIST = "base"
"""The earliest operator list, which is asked first."""

ANY_LIST = "any"
"""The choice that each node may be taken by any of the operator lists."""

DEFAULT_LIST = ANY_LIST
"""The choice of operator list that counts where none is made."""

LIST_VARIABLE = "ATC_PY_LIST"
"""Environment variable that chooses the operator list where the call does not."""


_RELEASES = ("5", "6", "7", "8", "8.5", "9.0", "9.1", "9.2")

NEWEST_CANN = "9.1"
"""Release of CANN whose deviations from ONNX count where none is chosen: the newest that is not a beta."""

CANN_RELEASES = {
    **{name: name for name in _RELEASES},
    "9": NEWEST_CANN,
    "8.5.0": "8.5",
    "9.0.0": "9.0",
    "9.0.1": "9.0",
    "9.1.0": "9.1",
    "9.2.0-beta.1": "9.2",
}
"""Releases of CANN by their spellings; `op_specs/cann.yaml` says by which sources each is read."""


def release_of(version: str) -> str:
    """The release in CANN_RELEASES that a version such as `8.3.RC1` is of; one beyond them is its own."""
    found = re.match(r"(\d{1,9})(?:\.(\d{1,9}))?", version)
    if found is None:
        return version
    number = int(found[1]), int(found[2] or 0)
    known = {name: tuple(map(int, f"{name}.0".split(".")[:2])) for name in _RELEASES}
    if number > known[_RELEASES[-1]]:
        return f"{number[0]}.{number[1]}"
    return next((name for name in reversed(_RELEASES) if known[name] <= number), _RELEASES[0])


class PrecisionMode(Enum):
    """Rule by which the compiler may change a model's dtypes; names are ATC's."""

    FORCE_FP16 = "force_fp16"
    FORCE_FP32 = "force_fp32"
    CUBE_FP16IN_FP32OUT = "cube_fp16in_fp32out"
    ALLOW_FP32_TO_FP16 = "allow_fp32_to_fp16"
    MUST_KEEP_ORIGIN_DTYPE = "must_keep_origin_dtype"
    ALLOW_MIX_PRECISION = "allow_mix_precision"
    ALLOW_MIX_PRECISION_FP16 = "allow_mix_precision_fp16"
    ALLOW_MIX_PRECISION_BF16 = "allow_mix_precision_bf16"
    ALLOW_FP32_TO_BF16 = "allow_fp32_to_bf16"

    @classmethod
    def second_names(cls) -> "Mapping[str, PrecisionMode]":
        """The modes by the names that ATC's `--precision_mode_v2` has for them."""
        return {
            "fp16": cls.FORCE_FP16,
            "origin": cls.MUST_KEEP_ORIGIN_DTYPE,
            "cube_fp16in_fp32out": cls.CUBE_FP16IN_FP32OUT,
            "mixed_float16": cls.ALLOW_MIX_PRECISION_FP16,
            "mixed_bfloat16": cls.ALLOW_MIX_PRECISION_BF16,
        }

    @property
    def is_mixed(self) -> bool:
        """True if white, gray and black lists count."""
        return self in {
            PrecisionMode.ALLOW_MIX_PRECISION,
            PrecisionMode.ALLOW_MIX_PRECISION_FP16,
            PrecisionMode.ALLOW_MIX_PRECISION_BF16,
        }

    @property
    def is_bfloat16(self) -> bool:
        """True if it makes floats bfloat16."""
        return self in {PrecisionMode.ALLOW_MIX_PRECISION_BF16, PrecisionMode.ALLOW_FP32_TO_BF16}


class Semantics(Enum):
    """Reading of a model's nodes."""

    ONNX = "onnx"
    """Nodes compute what ONNX defines."""

    CANN = "cann"
    """Nodes compute what CANN's parser makes of them, deviations included."""


class QuantBias(Enum):
    """The convention of the int32 biases in a model whose layers are int8 already.

    With offset z of the data and weights w, a layer on int8 adds round(b / (s_w * s_d)) - z * sum(w)
    to the sum of its products.
    """

    UNFOLDED = "unfolded"
    """The file has round(b / (s_w * s_d)) alone, as AMCT writes it; the compiler folds the rest in."""

    FOLDED = "folded"
    """The file has the whole sum, as earlier versions wrote it; the compiler does not change it."""


def _look_up(option: str, known: Mapping[Any, _V], value: object, hint: Text | None = None) -> _V:
    """Meaning of a keyword's value; True is no number."""
    if isinstance(value, str | int) and value is not True and value in known:
        return known[value]
    raise BAD_OPTION.error(
        Text(
            "{name} must be one of {known}, found {found}",
            name=option,
            known=", ".join(map(str, known)),
            found=repr(value),
        ),
        help=hint,
    )


def parse_quant_bias(name: str) -> QuantBias | None:
    """The convention called `name`; None for `auto`."""
    known = {AUTO: None, **{row.value: row for row in QuantBias}}
    return _look_up("quant_bias", known, name, Text("leave it out to use the file's metadata"))


def _parse_release(name: object) -> str:
    """The release that a text or, without its second number, an integer names."""
    text = str(name) if isinstance(name, int) and name is not True else name
    if isinstance(text, str) and text in CANN_RELEASES:
        return CANN_RELEASES[text]
    known = dict.fromkeys(_RELEASES, "")
    return _look_up("cann", known, name, Text("leave it out for the newest release"))


def _parse_semantics(name: str) -> Semantics:
    return _look_up("semantics", {row.value: row for row in Semantics}, name)


def _parse_mode(keywords: Mapping[str, Any]) -> PrecisionMode:
    """The mode that one of two options names; force_fp16 where neither does."""
    first, second = keywords.get("precision_mode"), keywords.get("precision_mode_v2")
    if first is not None and second is not None:
        raise OPTIONS_EXCLUDE.error(
            Text(
                "--precision-mode {first} and --precision-mode-v2 {second} both name a mode",
                first=first,
                second=second,
            ),
            help=Text("give one of them"),
        )
    known = _MODES if second is None else PrecisionMode.second_names()
    name = (first or PrecisionMode.FORCE_FP16.value) if second is None else second
    if name not in known:
        raise BAD_OPTION.error(
            Text("no precision mode is called {second} here", second=repr(name)),
            help=Text("modes are {known}", known=", ".join(known)),
        )
    return known[name]


_MODES = {mode.value: mode for mode in PrecisionMode}


def _texts(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


_SWITCH = {"0": False, "1": True}


class PrecisionOptions(Result, frozen=True):
    """ATC's finer controls of precision, the convention of biases and a choice of passes, as given."""

    keep_dtype: Annotated[Path | None, Option(
        "--keep-dtype", "Nodes, or OpType::T, that keep the model's dtypes, one per line.",
        atc="keep_dtype", metavar="FILE",
        doc="file of nodes that keep the model's dtypes, in ATC's format like the next two.",
    )] = None  # fmt: skip
    customize_dtypes: Annotated[Path | None, Option(
        "--customize-dtypes",
        "Lines `node::InputDtype:float16,OutputDtype:float16` that set dtypes.",
        atc="customize_dtypes", metavar="FILE", doc="file of dtypes by node or operator.",
    )] = None  # fmt: skip
    modify_mixlist: Annotated[Path | None, Option(
        "--modify-mixlist",
        "JSON that moves operators between the lists of the mixed precision modes.",
        atc="modify_mixlist", metavar="FILE",
        doc="file that moves operators between the lists of the mixed modes.",
    )] = None  # fmt: skip
    input_fp16_nodes: Annotated[str, Option(
        "--input-fp16-nodes", "Inputs that are fed as float16.", atc="input_fp16_nodes",
        metavar='"x;y"', doc="inputs that are fed as float16, joined by `;`.",
    )] = ""  # fmt: skip
    output_type: Annotated[str, Option(
        "--output-type", "Dtype of all outputs, such as FP32 or FP16, or of single ones.",
        atc="output_type", metavar='TYPE|"node:0:TYPE;..."',
        doc="`FP32` or another for all outputs, or `node:index:TYPE` joined by `;`.",
    )] = ""  # fmt: skip
    op_precision_mode: Annotated[Path | None, Option(
        "--op-precision-mode", "Lines such as `Softmax=high_performance`, by operator or by node.",
        atc="op_precision_mode", metavar="FILE",
        doc="file of implementation modes by operator and node.",
    )] = None  # fmt: skip
    implementations: Annotated[str, Option(
        doc="the same for operators alone, as text, `Operator=mode` joined by `;`; the file "
        "counts more.",
    )] = ""  # fmt: skip
    allow_hf32: Annotated[bool | None, Option(
        "--allow-hf32",
        "Round float32 operands of the cube to HF32 where the SoC has it: everywhere or "
        "nowhere; by default only in convolutions.", atc="allow_hf32",
        values={"true": True, "false": False},
        doc="True or False for all float32 products of the cube; None, the default, for HF32 in "
        "convolutions alone. It matters on SoCs whose cube has HF32.",
    )] = None  # fmt: skip
    is_weight_clip: Annotated[bool, Option(
        "--is-weight-clip", "Clamp weights to finite values when they are narrowed.",
        atc="is_weight_clip", values=_SWITCH,
    )] = True  # fmt: skip
    only_atc_passes: Annotated[bool, Option(
        "--only-atc-passes",
        "Leave out rewrites that no known pass of ATC performs, such as fusing a softmax.",
    )] = False  # fmt: skip
    quant_bias: Annotated[QuantBias | None, Option(
        "--quant-bias",
        "Form of the biases of int8 layers in MODEL: unfolded, as AMCT writes them; folded, "
        "which includes the offset of the data, as earlier versions of `quantize` wrote them; "
        "auto: as the file's metadata state.", values=_texts([AUTO, *(row.value for row in QuantBias)]), default=AUTO,
        parse=parse_quant_bias,
        doc="`unfolded` or `folded`, the convention of the biases of a model in the deploy form; "
        "`auto`, the default, goes by the file's metadata.", takes="str",
    )] = None  # fmt: skip
    operator_list: Annotated[str, Option(
        "--list",
        "Operator list that the model must keep to, or `any` of them; `atc-py ops lists` "
        "names them.",
        metavar="NAME", variable=LIST_VARIABLE,
        doc="the list of operators that a model must keep to, such as `cann-9.0`; by default that "
        "of the environment's ATC_PY_LIST, else `any`: any list may take a node.",
        takes="str | None",
    )] = DEFAULT_LIST  # fmt: skip
    strict_list: Annotated[bool, Option(
        "--strict-list", "Keep to the letter of the list, even where boards are known to take more.",
        doc="let rules that boards contradict refuse nodes like any other.",
    )] = False  # fmt: skip
    cann: Annotated[str, Option(
        "--cann", "Release of CANN whose deviations from ONNX are checked.",
        values=CANN_RELEASES, parse=_parse_release,
        doc="release of CANN whose deviations from ONNX count: 5 to 8, 8.5, or 9.0 to 9.2; 9 is the "
        "newest of them that is not a beta.", takes="str | int",
    )] = NEWEST_CANN  # fmt: skip
    semantics: Annotated[Semantics, Option(
        "--semantics", "Compute nodes as ONNX defines them, or as CANN's parser reads them.",
        values=_texts(row.value for row in Semantics), parse=_parse_semantics,
        doc="`onnx`, the default, or `cann`: nodes compute what CANN's parser makes of them.",
        takes="str",
    )] = Semantics.ONNX  # fmt: skip

    def given(self) -> dict[str, str]:
        """The controls that differ from their defaults, as texts by name."""
        default = PrecisionOptions()
        unlike = {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if value != getattr(default, name)
        }
        said = {name: _option_text(value) for name, value in unlike.items()}
        if self.allow_hf32 is not None:
            said["allow_hf32"] = str(self.allow_hf32).lower()
        return said


def _option_text(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return str(int(value) if isinstance(value, bool) else value)


_Soc = Annotated[str, Option(
    "--soc", "SoC to compile for.", old="--soc-version", atc="soc_version", metavar="NAME",
    doc="name of the SoC; `sim` is the generic device.",
)]  # fmt: skip
_Mode = Annotated[PrecisionMode,
    Option(
        "--precision-mode", "How dtypes may change.", keyword="precision_mode",
        atc="precision_mode", values=_texts(_MODES), default=None,
        shown=PrecisionMode.FORCE_FP16.value, doc="any of ATC's modes; `force_fp16` by default.",
        takes="str | None",
    ),
    Option(
        "--precision-mode-v2",
        "The precision mode by its name in ATC's second scheme, instead of --precision-mode.",
        keyword="precision_mode_v2", atc="precision_mode_v2",
        values=_texts(PrecisionMode.second_names()), default=None,
        doc="the mode by ATC's second names, in place of `precision_mode`.", takes="str | None",
    ),
    Joint(_parse_mode),
]  # fmt: skip
_SHAPES = Option(
    "--input-shape --input_shape",
    "Dims of inputs that the model leaves open; 1~8 or -1 for a dim that each run decides. "
    "May be repeated.", read=joined_shapes,
    keyword="input_shape", metavar='"x:1,3,224,224;y:..."', default="", parse=parse_shapes,
    doc="dims for inputs, by name, or the text form.", takes="str | Mapping[str, Sequence[int]]",
)  # fmt: skip
_Specs = Annotated[Path | None, Option(
    "--op-specs --op_specs",
    "Folder of operator specifications that replace or extend atc-py's own.", metavar="DIR",
    doc="folder of specifications that override the built-in ones.",
)]  # fmt: skip


class CheckOptions(Result, frozen=True):
    """The user's options for a check."""

    soc: _Soc = "sim"
    precision_mode: _Mode = PrecisionMode.FORCE_FP16
    precision: PrecisionOptions = msgspec.field(default_factory=PrecisionOptions)
    input_shapes: Annotated[Mapping[str, Shape], _SHAPES] = msgspec.field(default_factory=dict)
    op_specs: _Specs = None

    @classmethod
    def of(cls, options: "CompileOptions") -> "CheckOptions":
        """The part of the options of a compilation that a check has, too."""
        return cls(**{name: getattr(options, name) for name in cls.__struct_fields__})


def select_gears(keywords: Mapping[str, Any]) -> Gears | None:
    """The gears that keywords list, for inputs of the shapes in them; None without."""
    lists = {kind: keywords.get(kind.keyword, "") for kind in GearKind}
    shapes, layout = keywords.get("input_shape", ""), keywords.get("input_format", "")
    if not any(lists.values()):
        return None
    from atc_py.target import find_soc

    most = find_soc(keywords.get("soc", "sim")).most_gears
    return parse_gear_lists(lists, shapes, layout, most)


def _select_auto_gears(keywords: Mapping[str, Any]) -> AutoGears | None:
    given = keywords.get("auto_gears", "")
    if not given:
        return None
    others = [kind.option for kind in GearKind if keywords.get(kind.keyword)]
    if others:
        raise OPTIONS_EXCLUDE.error(
            Text("--auto-gears and {others} both list gears", others=others[0]),
            help=Text("give one of them"),
        )
    shapes = shapes_text(keywords.get("input_shape", ""))
    return parse_auto_gears(given, parse_gear_shapes(shapes) if shapes else {})


def _shapes(keywords: Mapping[str, Any]) -> tuple[dict[str, Shape], Ranges]:
    if keywords.get("auto_gears") or select_gears(keywords) is not None:
        return {}, {}
    return shapes_and_ranges(keywords.get("input_shape", ""))


class CompileOptions(Result, frozen=True):
    """The user's options for one compilation, in the order of the help of `convert`.

    Attributes:
        gears: the lists of shapes that the model is compiled for, which has no `input_shapes` then;
            None for one shape.
        auto_gears: the same by names of dims, before the file is read.
        ranges: of inputs with dims that each run decides, the range of every dim.
    """

    soc: _Soc = "sim"
    precision_mode: _Mode = PrecisionMode.FORCE_FP16
    precision: PrecisionOptions = msgspec.field(default_factory=PrecisionOptions)
    fix: Annotated[FixRules | None, Option(
        "--fix", "First rewrite what the list refuses, as `atc-py fix` does.",
        doc="compile the model in the form that `fix_model` would write; None, the default, as it "
        "is. The mapping has the rules, see `RuleKeywords`; an empty one stands for their "
        "defaults.", takes="RuleKeywords | None",
    )] = None  # fmt: skip
    input_shapes: Annotated[
        Mapping[str, Shape], _SHAPES, Joint(lambda keywords: _shapes(keywords)[0])
    ] = msgspec.field(default_factory=dict)
    ranges: Annotated[
        Mapping[str, tuple[DimRange, ...]], Joint(lambda keywords: _shapes(keywords)[1])
    ] = msgspec.field(default_factory=dict)
    gears: Annotated[Gears | None,
        Option(
            "--batch-sizes",
            "Gears: batch sizes, one graph each, for -1 on axis 0 in --input-shape.",
            keyword="batch_sizes", atc="dynamic_batch_size", metavar="1,2,4", default="",
            doc='gears of batch sizes, such as `"1,2,4"` or `[1, 2, 4]`: numbers that take the '
            "place of -1 on axis 0 of inputs.", takes="str | Iterable[int]",
        ),
        Option(
            "--image-sizes", "Gears: heights and widths, one graph each, for -1 in --input-shape.",
            keyword="image_sizes", atc="dynamic_image_size", metavar='"320,320;640,640"',
            default="",
            doc='gears of image sizes, such as `"320,320;640,640"` or `[(320, 320), (640, 640)]`: '
            "heights and widths that take the places of -1.", takes="str | Iterable[Iterable[int]]",
        ),
        Option(
            "--dims", "Gears: numbers for every -1 in --input-shape, in its order.", keyword="dims",
            atc="dynamic_dims", metavar='"1,16;2,32"', default="",
            doc='gears of any dims, such as `"1,16;2,32"`: numbers that take the places of -1 in '
            "the order of `input_shape`. Of the three one may be given.",
            takes="str | Iterable[Iterable[int]]",
        ),
        Joint(select_gears),
    ] = None  # fmt: skip
    auto_gears: Annotated[AutoGears | None,
        Option(
            "--auto-gears", "Gears for the model's open dims, by name: powers of two in a "
            "range, or numbers; data between gears are padded where that is "
            "harmless.",
            keyword="auto_gears", metavar='"1~512"|"NAME=1~512;..."', default="",
            doc='gears for open dims by name: `"1~512"` for the powers of two in a range, or '
            '`"batch=1,4;past=1~64;total=past+1"`. Data of sizes between them are padded where '
            "that is harmless.", takes="str",
        ),
        Joint(_select_auto_gears),
    ] = None  # fmt: skip
    input_format: Annotated[InputFormat, Option(
        "--input-format",
        "Layout of the inputs, for AIPP and gears of image sizes; data are not moved.",
        atc="input_format", values=_texts(row.value for row in InputFormat),
        default=InputFormat.NCHW.value, parse=parse_input_format,
        doc="`NCHW`, the default, `NHWC`, `NCDHW` or `ND`: what the axes of inputs are. It labels "
        "them for AIPP and for gears of image sizes; data are never moved.", takes="str",
    )] = InputFormat.NCHW  # fmt: skip
    aipp: Annotated[Path | None, Option(
        "--aipp",
        "AIPP configurations in ATC's format; their inputs then take pictures.",
        atc="insert_op_conf",
        doc="file of AIPP configurations in ATC's format: inputs that they are for take pictures, "
        "which the device turns into what the network takes.",
    )] = None  # fmt: skip
    out_nodes: Annotated[tuple[OutNode, ...], Option(
        "--out-nodes",
        "Values that become the outputs, in this order; nodes that they do not need are "
        "left out.",
        atc="out_nodes", metavar='"tensor;..."|"node:0;..."', default="", parse=parse_out_nodes,
        doc="the results that become the outputs, in order: names of tensors, or `node:index`, "
        "joined by `;`. Empty, the default, for the model's own outputs.", takes="str",
    )] = ()  # fmt: skip
    kernels: Annotated[Path | None, Option(
        "--kernels", "Folder for a copy of the kernel stubs.", metavar="DIRECTORY",
        parse=partial(output_folder, "--kernels"),
    )] = None  # fmt: skip
    templates: Annotated[Path | None, Option(
        "--templates", "Folder of kernel templates that replace or extend atc-py's own.",
        metavar="DIR",
    )] = None  # fmt: skip
    dump_ir: Annotated[Path | None, Option(
        "--dump-ir", "Folder for the text of the graph after each stage.", metavar="DIRECTORY",
        parse=partial(output_folder, "--dump-ir"),
    )] = None  # fmt: skip
    disable_pass: Annotated[frozenset[str], Option(
        "--disable-pass", "Leave out an optional pass.", metavar="NAME",
        doc="names of optional passes that do not run.",
    )] = frozenset()  # fmt: skip
    fusion_switch_file: Annotated[Path | None, Option(
        "--fusion-switch-file",
        "ATC's file that switches passes on and off: lines `PassName:off`, or JSON.",
        atc="fusion_switch_file",
        doc="ATC's file that switches passes on and off, as lines or as JSON.",
    )] = None  # fmt: skip
    disable_reuse_memory: Annotated[bool, Option(
        "--disable-reuse-memory",
        "1: give every value its own address; needs more memory but makes debugging easier.",
        atc="disable_reuse_memory", values=_SWITCH, doc="give every value an address of its own.",
    )] = False  # fmt: skip
    enable_small_channel: Annotated[bool, Option(
        "--enable-small-channel",
        "1: store filters of at most 4 channels in FRACTAL_Z_C04, which holds 4 channels "
        "for each tap.",
        atc="enable_small_channel", values=_SWITCH,
        doc="store filters of at most four channels with four for each tap.",
    )] = False  # fmt: skip
    op_specs: _Specs = None
    verify: Annotated[bool, Option("--verify", "Check the graph after every pass.")] = False
    replace_shapes: Annotated[bool, Option(
        doc="the dims of `input_shape` count also where the model fixes others, as they do with "
        "ATC; by default they are refused.",
    )] = False  # fmt: skip
    refuse_as_parser: Annotated[bool, Option(
        doc="models that break a rule of CANN's parser about whole models are refused, as they are "
        "with ATC; by default these rules are warnings of the check.",
    )] = False  # fmt: skip
    atc_cmdline: Annotated[str, Option(
        doc="command line of `atc` that the offline model records, as mode 6 shows it.",
    )] = ""  # fmt: skip
    graph_name: Annotated[str, Option(
        doc="name of the graph in the offline model; by default the one in the ONNX file.",
    )] = ""  # fmt: skip
