"""Options of fixing a model, as values that no later stage changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atc_py.options.compile_options import CheckOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FixOptions"]


@dataclass(frozen=True, slots=True)
class FixOptions:
    """The user's options for fixing a model.

    Attributes:
        check: the list, the precision mode, the SoC and the dims that the model is fixed for.
        only: names of the rules that may apply; empty for all.
        skip: names of rules that do not apply.
        approximate: whether rules without a bound may apply.
        all_findings: whether findings of level rewrite are removed as well.
        dry_run: whether nothing is written.
        seeds: number of random inputs on which both models run; 0 for no proof.
        bind: values of inputs that become constants, by name.
        ranges: bounds of integer inputs, both included, by name.
        external: whether weights go into a file beside the model.
    """

    check: CheckOptions = field(default_factory=CheckOptions)
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    approximate: bool = False
    all_findings: bool = False
    dry_run: bool = False
    seeds: int = 3
    bind: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    external: bool = False
