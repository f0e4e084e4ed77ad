"""Rows of a sweep: one combination of model, SoC, precision mode and operator list each."""

from enum import Enum

import msgspec

from atc_py.system.structs import Result


class SweepVerdict(Enum):
    """Verdicts of a row."""

    COMPILES = "compiles"
    REFUSED = "does not compile"
    UNREADABLE = "cannot be read"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    BUG = "failed"


FAILED = frozenset(
    {
        SweepVerdict.CRASHED,
        SweepVerdict.TIMED_OUT,
        SweepVerdict.OUT_OF_MEMORY,
        SweepVerdict.BUG,
    }
)
"""Verdicts of rows that did not come to their end."""


class Combination(Result, frozen=True):
    """One combination of the grid.

    Attributes:
        model: name of the model in the sweep.
        soc: name of the SoC.
        precision_mode: name of the precision mode.
        operator_list: name of the operator list.
    """

    model: str
    soc: str
    precision_mode: str
    operator_list: str


class SweepOutput(Result, frozen=True):
    """The error of an output of the model, over all samples.

    Attributes:
        name: of the output.
        cosine: cosine similarity with the original's; None where it is not a number.
        snr: in dB; None where it is infinite or not a number.
        distance: relative Euclidean distance; None where it is not a number.
        max_absolute: largest absolute difference; None where it is not a number.
        lost: share of values that are NaN or infinite though the original's are finite.
    """

    name: str
    cosine: float | None
    snr: float | None
    distance: float | None
    max_absolute: float | None
    lost: float


class SweepRow(Result, frozen=True):
    """A row of a sweep. What is not known, because nobody asked or it failed before, is None.

    Attributes:
        combination: what it is about.
        path: the model's file, as the user gave it.
        verdict: what became of it.
        standing: the worst level of the findings of the check.
        reasons: how many findings of each code there are for a verdict other than `compiles`, or
            for a comparison that failed.
        message: the first of them, or how the row failed.
        message_zh: the same in Chinese.
        fixed: True if it compiles because rules rewrote nodes that the list refuses; None without
            --fix.
        file_bytes: size of the offline model.
        memory_bytes: device memory that it needs.
        estimated_seconds: expected time of a run on the device.
        evidence: the figures of boards that support that time.
        fits: False if its memory is larger than the device's; None too where that is not published.
        outputs: errors at the outputs, with --data or --random.
        cosine: the least of the outputs' cosine similarities.
        distance: the largest of their distances.
        proposed: dims that the check proposed for those that the model leaves open, with --propose.
        report: the page about the row, relative to the folder of results.
        digest: of everything that the row follows from.
    """

    combination: Combination
    path: str
    verdict: SweepVerdict
    standing: str | None = None
    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    message: str = ""
    message_zh: str = ""
    fixed: bool | None = None
    file_bytes: int | None = None
    memory_bytes: int | None = None
    estimated_seconds: float | None = None
    evidence: str | None = None
    fits: bool | None = None
    outputs: tuple[SweepOutput, ...] = ()
    cosine: float | None = None
    distance: float | None = None
    proposed: str = ""
    report: str | None = None
    digest: str = ""
