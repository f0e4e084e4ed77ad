"""The rules that fix a model, as a value that no later stage changes."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from atc_py.options.bound_values import bound_values, value_ranges
from atc_py.options.option import Option
from atc_py.system.structs import Result


class FixRules(Result, frozen=True):
    """The rules that fix a model, and what they may assume, as `convert` and `fix_model` take them."""

    only: Annotated[
        frozenset[str],
        Option(
            "--only",
            "Apply this rule; may be repeated.",
            metavar="RULE",
            doc="names of the rules that may apply; empty, the default, for all.",
        ),
    ] = frozenset()
    skip: Annotated[
        frozenset[str],
        Option(
            "--skip",
            "Leave this rule out; may be repeated.",
            metavar="RULE",
            doc="names of rules that do not apply.",
        ),
    ] = frozenset()
    approximate: Annotated[
        bool,
        Option("--allow-approximate", "Apply rules whose error has no bound, too."),
    ] = False
    bind: Annotated[
        Mapping[str, float],
        Option(
            "--bind",
            "Make an input a constant of this value; may be repeated.",
            metavar="NAME=VALUE",
            read=bound_values,
            parse=dict,
            doc="values of inputs that become constants, by name; every element gets the value.",
        ),
    ] = msgspec.field(default_factory=dict)
    ranges: Annotated[
        Mapping[str, tuple[int, int]],
        Option(
            "--range",
            "Bounds of an integer input, both included; may be repeated.",
            metavar="NAME=LOW:HIGH",
            read=value_ranges,
            parse=dict,
            doc="bounds of integer inputs, both included, by name.",
        ),
    ] = msgspec.field(default_factory=dict)
    for_precision: Annotated[
        bool | None,
        Option(
            "--for-precision/--no-for-precision",
            "Replace listed nodes that overflow or lose accuracy in float16, too; by default where "
            "the precision mode is force_fp16.",
            doc="replace listed nodes that overflow or lose accuracy in float16, too; None, the "
            "default, for that in precision mode force_fp16 alone.",
        ),
    ] = None
    for_cann: Annotated[
        bool,
        Option(
            "--for",
            "Replace nodes, too, that CANN computes otherwise than ONNX, or refuses, on the "
            "generation of --cann.",
            values={"cann": True},
            doc="replace nodes, too, that the generation `cann` of CANN computes otherwise than ONNX, "
            "or that its parser refuses; False by default.",
        ),
    ] = False
    all_findings: Annotated[bool, Option("--all", "Remove findings of level rewrite, too.")] = False
