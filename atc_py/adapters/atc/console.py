"""The streams of a run of atc."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atc_py.diag import Diagnostic


@dataclass(frozen=True, slots=True)
class Console:
    """Streams that a run of atc writes to, and what it warns of."""

    say: Callable[[str], None]  # prints a line to standard output
    note: Callable[[str], None]  # prints a line to standard error
    report: Callable[[Sequence[Diagnostic]], None]  # prints findings of ours, to standard error
    # is called with the name of each stage of a compilation
    on_stage: Callable[[str], None] | None = None
    # what is said after the verdict of a success
    warnings: list[Diagnostic] = field(default_factory=list)
