"""Fixing a file: the rules, the new file, its check, and the proof that it computes the same."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from atc_py.check.findings import Standing
from atc_py.compare.fix_diff import graph_changes
from atc_py.compare.fix_feeds import model_feeds
from atc_py.compare.fix_record import (
    difference_of,
    errors_left,
    left_findings,
    refuse_differences,
    rewrites_of,
)
from atc_py.compare.node_group import constant_bytes
from atc_py.compare.original import runnable_file
from atc_py.compare.proof import prove
from atc_py.compare.rewrite_groups import rewrite_groups
from atc_py.compare.streamed_model import StreamedModel
from atc_py.compare.target_proof import prove_on_target
from atc_py.diag import AtcError
from atc_py.diag.codes import REFERENCE_FAILED
from atc_py.fix.deciding_inputs import deciding_values
from atc_py.fix.engine import Fixer
from atc_py.fix.listed_opset import state_at_listed_opset
from atc_py.fix.restate import changed_operators
from atc_py.frontend.reading.read import read_model
from atc_py.frontend.rewriting.onnx_writer import write_onnx
from atc_py.frontend.rewriting.qdq.convention import MARK
from atc_py.frontend.rewriting.qdq.to_qdq import has_ascend_nodes
from atc_py.options.output_paths import rewritten_output
from atc_py.pipeline.proposal.judging import judge_of
from atc_py.results.fixing import Fixing
from atc_py.spec import specifications
from atc_py.system.atomic_files import put_in_place
from atc_py.system.temp_folders import work_folder
from atc_py.target import find_soc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atc_py.compare.proof import FixProof
    from atc_py.compare.target_proof import OnTarget
    from atc_py.fix.fixed import Applied, Fixed
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.frontend.rewriting.onnx_writer import Written
    from atc_py.options.compile_options import CheckOptions
    from atc_py.options.fix_options import FixOptions
    from atc_py.results.fixing import Difference
    from atc_py.spec import Library

__all__ = ["fix_file"]


_WITHOUT_PROOF = "run the model in onnxruntime to see why; --seeds 0 fixes it without a proof"


class _Proved(TypedDict):
    """The parts of the record that the proof fills."""

    seeds: tuple[int, ...]
    outputs: Mapping[str, Difference]


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
    path = rewritten_output(model, output, "fixed", ("fixed",))
    file, library = read_model(model), _library(options.check)
    fixed = _fix(file, library, options)
    before = file.opsets.get("", 0)
    after = state_at_listed_opset(fixed, library, _cann(options))
    write = _writer(fixed, library, (before, after), options)
    left = tuple(left_findings(fixed, options.rules))
    groups = rewrite_groups(fixed.applied)
    restated = options.rules.for_cann and before != after
    in_vain = bool(left) and not groups and not restated
    idle = options.dry_run or in_vain
    changed = bool(groups or before != after) and not in_vain
    with work_folder(None if idle else Path(os.path.realpath(path)).parent) as folder:
        trial = folder / path.name
        written = write(trial, external=options.external, final=path)
        proof = _prove(fixed, groups, trial, options) if options.seeds and changed else None
        refuse_differences(groups, proof, model)
        target = _on_target(fixed, proof, folder, path.name, options)
        if not idle:
            _put_in_place(trial, written, path)
    return Fixing(
        model=model,
        output=None if idle else path,
        operator_list=options.check.precision.operator_list,
        opset=(before, before if in_vain else after),
        errors=(_errors(fixed.before.check.counts), _errors(fixed.after.check.counts)),
        rewrites=tuple(rewrites_of(fixed, groups, proof, options, written.nodes, target)),
        left=left,
        diagnostics=tuple(each.diagnostic() for each in errors_left(fixed, options.rules)),
        verdicts=(fixed.before.check.standing.value, fixed.after.check.standing.value),
        bound=options.rules.bind,
        ranges=options.rules.ranges,
        changes=graph_changes(fixed, written.nodes),
        deciding=deciding_values(fixed.model) if left and fixed.model is not None else {},
        data=options.data,
        target=None if target is None else target.proof,
        **_proved(proof),
    )


def _library(check: CheckOptions) -> Library:
    """Return the operator list."""
    return specifications(check.op_specs, check.precision.operator_list)


def _cann(options: FixOptions) -> int | None:
    """Return the generation of CANN whose deviations are removed; None for no removal."""
    return options.check.precision.cann if options.rules.for_cann else None


def _fix(file: OnnxFile, library: Library, options: FixOptions) -> Fixed:
    """Apply the rules."""
    check = options.check
    conditions = judge_of(check, find_soc(check.soc), library).conditions
    fixed = Fixer(file, conditions, library, options.rules).fix(check.input_shapes)
    fixed.require_settled()
    return fixed


def _writer(
    fixed: Fixed, library: Library, opsets: tuple[int, int], options: FixOptions
) -> Callable[..., Written]:
    """Return what writes the graph; no folded node comes back that the list does not take."""
    operators = {node.op_type for node in fixed.file.nodes}
    # The file's producer becomes atc-py, so biases of int8 layers need the mark of their convention.
    marks = {MARK: fixed.graph.quant_bias.value} if has_ascend_nodes(fixed.graph) else {}
    return partial(
        write_onnx,
        fixed.file,
        fixed.graph,
        gone=changed_operators(operators, *opsets)
        | {each for each in operators if library.find(each) is None},
        marks=marks,
        bound=options.rules.bind,
        replaced={each.name for applied in fixed.applied for each in applied.node.outputs if each},
    )


def _proved(proof: FixProof | None) -> _Proved:
    """Return the parts of the record that the proof fills."""
    if proof is None:
        return {"seeds": (), "outputs": {}}
    outputs = {name: difference_of(each) for name, each in proof.outputs.items()}
    return {"seeds": proof.seeds, "outputs": outputs}


def _put_in_place(trial: Path, written: Written, path: Path) -> None:
    """Give the model and its weights their names; the model refers to the weights and comes last."""
    beside = [] if written.data is None else [written.data]
    put_in_place((each, path.with_name(each.name)) for each in (*beside, trial))


def _prove(
    fixed: Fixed, groups: Sequence[tuple[Applied, ...]], trial: Path, options: FixOptions
) -> FixProof | None:
    """Run both models and all rewrites; None where dims are open."""
    if fixed.model is None:
        return None
    feeds = model_feeds(fixed.model, options)
    if feeds is None:
        return None
    original, written = (
        StreamedModel(runnable_file(each, trial.parent)) for each in (fixed.file, read_model(trial))
    )
    try:
        return prove(original, written, groups, feeds, fixed.tidied.twins)
    except AtcError as error:
        raise AtcError(
            *(
                replace(each, help=_WITHOUT_PROOF) if each.code is REFERENCE_FAILED else each
                for each in error.diagnostics
            )
        ) from error


def _on_target(
    fixed: Fixed, proof: FixProof | None, folder: Path, name: str, options: FixOptions
) -> OnTarget | None:
    """Run the fixed model in the target's precision; None where that is not wanted."""
    if proof is None or not options.simulate:
        return None
    bound = options.rules.bind
    samples = [
        ({name: each for name, each in feeds.items() if name not in bound}, results)
        for feeds, results in proof.samples
    ]
    size = sum(constant_bytes(each) for each in fixed.graph.consts.values())
    return prove_on_target(folder / name, size, options.check, samples, folder)


def _errors(counts: Mapping[Standing, int]) -> int:
    """Return the number of errors among the findings."""
    return counts.get(Standing.ERROR, 0)
