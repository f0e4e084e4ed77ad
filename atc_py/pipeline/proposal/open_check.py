"""The check of a model with open dims, combined with the dims that were tried.

What is an error with every dim open must be one with dims that fit; and a model of which nothing
is wrong with open dims must be sound with some. Where one of the two does not hold, it is said that
it is not decided.
"""

from collections.abc import Callable, Iterator

from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.check.findings_builder import amended, without_errors
from atc_py.check.open_dims import doubted, reserved
from atc_py.onnx_graph.source import OpenDim
from atc_py.options.input_shapes import ShapeAdvice
from atc_py.pipeline.judging import Judgment, key_of
from atc_py.pipeline.proposal.advice import gears_line
from atc_py.pipeline.proposal.search import Proposal, Search, Tried
from atc_py.system.structs import replace
from atc_py.text import Text

_FIX = Text("fix the open dims with --input-shape")


def open_check(
    known: Judgment,
    search: Search,
    proposal: Proposal,
    advice: ShapeAdvice,
    refused: Callable[[Judgment], list[Finding]],
) -> ModelCheck:
    """Combine the check with open dims with the trials; `refused` finds what does not compile."""
    best, check = proposal.best, known.checked.check
    if best.is_sound:
        check = _without_refuted(known, best.judgment, advice.text)
        if best.judgment.checked.check.standing is not Standing.ERROR:
            only = Text("tried with {advice}", advice=advice.text)
            if not best.fits:
                only = Text("true for the best of {count} choices of dims", count=proposal.count)
            # Refusals of nodes whose types do not depend on a choice of dims.
            is_whole = known.checked.check.standing is not Standing.ERROR
            certain = {key_of(each) for each in refused(known)} if is_whole else set()
            lacks = [
                each if key_of(each) in certain else reserved(each, only, each.help)
                for each in refused(best.judgment)
            ]
            check = amended(check, known.model, lacks)
    elif check.standing not in {Standing.ERROR, Standing.UNKNOWN}:
        check = amended(check, known.model, [*_reasons(known, best, proposal.count)])
    return replace(
        check,
        shape_hint=advice.text,
        hint_fits=advice.fits,
        hint_runs=advice.runs,
        hint_tries=advice.tried,
        gears_hint=gears_line(search, best),
        deciding=_deciding_dims(check, search, best),
    )


def _without_refuted(known: Judgment, witness: Judgment, text: str) -> ModelCheck:
    """The check without errors that a choice of dims refutes."""
    there = witness.of(Standing.ERROR)
    refuted = {key: each for key, each in known.of(Standing.ERROR).items() if key not in there}
    gone = known.faults_beyond(witness.faults)
    reason = Text("this does not hold with {text}", text=text)
    undecided = {each: reserved(each, reason, _FIX) for each in refuted.values()}
    check = without_errors(known.checked.check, known.model, undecided, gone)
    return amended(check, known.model, [doubted(each, "", reason, _FIX) for each in gone])


def _reasons(known: Judgment, best: Tried, count: int) -> Iterator[Finding]:
    """Yield the faults of the best choice, as not decided, if none fits."""
    reason = Text("true for the best of {count} choices of dims", count=count)
    certain = known.of(Standing.ERROR)
    for fault in best.judgment.faults_beyond(known.faults):
        yield doubted(fault, "", reason, _FIX)
    for key, each in best.judgment.of(Standing.ERROR).items():
        if key not in certain:
            yield reserved(each, reason, _FIX)


def _deciding_dims(check: ModelCheck, search: Search, best: Tried) -> tuple[OpenDim, ...]:
    """Find the open dims that leave something undecided; return all where it is too many."""
    if not any(each.standing is Standing.UNKNOWN for each in check.findings):
        return ()
    if not best.fits or not search.may_open_each:
        return search.dims
    settled = best.judgment.of(Standing.UNKNOWN).keys()
    found = tuple(
        dim
        for dim in search.dims
        if search.leaving_open(best, dim).of(Standing.UNKNOWN).keys() - settled
    )
    return found or search.dims
