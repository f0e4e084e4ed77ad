"""A fixed model in a file: written, checked, and proved to compute what the original does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.check.findings import ModelCheck
from atc_py.compare.original import runnable_file
from atc_py.compare.proof.fix_diff import GraphDiff
from atc_py.compare.proof.fix_record import (
    errors_left,
    has_errors,
    parser_rules,
    placed_in,
    proved,
    refuse_differences,
    rewrite_groups,
    rewrites_of,
    verdicts,
)
from atc_py.compare.proof.model_data import model_feeds
from atc_py.compare.proof.target_proof import OnTarget, prove_on_target
from atc_py.compare.proof.whole_models import FixProof, prove
from atc_py.compare.reference import ReferenceModel
from atc_py.diag import MEMORY_LIMIT, REFERENCE_FAILED, AtcError
from atc_py.fix.fixed import Applied, Fixed, Unfit, UnmeasuredError, beyond, unshown
from atc_py.fix.fixed_files import in_qdq, with_original_layers
from atc_py.fix.measured import without_bounds
from atc_py.fix.restate import changed_results
from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.onnx_graph.reading.onnx_file import MARK, OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.onnx_writer import Written, write_onnx
from atc_py.onnx_graph.rewriting.qdq.to_qdq import is_deploy_form
from atc_py.onnx_graph.running.piece import FED_BYTES, constant_bytes
from atc_py.options.command_options import FixOptions
from atc_py.options.fix_rules import FixRules
from atc_py.pipeline.check import judged
from atc_py.results.fixing import Fixing
from atc_py.spec import Library
from atc_py.system.atomic_files import put_in_place
from atc_py.system.memory_limit import RAISE_IT, held_memory
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

_PIECE_BYTES = 128 << 20
"""Bytes of weights of a piece of a model, unless one node has more."""

_LESS_PROOF = Text("{raise_it}; --random 0 fixes it without a proof", raise_it=RAISE_IT)
_WITHOUT_PROOF = Text(
    "run the model in onnxruntime to see why; --random 0 fixes it without a proof"
)


def written_and_proved(
    fixed: Fixed,
    before: ModelCheck,
    path: Path,
    writer: FixedWriter,
) -> Fixing:
    """Write, check and run what rules made of a model.

    Raises:
        AtcError: FIX_DIFFERS; what writing, checking and running raise.
        UnmeasuredError: runs of the model do not show that rules keep to their bounds.
    """
    options, opsets = writer.options, writer.opsets
    groups = rewrite_groups(fixed.applied)
    rewritten = bool(groups) or opsets[0] != opsets[1]
    broken = parser_rules(before)
    with work_folder(None if options.dry_run else Path(os.path.realpath(path)).parent) as folder:
        trial = folder / path.name
        form = _write(fixed, trial, path, writer)
        reformed = tuple(sorted(broken - parser_rules(form.check)))
        served = bool(reformed) or (options.rules.for_cann and opsets[0] != opsets[1])
        # Errors are left though no rule applied, and CANN's parser is not served either.
        in_vain = not groups and has_errors(form.check, options)
        in_vain = in_vain and (not served or bool(form.check.faults))
        after = before if in_vain else form.check
        proves = (rewritten or reformed) and options.seeds and not in_vain
        proof = _prove(fixed, groups, trial, writer) if proves else None
        _require_measured(fixed, groups, proof, options.rules)
        refuse_differences(groups, proof, fixed.file.path)
        target = _on_target(fixed, proof, folder, path.name, options)
        if not (options.dry_run or in_vain):
            # The model refers to its weights and comes last.
            beside = [] if form.written.data is None else [form.written.data]
            put_in_place((each, path.with_name(each.name)) for each in (*beside, trial))
    return Fixing(
        model=fixed.file.path,
        output=None if options.dry_run or in_vain else path,
        operator_list=options.check.precision.operator_list,
        opset=(opsets[0], opsets[0 if in_vain else 1]),
        rewrites=tuple(rewrites_of(fixed, groups, proof, options, form.written.graph, target)),
        bound=options.rules.bind,
        ranges=options.rules.ranges,
        changes=tuple(GraphDiff(fixed, form.written.graph).changes()),
        data=options.data,
        target=None if target is None else target.proof,
        reformed=() if in_vain else reformed,
        **verdicts(fixed, (before, after), options, target),
        **proved(proof),
    )


def _require_measured(
    fixed: Fixed, groups: Sequence[tuple[Applied, ...]], proof: FixProof | None, rules: FixRules
) -> None:
    """Refuse rules that the runs of the model were to show the difference of, where they do not.

    Rewrites that no run shows by themselves are shown by the outputs of the model.
    """
    applied = [each for several in groups for each in several if each.rule.measured]
    if not applied:
        return
    unfit = without_bounds(fixed, rules) or (unshown(applied) if proof is None else ())
    reason = None if proof is None or unfit else _difference_of_measured(groups, proof)
    if reason is not None:
        unfit = tuple(Unfit(each.rule, each.node, reason) for each in applied)
    if unfit:
        raise UnmeasuredError(unfit)


def _difference_of_measured(groups: Sequence[tuple[Applied, ...]], proof: FixProof) -> Text | None:
    """The reason against measured rules; None where runs show that they keep to their bounds."""
    bounds: list[float] = []
    for several, shown in zip(groups, proof.rewrites, strict=True):
        bound = max((each.rule.limit for each in several if each.rule.measured), default=0.0)
        if bound and shown.wrong is not None:
            return beyond(shown.wrong.output, shown.wrong.error, shown.wrong.limit)
        bounds += [bound] * bool(bound and not shown.runs)
    for name, gap in proof.outputs.items():
        if gap.error > min(bounds, default=inf) or name == proof.diverging_output:
            return beyond(name, gap.error, min(bounds, default=0.0))
    return None


@dataclass(frozen=True, slots=True)
class _Form:
    """A fixed model in a file, and its check, whose findings are placed in the original."""

    graph: OnnxGraph
    written: Written
    check: ModelCheck


def _write(fixed: Fixed, trial: Path, path: Path, writer: FixedWriter) -> _Form:
    """Write the form that is left with the fewest findings, the first one of several."""
    rules, graphs = writer.options.rules, _forms(fixed, writer.options)
    forms: list[tuple[int, OnnxGraph]] = []
    for graph in graphs:
        form = writer.write(fixed, graph, trial, path)
        left = len(errors_left(form.check, rules))
        if not left or len(graphs) == 1:
            break
        forms.append((left, graph))
    else:
        form = writer.write(fixed, min(forms, key=itemgetter(0))[1], trial, path)
    fixed.graph = form.graph
    return form


def _forms(fixed: Fixed, options: FixOptions) -> list[OnnxGraph]:
    """The forms that a model may be written in: with the file's own layers, in QDQ, in Ascend's."""
    deployed, keep = fixed.graph, options.keep_qdq
    if (
        keep is False
        or (keep is None and options.rules.all_findings)
        or not (fixed.imported or keep)
    ):
        return [deployed]
    original = with_original_layers(fixed)
    graphs = [
        in_qdq(graph, fixed.file, strict=bool(keep)) for graph in (original, deployed) if graph
    ]
    found = [graph for graph in graphs if graph is not None]
    return found if keep else [*found, deployed]


@dataclass(frozen=True, slots=True)
class FixedWriter:
    """Writes graphs of one fixed model."""

    library: Library
    opsets: tuple[int, int]  # of the file, and of what is written
    options: FixOptions  # the user's
    given: Mapping[str, NDArray[Any]]  # the data of its files

    def write(self, fixed: Fixed, graph: OnnxGraph, trial: Path, path: Path) -> _Form:
        """Write a graph and check it; no folded node comes back that the list does not take."""
        operators = {node.op_type for node in fixed.file.nodes}
        gone = {operator for operator in operators if self.library.find(operator) is None}
        # The file's producer becomes atc-py, so biases of int8 layers need the mark of their convention.
        deploys = is_deploy_form(node.op_type for node in graph.nodes)
        marks = {MARK: graph.quant_bias.value} if deploys else {}
        written = write_onnx(
            fixed.file,
            graph,
            trial,
            external=self.options.external_data,
            gone=gone,
            marks=marks,
            bound=self.options.rules.bind,
            final=path,
            replaced={
                output.name
                for applied in fixed.applied
                for output in applied.node.outputs
                if output
            }
            | changed_results(fixed.file.nodes, *self.opsets),
        )
        return _Form(graph, written, self._check(trial, fixed.file, written))

    def _check(self, trial: Path, file: OnnxFile, written: Written) -> ModelCheck:
        model = read_model(trial, lenient=True)
        inputs = {tensor.name for tensor in model.inputs}
        given = self.options.check.input_shapes
        shapes = {name: dims for name, dims in given.items() if name in inputs}
        check = judged(model, shapes, self.options.check).check
        return placed_in(check, file.path, written.graph.nodes)


def _prove(
    fixed: Fixed, groups: Sequence[tuple[Applied, ...]], trial: Path, writer: FixedWriter
) -> FixProof | None:
    """Run both models and all rewrites; None where dims are open."""
    if fixed.model is None:
        return None
    feeds = model_feeds(fixed.model, writer.options, writer.given)
    if feeds is None:
        return None
    original, written = (
        ReferenceModel(runnable_file(file, trial.parent), _PIECE_BYTES, FED_BYTES)
        for file in (fixed.file, read_model(trial))
    )
    try:
        return prove(original, written, groups, feeds, fixed.tidied.twins)
    except AtcError as error:
        helps = {REFERENCE_FAILED: _WITHOUT_PROOF, MEMORY_LIMIT: _LESS_PROOF}
        raise AtcError(
            *(
                diagnostic._replace(help=helps.get(diagnostic.code, diagnostic.help))
                for diagnostic in error.diagnostics
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
        ({name: feed for name, feed in feeds.items() if name not in bound}, results)
        for feeds, results in proof.samples
    ]
    size = sum(constant_bytes(const) for const in fixed.graph.consts.values())
    with held_memory(proof.nbytes):
        return prove_on_target(
            folder / name, size, options.check, samples, folder, fixed.graph.nodes
        )
