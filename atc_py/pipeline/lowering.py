"""From a file that was read to its lowered graph: fix, semantics, fold, check, lower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atc_py.check.evaluate import Checked, check_view
from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.check.findings_builder import RulesBrokenError, amended
from atc_py.check.parser_rules import model_findings, refusals
from atc_py.diag import BAD_MODEL, BAD_NODE, AtcError, Diagnostic
from atc_py.ir import Graph
from atc_py.lowering.lower import lower_model, not_lowered
from atc_py.lowering.rewritten import restated
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import CompileOptions, Semantics
from atc_py.options.input_shapes import ShapeAdvice
from atc_py.options.ranges import open_dims
from atc_py.passes.precision.controls import Controls, ModelNames
from atc_py.pipeline.judging import Judge, judge_of
from atc_py.pipeline.shared_inputs import SharedInputs, StageClock
from atc_py.results.cann_nodes import CannDeviation, CannNode, CannSemantics
from atc_py.results.fixing import FixedNode
from atc_py.system.structs import replace
from atc_py.target import find_soc
from atc_py.tensor.shapes import Shape

if TYPE_CHECKING:
    from atc_py.fix.as_cann import WrittenOut
    from atc_py.fix.fixed import Applied


def fixed_nodes(applied: Iterable[Applied]) -> tuple[FixedNode, ...]:
    """Each rewritten node of the file once, with its rules, in the order of the nodes."""
    nodes: dict[tuple[int, str], FixedNode] = {}
    for each in applied:
        node, rule = each.node, each.rule.name
        known = nodes.get((node.index, node.name))
        operator = known.operator if known else node.replaces or node.op_type
        rules = dict.fromkeys((*(known.rules if known else ()), rule))
        nodes[node.index, node.name] = FixedNode(node.index, node.name, operator, tuple(rules))
    return tuple(nodes[place] for place in sorted(nodes))


def cann_nodes(written: Iterable[WrittenOut]) -> tuple[CannNode, ...]:
    """Each deviating node of the file once, with its deviations, in the order of the nodes."""
    found: dict[tuple[int, str], CannNode] = {}
    for each in written:
        node = each.node
        key = node.index, node.name
        known = found.get(key)
        said = CannDeviation(f"{each.operator}/{each.name}", each.certainty.value, each.effect.en)
        deviations = (*(known.deviations if known else ()), said)
        operator = known.operator if known else node.replaces or node.op_type
        # A rule may have made several nodes of one: each meets the deviation.
        found[key] = CannNode(*key, operator, tuple(dict.fromkeys(deviations)))
    return tuple(found[place] for place in sorted(found))


class Lowered(msgspec.Struct, frozen=True):
    """A lowered graph, and what is asked later about what it was made of."""

    graph: Graph
    check: ModelCheck
    controls: Controls  # the user's requests for single nodes
    doubts: tuple[Diagnostic, ...]  # warnings about the configurations of pictures
    fixed: tuple[FixedNode, ...] | None  # what rules wrote; None without rules
    semantics: CannSemantics | None  # the deviations of CANN that were written out
    file_nodes: int
    operators: dict[str, int]  # number of nodes of each source operator
    weight_bytes: int  # bytes of the source's constants


class CheckedFile(msgspec.Struct, frozen=True):
    """A file in which no rule is broken, in the form that is compiled."""

    file: OnnxFile  # what rules and semantics made of the file
    view: SourceModel  # its nodes as they were checked
    source: SourceModel  # its nodes as they are lowered
    checked: Checked  # the check, by nodes
    check: ModelCheck  # the findings of the check, those of the file as a whole among them
    fixed: tuple[FixedNode, ...] | None  # what rules wrote; None without rules
    semantics: CannSemantics | None  # the deviations of CANN that were written out


def checked_file(
    file: OnnxFile, options: CompileOptions, shared: SharedInputs, clock: StageClock
) -> tuple[CheckedFile, Controls]:
    """The file as it is lowered, whatever the controls of single nodes are, and these controls."""
    broken: tuple[Finding, ...] = ()
    if not options.fix:
        broken = model_findings(broken_rules(file), str(file.path), options.precision.cann)
    file, options, fixed = _fixed(file, options, shared.judge, clock)
    file, semantics = _with_semantics(file, options, shared.judge, clock)
    with (
        _misfits_explained(file, options.input_shapes, shared.judge),
        _ending_as_atc(broken, options),
    ):
        folded = _folded(file, options, shared, clock)
        with clock.stage("check"):
            view = folded.source
            controls = controls_of(file, view, options)
            checked = sound_check(view, shared.judge)
            source = restated(folded.to_source(), checked.placements)
        check = amended(checked.check, source, broken)
    refused = refusals(check.findings) if options.refuse_as_parser else ()
    if refused:
        raise RulesBrokenError(check, first=[each.diagnostic() for each in refused])
    return CheckedFile(file, view, source, checked, check, fixed, semantics), controls


def lowered_file(
    found: CheckedFile, controls: Controls, shared: SharedInputs, clock: StageClock
) -> Lowered:
    """Lower a file; its source graph is not kept, which frees as much as passes take."""
    source, placements = found.source, found.checked.placements
    with clock.stage("lower"):
        graph = lower_model(source, shared.judge.specs, placements)
        doubts: tuple[Diagnostic, ...] = ()
        if shared.pictures is not None:
            from atc_py.pipeline.preprocessing import add_preprocessing

            doubts = add_preprocessing(graph, shared.pictures, shared.soc, controls.fp16_inputs)
    operators = counts_by_name(node.op_type for node in source.nodes)
    return Lowered(
        graph,
        found.check,
        controls,
        doubts,
        found.fixed,
        found.semantics,
        source.file_nodes,
        operators,
        source.weight_bytes,
    )


def _fixed(
    file: OnnxFile, options: CompileOptions, judge: Judge, clock: StageClock
) -> tuple[OnnxFile, CompileOptions, tuple[FixedNode, ...] | None]:
    """The file in the form that rules give it; inputs that are bound have no dims."""
    rules, shapes = options.fix, options.input_shapes
    if rules is None:
        return file, options, None
    from atc_py.fix.fixed_files import fixed_file

    with clock.stage("fix"):
        found, applied = fixed_file(file, judge.conditions, judge.specs, rules, shapes)
    shapes = {name: each for name, each in shapes.items() if name not in rules.bind}
    return found, replace(options, input_shapes=shapes), fixed_nodes(applied)


def _with_semantics(
    file: OnnxFile, options: CompileOptions, judge: Judge, clock: StageClock
) -> tuple[OnnxFile, CannSemantics | None]:
    """The file with the deviations of a release of CANN written out, and a record.

    There is none where ONNX's semantics are chosen, and where no node deviates.
    """
    if options.precision.semantics is Semantics.ONNX:
        return file, None
    from atc_py.fix.as_cann import file_as_cann

    with clock.stage("semantics"):
        found, written = file_as_cann(
            file,
            judge.conditions,
            judge.specs,
            options.input_shapes,
            as_written=options.fix is None,
        )
    nodes = cann_nodes(written)
    return found, CannSemantics(options.precision.cann, nodes) if nodes else None


def _folded(
    file: OnnxFile, options: CompileOptions, shared: SharedInputs, clock: StageClock
) -> FoldedModel:
    with clock.stage("fold"):
        return file.fold(
            options.input_shapes,
            quant_bias=options.precision.quant_bias,
            suggest=lambda: _advice(file, options, shared),
            memo=shared.memo,
            opened=open_dims(options.ranges),
        )


def _advice(file: OnnxFile, options: CompileOptions, shared: SharedInputs) -> ShapeAdvice:
    from atc_py.pipeline.proposal.advice import advise  # few models leave dims open
    from atc_py.pipeline.proposal.run_trial import RunTrial
    from atc_py.pipeline.trial import TrialCompilation

    judge = shared.judge
    trial = TrialCompilation(shared.soc, options.precision_mode, Controls(), judge.specs)
    return advise(
        file,
        options.input_shapes,
        judge,
        lambda each: trial.findings(each.survey, each.checked),
        None if shared.compiler is None else RunTrial(options, shared.compiler),
    )


@contextmanager
def _misfits_explained(file: OnnxFile, shapes: Mapping[str, Shape], judge: Judge) -> Iterator[None]:
    """Replace the error that the block raises if the user's dims are its reason."""
    try:
        yield
    except AtcError as error:
        faults = [fault for fault in error.diagnostics if fault.code in (BAD_MODEL, BAD_NODE)]
        if not faults or not shapes:
            raise
        from atc_py.pipeline.proposal.misfit import find_misfit

        misfit = find_misfit(file, shapes, judge, faults[0])
        if misfit is None:
            raise
        raise AtcError(misfit.diagnostic) from error


