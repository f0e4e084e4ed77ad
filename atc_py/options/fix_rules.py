"""The choice of rules that fix a model, as a value that no later stage changes."""

from collections.abc import Mapping

import msgspec

from atc_py.system.structs import Result


class FixRules(Result, frozen=True):
    """The user's choice of rules, and what they may assume of the model's inputs.

    Attributes:
        only: names of the rules that may apply; empty for all.
        skip: names of rules that do not apply.
        approximate: whether rules without a bound may apply.
        all_findings: whether findings of level rewrite are removed as well.
        bind: values of inputs that become constants, by name; every element gets the value.
        ranges: bounds of integer inputs, both included, by name.
        for_precision: whether listed nodes that float16 harms are replaced, too; None for that in
            precision mode force_fp16 alone.
        for_cann: whether nodes are replaced, too, that mean another thing on CANN than in ONNX.
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    approximate: bool = False
    all_findings: bool = False
    bind: Mapping[str, float] = msgspec.field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    for_precision: bool | None = None
    for_cann: bool = False
