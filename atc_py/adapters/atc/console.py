"""The streams of a run of atc."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atc_py.diag import Diagnostic


@dataclass(frozen=True, slots=True)
class Console:
    """Streams that a run of atc writes to, and what it warns of.

    Attributes:
        say: prints a line to standard output.
        note: prints a line to standard error.
        report: prints findings of ours, to standard error.
        on_stage: is called with the name of each stage of a compilation.
        warnings: what is said after the verdict of a success.
    """

    say: Callable[[str], None]
    note: Callable[[str], None]
    report: Callable[[Sequence[Diagnostic]], None]
    on_stage: Callable[[str], None] | None = None
    warnings: list[Diagnostic] = field(default_factory=list)
