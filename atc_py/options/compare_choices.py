"""Options of `compare_model` and `plan_model` as keywords."""

import os
from collections.abc import Iterable

from atc_py.options.choices import PrecisionSettings, RuleChoice


class _CompilingChoice(PrecisionSettings, total=False):
    """Options that a comparison hands to the compilation.

    Attributes:
        fix: as in `ConvertChoice`, and so are the others.
        aipp: inputs that it is for take pictures; the original gets what AIPP makes of them.
        input_format: what the axes of inputs are.
        out_nodes: results that become the outputs.
        disable_pass: optional passes that do not run; the next four are as there, too.
    """

    fix: RuleChoice | None
    aipp: str | os.PathLike[str] | None
    input_format: str
    out_nodes: str
    disable_pass: Iterable[str]
    fusion_switch_file: str | os.PathLike[str] | None
    disable_reuse_memory: bool
    enable_small_channel: bool
    verify: bool


COMPILING = frozenset(_CompilingChoice.__annotations__)
"""Names of the options that go to the compilation."""


class CompareChoice(_CompilingChoice, total=False):
    """Options of `compare_model` besides its parameters.

    Attributes:
        suggest_samples: most samples that judge a trial of the search for nodes to keep, at even
            distances; None, the default, for all.
        jobs: processes that make its trials; 1, the default, makes them here. The result is the same.
    """

    suggest_samples: int | None
    jobs: int


class PlanChoice(_CompilingChoice, total=False):
    """Options of `plan_model` besides its parameters.

    Attributes:
        judge: most samples that judge each trial, at even distances; None, the default, for all. The
            plan is verified on all.
        bfloat16: allow bfloat16 where the SoC has it; by default.
        jobs: processes that make trials; 1, the default, makes them here. The plan is the same.
    """

    judge: int | None
    bfloat16: bool
    jobs: int
