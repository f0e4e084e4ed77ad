"""Options of a compilation, as values that no later stage changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import msgspec

from atc_py.diag.codes import BAD_OPTION
from atc_py.options.fix_rules import FixRules
from atc_py.options.gears import Gears
from atc_py.options.input_format import InputFormat
from atc_py.options.out_nodes import OutNode
from atc_py.options.ranges import DimRange
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

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


CANN_GENERATIONS = (5, 6, 7, 8, 9)
"""Generations of CANN that options name; `op_specs/cann.yaml` says by which sources each is read."""

NEWEST_CANN = CANN_GENERATIONS[-1]
"""Generation of CANN whose deviations from ONNX are reported where none is chosen."""


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
    def compiled(cls) -> tuple[PrecisionMode, ...]:
        """The modes that models can be compiled in: all of them."""
        return tuple(cls)

    @classmethod
    def second_names(cls) -> Mapping[str, PrecisionMode]:
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
        return self.value.startswith("allow_mix_precision")

    @property
    def is_bfloat16(self) -> bool:
        """True if it makes floats bfloat16."""
        return self.value.endswith("bf16")


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

    @classmethod
    def chosen(cls, name: str) -> QuantBias | None:
        """The convention called `name`; None for `auto`.

        Raises:
            AtcError: BAD_OPTION for any other name.
        """
        known = {AUTO: None, **{each.value: each for each in cls}}
        if name not in known:
            raise BAD_OPTION.error(
                Text(
                    "quant_bias must be one of {known}, found {name}",
                    known=", ".join(known),
                    name=repr(name),
                ),
                help=Text("leave it out, and the file's metadata decide"),
            )
        return known[name]


class PrecisionOptions(Result, frozen=True):
    """ATC's finer controls of precision, the convention of biases and a choice of passes, as given.

    Attributes:
        keep_dtype: file of nodes that keep the model's dtypes, or None.
        customize_dtypes: file of dtypes by node or operator, or None.
        modify_mixlist: file that moves operators between the lists of the mixed modes, or None.
        input_fp16_nodes: names of inputs that are fed as float16, joined by `;`.
        output_type: a dtype for all outputs, or `node:index:TYPE` joined by `;`.
        op_precision_mode: file of implementation modes by operator and node, or None.
        implementations: `Operator=mode` joined by `;`, where the file says nothing.
        allow_hf32: whether all float32 products of the cube round to HF32; None for the defaults.
        is_weight_clip: whether weights that become narrower are clamped to finite values.
        only_atc_passes: whether rewrites that no known pass of ATC does are left out.
        quant_bias: the convention of biases of int8 layers; None to use the file's.
        operator_list: name of the list of operators that the model must keep to, or `any`.
        strict_list: whether rules that boards contradict refuse nodes like any other.
        cann: generation of CANN whose deviations from ONNX count.
        semantics: whether nodes mean what ONNX says, or what CANN makes of them.
    """

    keep_dtype: Path | None = None
    customize_dtypes: Path | None = None
    modify_mixlist: Path | None = None
    input_fp16_nodes: str = ""
    output_type: str = ""
    op_precision_mode: Path | None = None
    implementations: str = ""
    allow_hf32: bool | None = None
    is_weight_clip: bool = True
    only_atc_passes: bool = False
    quant_bias: QuantBias | None = None
    operator_list: str = DEFAULT_LIST
    strict_list: bool = False
    cann: int = NEWEST_CANN
    semantics: Semantics = Semantics.ONNX

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


class CheckOptions(Result, frozen=True):
    """The user's options for a check.

    Attributes:
        soc: name of a row of the SoC table; `sim` is the generic device.
        precision_mode: how dtypes may change.
        input_shapes: dims for inputs that the models leave open, by input name.
        op_specs: folder of specifications that override the built-in ones, or None.
        precision: the finer controls of precision.
    """

    soc: str = "sim"
    precision_mode: PrecisionMode = PrecisionMode.FORCE_FP16
    input_shapes: Mapping[str, Shape] = msgspec.field(default_factory=dict)
    op_specs: Path | None = None
    precision: PrecisionOptions = msgspec.field(default_factory=PrecisionOptions)


class CompileOptions(Result, frozen=True):
    """The user's options for one compilation.

    Attributes:
        soc: name of a row of the SoC table; `sim` is the generic device.
        precision_mode: how dtypes may change.
        input_shapes: dims for inputs that the model leaves open, by input name.
        disabled_passes: names of optional passes that do not run.
        fusion_switch_file: ATC's file that switches passes on and off, or None.
        dump_ir: folder for the text form after each stage, or None.
        kernels: folder for a copy of the kernel stubs, or None.
        templates: folder of kernel templates that replace or extend the built-in ones, or None.
        verify: check the IR after every pass, not only where a phase ends.
        op_specs: folder of specifications that override the built-in ones, or None.
        precision: the finer controls of precision.
        reuse_memory: whether values may share addresses in the device's memory.
        small_channel: whether filters of at most four channels are stored with four for each tap.
        fix: the rules by which the model is fixed before it is compiled, or None.
        out_nodes: the results that become the model's outputs, in order; empty for its own.
        input_format: the layout that inputs of images are in; it labels them and moves no data.
        gears: the lists of shapes that the model is compiled for, which has no `input_shapes` then;
            None for one shape.
        ranges: of inputs with dims that each run decides, the range of every dim.
        replace_shapes: whether `input_shapes` count also where the model fixes other dims, as with ATC.
        atc_cmdline: command line of `atc` that the offline model records; empty for none.
        graph_name: name of the graph in the offline model; empty for the one in the source model.
        aipp: file of AIPP configurations, which make pictures of inputs, or None.
    """

    soc: str = "sim"
    precision_mode: PrecisionMode = PrecisionMode.FORCE_FP16
    input_shapes: Mapping[str, Shape] = msgspec.field(default_factory=dict)
    disabled_passes: frozenset[str] = frozenset()
    fusion_switch_file: Path | None = None
    dump_ir: Path | None = None
    kernels: Path | None = None
    templates: Path | None = None
    verify: bool = False
    op_specs: Path | None = None
    precision: PrecisionOptions = msgspec.field(default_factory=PrecisionOptions)
    reuse_memory: bool = True
    small_channel: bool = False
    fix: FixRules | None = None
    out_nodes: tuple[OutNode, ...] = ()
    input_format: InputFormat = InputFormat.NCHW
    gears: Gears | None = None
    ranges: Mapping[str, tuple[DimRange, ...]] = msgspec.field(default_factory=dict)
    replace_shapes: bool = False
    atc_cmdline: str = ""
    graph_name: str = ""
    aipp: Path | None = None
