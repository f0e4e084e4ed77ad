"""Options of comparisons and of plans beside those of a compilation."""

from functools import partial
from typing import Annotated

from atc_py.diag import BAD_OPTION
from atc_py.options.compile_options import CheckOptions
from atc_py.options.fix_rules import FixRules
from atc_py.options.option import MOST_JOBS, Option, keywords_of
from atc_py.system.structs import Result
from atc_py.text import Text

_GEARS = {"batch_sizes", "image_sizes", "dims"}

COMPARED = (
    keywords_of(CheckOptions) | keywords_of(FixRules) | _GEARS | {"fix", "aipp", "input_format"}
)
"""Options of a compilation that the command `compare` takes."""

NOT_REPORTED = frozenset({"kernels", "dump_ir"})
"""Options of a compilation that the command `report` does not take: they write folders."""

NOT_COMPARED = NOT_REPORTED | _GEARS | {"templates", "replace_shapes", "atc_cmdline", "graph_name"}
"""Keywords of a compilation that a comparison does not hand on: for what is written, and several shapes."""


def _positive(name: str, count: int | None) -> int | None:
    """A count of 1 or more, or None."""
    if count is not None and count < 1:
        raise BAD_OPTION.error(
            Text("{name} must be 1 or more, found {count}", name=name, count=count)
        )
    return count


def _jobs(doc: str) -> Option:
    return Option(
        "--jobs",
        "Processes that make trial compilations at the same time; the result is the same.",
        metavar="N",
        numbers=(1, MOST_JOBS),
        parse=partial(_positive, "jobs"),
        shown=True,
        doc=doc,
    )


class SearchOptions(Result, frozen=True):
    """The user's options for the search for nodes to keep in float32."""

    suggest_samples: Annotated[int | None, Option(
        "--suggest-samples",
        "Judge each of these compilations by at most so many of the samples, at even distances; "
        "by default by all. What is suggested is measured on all.", numbers=(1, None),
        parse=partial(_positive, "suggest_samples"),
        doc="most samples that judge a trial of the search for nodes to keep, at even distances; "
        "None, the default, for all.",
    )] = None  # fmt: skip
    jobs: Annotated[
        int,
        _jobs(
            "processes that make its trials; 1, the default, makes them here. The result is the same."
        ),
    ] = 1


class PlanOptions(Result, frozen=True):
    """The user's options for the search for a plan."""

    judge: Annotated[int | None, Option(
        "--judge",
        "Judge each trial by at most N of the samples, at even distances; by default by all. The "
        "plan is verified on all.", metavar="N", numbers=(1, None),
        parse=partial(_positive, "judge"),
        doc="most samples that judge each trial, at even distances; None, the default, for all. "
        "The plan is verified on all.",
    )] = None  # fmt: skip
    jobs: Annotated[
        int,
        _jobs("processes that make trials; 1, the default, makes them here. The plan is the same."),
    ] = 1
    bfloat16: Annotated[bool, Option(
        "--no-bfloat16", "Leave out bfloat16, where the SoC has it.",
        doc="allow bfloat16 where the SoC has it; by default.",
    )] = True  # fmt: skip
