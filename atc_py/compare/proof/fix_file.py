"""Fixing a file: the rules, the new file, its check, and the proof that it computes the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atc_py.check.findings import ModelCheck
from atc_py.compare.proof.fix_record import (
    has_errors,
    parser_rules,
    proved,
    rewrite_groups,
    verdicts,
)
from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import Fixed, UnmeasuredError
from atc_py.fix.fixed_files import state_at_listed_opset
from atc_py.fix.start import Start, with_input_ranges
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.command_options import FixOptions
from atc_py.options.output_paths import rewritten_output
from atc_py.pipeline.check import judged
from atc_py.results.fixing import Fixing
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.pipeline.check import LoneCheck


def fix_file(model: Path, output: str | os.PathLike[str] | None, options: FixOptions) -> Fixing:
    """Write `model` in a form without the findings that rules remove.

    Args:
        model: the ONNX file.
        output: the file to write; by default `NAME.fixed.onnx` beside the model.
        options: the list, the rules and the proof.

    Raises:
        AtcError: FIX_DIFFERS where a region differs beyond its class, FIX_NOT_SETTLED where rules
            undo each other; BAD_OPTION for an unknown rule; what reading and writing raise.
    """
    path, file = rewritten_output(model, output, "fixed", ("fixed",)), read_model(model)
    before = judged(file, options.check.input_shapes, options.check)
    options, given = _with_ranges(file, before, options)
    fixed = _fix(file, options, before, measures=bool(options.seeds))
    try:
        return _fixed(path, before, options, fixed, given, named=output is not None)
    except UnmeasuredError as error:
        fixed = _fix(file, options, before)
        fixed.unfit += error.unfit
        return _fixed(path, before, options, fixed, given, named=output is not None)


def _fixed(
    path: Path,
    before: LoneCheck,
    options: FixOptions,
    fixed: Fixed,
    given: Mapping[str, NDArray[Any]],
    *,
    named: bool,
) -> Fixing:
    """Write what rules made of a model; without a change, only where the file to write is named.

    Raises:
        AtcError: as `fix_file`.
        UnmeasuredError: runs of the model do not show that rules keep to their bounds.
    """
    file, library = fixed.file, before.judge.specs
    cann = options.check.precision.cann if options.rules.for_cann else None
    opsets = file.opsets.get("", 0), state_at_listed_opset(fixed, library, cann)
    groups = rewrite_groups(fixed.applied)
    broken, rewritten = parser_rules(before.check), bool(groups) or opsets[0] != opsets[1]
    idle = not (rewritten or broken or options.rules.bind or options.external_data)
    if idle and (not named or options.dry_run or has_errors(before.check, options)):
        return _nothing_to_do(fixed, before.check, options)
    # What writes and runs models takes longer to load than a small one to check.
    from atc_py.compare.proof.fix_form import FixedWriter, written_and_proved

    return written_and_proved(
        fixed, before.check, path, FixedWriter(library, opsets, options, given)
    )


def _with_ranges(
    file: OnnxFile, before: LoneCheck, options: FixOptions
) -> tuple[FixOptions, Mapping[str, NDArray[Any]]]:
    """Options with bounds for integer inputs, those of their data among them; and the data."""
    given: Mapping[str, NDArray[Any]] = {}
    if options.data:
        from atc_py.compare.proof.model_data import model_feeds

        feeds = model_feeds(before.survey.source, options)
        given = given if feeds is None else feeds.given
    return replace(options, rules=with_input_ranges(file, options.rules, given)), given


def _nothing_to_do(fixed: Fixed, check: ModelCheck, options: FixOptions) -> Fixing:
    """The record of a model that no rule changes: nothing is written, checked again or run."""
    opset = fixed.file.opsets.get("", 0)
    return Fixing(
        model=fixed.file.path,
        output=None,
        operator_list=options.check.precision.operator_list,
        opset=(opset, opset),
        rewrites=(),
        ranges=options.rules.ranges,
        data=options.data,
        **verdicts(fixed, (check, check), options),
        **proved(None),
    )


def _fix(
    file: OnnxFile, options: FixOptions, before: LoneCheck, *, measures: bool = False
) -> Fixed:
    known, start = before.known, None
    same = known is not None and known.survey is before.survey
    if known is not None and same and not options.rules.bind and before.judge.quant_bias is None:
        start = Start.of(known.survey, known.checked)
    judge = before.judge
    fixer = Fixer(
        file, judge.conditions, judge.specs, options.rules, start, trial=before.uncompiled
    )
    fixed = fixer.fix(options.check.input_shapes, measures=measures)
    fixed.require_settled()
    return fixed
