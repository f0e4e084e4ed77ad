"""Progress of long work: a line on standard error, on terminals alone."""

import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from atc_py.text import Text
from atc_py.text.language import language, spoken

PATIENCE = 2.0
"""Seconds of work after which progress shows; what is shorter needs none."""

_PERIOD = 0.25
"""Seconds between two paintings of the line."""

_STAGES = (
    "read", "fold", "check", "lower", "passes", "emit", "rehearse", "package", "estimate",
)  # fmt: skip
"""Stages of a conversion, in order; a test compares them with one."""

_COUNTED = re.compile(
    r"(?P<kind>gear|trial) (?P<begun>\d+) of (?P<most>at most )?(?P<total>\d+)"
    r"|(?P<done>\d+) of (?P<all>\d+) (?P<noun>kernels|launches|layers|models|rows)"
)
"""Counts in the names of stages: one that has begun, or those that are done."""

_WIDTH = 20
_MINUTE = 60


class Progress:
    """The current stage, with its share and the time left as far as they are known.

    It is called with the name of each stage as it begins, from any thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage = "starting"
        self._kind = ""
        self._began = clock()
        self._share: float | None = None
        self._bound = ""

    def __call__(self, stage: str) -> None:
        found = _COUNTED.search(stage)
        if found is None:
            self._stage, self._share, self._kind = stage_text(stage), None, ""
            return
        kind = found["kind"] or found["noun"]
        if found["kind"] is not None:
            done, total = int(found["begun"]) - 1, int(found["total"])
        else:
            done, total = int(found["done"]), int(found["all"])
        if kind != self._kind:
            self._kind, self._began = kind, self._clock()
        self._bound = found["most"] or ""
        self._share = min(done / total, 1.0) if total else None
        self._stage = stage

    def line(self) -> str:
        """The line to show: `[#####...............] 25 %, 0:30 left: 12 of 48 kernels`."""
        share = self._share
        if share is None:
            return spoken(self._stage)
        full = int(_WIDTH * share)
        bar = f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:.0%}".replace("%", " %")
        if not share or self._stage.endswith(" left"):
            return f"{bar}: {spoken(self._stage)}"
        left = (self._clock() - self._began) * (1 - share) / share
        time_left = Text(
            "at most {time} left" if self._bound else "{time} left", time=_minutes(left)
        )
        return f"{bar}, {time_left.in_language(language())}: {spoken(self._stage)}"


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Give a `Progress` whose line is painted on standard error while the block runs.

    It appears after PATIENCE seconds and is erased at the end.
    """
    progress, ended = Progress(), threading.Event()
    painter = threading.Thread(target=_paint, args=(progress, ended), daemon=True)
    painter.start()
    try:
        yield progress
    finally:
        ended.set()
        painter.join()


def _paint(progress: Progress, ended: threading.Event) -> None:
    if ended.wait(PATIENCE):
        return
    while True:
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{progress.line()[:width]}")
        sys.stderr.flush()
        if ended.wait(_PERIOD):
            break
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()


def stage_text(stage: str) -> str:
    """`stage 3 of 9: check` for a stage of a conversion; others stay as they are."""
    if stage not in _STAGES:
        return stage
    return Text(
        "stage {index} of {count}: {stage}",
        index=_STAGES.index(stage) + 1,
        count=len(_STAGES),
        stage=Text(stage, context="stage"),
    )


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // _MINUTE}:{whole % _MINUTE:02d}"
