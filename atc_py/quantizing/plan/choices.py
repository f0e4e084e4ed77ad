"""The dtypes that each line can have on a SoC, found by compiling all lines in each of them."""

from collections.abc import Collection

from atc_py.compare.candidates import (
    ITS_OWN_DTYPES,
    Candidate,
    find_candidates,
    has_float32_kernel,
    line_of,
    stay_narrow,
)
from atc_py.compare.reference import ReferenceModel
from atc_py.package.schema import OmModel
from atc_py.quantizing.plan.assignment import (
    ALL_NARROW,
    BRAIN,
    BROAD,
    NARROW,
    Assignment,
    custom_lines,
)
from atc_py.quantizing.plan.error_model import nodes_by_line
from atc_py.quantizing.plan.trial_runs import TrialRuns, TriedAssignment
from atc_py.target import find_soc
from atc_py.text import COLON, Text

_ROUNDS = 12
"""Compilations that look for lines without a kernel."""

_NO_KERNEL = Text("no kernel of that dtype on this SoC")


class Choices:
    """Lines and their dtypes."""

    def __init__(
        self, runs: TrialRuns, reference: ReferenceModel, *, bfloat16: bool = True
    ) -> None:
        """Compile the model in each dtype; all in float16 has been run before."""
        self._runs = runs
        narrow = runs.found[ALL_NARROW].model
        # all lines, in order of execution
        self.candidates: dict[str, Candidate] = find_candidates(narrow)
        # a compiled model with all lines in one dtype, by it
        self.models: dict[str, OmModel] = {NARROW: narrow}
        self.tried: dict[str, TriedAssignment] = {NARROW: runs.found[ALL_NARROW]}  # their trials
        # lines and dtypes that do not go together, with the reason
        self.excluded: list[tuple[str, Text]] = []
        able = {BROAD: self._all_in(BROAD, [*self.candidates])}
        if bfloat16 and find_soc(narrow.soc).bfloat16:
            runs.custom |= custom_lines(narrow, self.candidates)
            able[BRAIN] = self._all_in(BRAIN, [*runs.custom])
        self.labels = {
            line: (NARROW, *(dtype for dtype, lines in able.items() if line in lines))
            for line in self.candidates
        }
        # the dtypes of each line that has a choice, float16 first
        self.labels = {line: own for line, own in self.labels.items() if len(own) > 1}
        # values of the file that the nodes of a line make
        self.values = nodes_by_line(narrow, reference)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that any line can have, float16 first."""
        return tuple(self.models)

    def _all_in(self, dtype: str, lines: list[str]) -> frozenset[str]:
        """Those of `lines` that have a kernel for a dtype; keep the model with all of them."""
        for _ in range(_ROUNDS):
            if not lines:
                break
            assignment = Assignment().with_dtype(lines, dtype)
            tried = self._runs.run(assignment)
            if tried is not None:
                fresh = self._fresh(tried.model) if dtype == BROAD else []
                if fresh:
                    lines = [*lines, *fresh]
                    continue
                narrow = stay_narrow(tried.model, lines) if dtype == BROAD else set()
                if narrow:
                    # What stays as it is must not be counted among the lines in float32.
                    self.excluded += [(line, self._why_narrow(line)) for line in sorted(narrow)]
                    lines = [line for line in lines if line not in narrow]
                    continue
                self.models[dtype], self.tried[dtype] = tried.model, tried
                return frozenset(lines)
            lines = self._without_refused(lines, dtype, self._runs.refused_nodes(assignment))
        return frozenset()

    def _why_narrow(self, line: str) -> Text:
        """The reason why a line stays narrow where it is kept."""
        able = has_float32_kernel(self.candidates[line].op, self._runs.found[ALL_NARROW].model.soc)
        return BROAD + COLON + (ITS_OWN_DTYPES if able else _NO_KERNEL)

    def _fresh(self, model: OmModel) -> list[str]:
        """Lines of nodes that were fused with others until those were kept; take them."""
        known = {*self.candidates, *(line for line, _ in self.excluded)}
        fresh = {line: one for line, one in find_candidates(model).items() if line not in known}
        self.candidates |= fresh
        return [*fresh]

    def _without_refused(self, lines: list[str], dtype: str, at: Collection[int]) -> list[str]:
        """The lines whose nodes have a kernel; none where the refusal names no node."""
        nodes = (node for node in self.models[NARROW].nodes if node.origins)
        refused = {line_of(node) for node in nodes if any(o.index in at for o in node.origins)}
        left = [line for line in lines if line not in refused]
        if len(left) == len(lines):
            self.excluded += [(line, dtype + COLON + _NO_KERNEL) for line in lines]
            return []
        self.excluded += [(line, dtype + COLON + _NO_KERNEL) for line in lines if line in refused]
        return left