@contextmanager
def _ending_as_atc(broken: Iterable[Finding], options: CompileOptions) -> Iterator[None]:
    """Put rules that end CANN's parser, where they count, before others that the block breaks."""
    try:
        yield
    except RulesBrokenError as error:
        first = [each.diagnostic() for each in refusals(broken) if options.refuse_as_parser]
        raise RulesBrokenError(error.check, error.missing, first) from error


def sound_check(view: SourceModel, judge: Judge) -> Checked:
    checked = check_view(view, judge.conditions, judge.specs, history())
    missing = not_lowered(view.all_nodes, str(view.path), judge.specs)
    if missing or checked.check.standing is Standing.ERROR:
        raise RulesBrokenError(checked.check, missing)
    return checked


def controls_of(file: OnnxFile, view: SourceModel, options: CompileOptions) -> Controls:
    if not options.precision.given():
        return Controls()
    from atc_py.passes.precision.control_files import read_controls

    names = ModelNames.of(view, file.node_outputs, file.outputs)
    return read_controls(options.precision, options.precision_mode, names)


def counts_by_name(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def lowered_graph(model: Path, options: CompileOptions) -> Graph:
    """The target operators of a model before any pass, with shapes."""
    from atc_py.onnx_graph.reading.read import read_model
    from atc_py.pipeline.proposal.advice import advise

    judge = judge_of(options, find_soc(options.soc))
    file = read_model(model)
    suggest = partial(advise, file, options.input_shapes, judge)
    folded = file.fold(
        options.input_shapes, quant_bias=options.precision.quant_bias, suggest=suggest
    )
    placements = sound_check(folded.source, judge).placements
    return lower_model(restated(folded.to_source(), placements), judge.specs, placements)
