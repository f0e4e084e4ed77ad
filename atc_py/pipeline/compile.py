"""The stages of compilation in order: from an ONNX file to an offline model.

It has more than 400 lines: a function for each stage, which are read together.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from atc_py import __version__
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Standing
from atc_py.check.refusal import RulesBrokenError
from atc_py.cost.network import network_time
from atc_py.diag.codes import ASSUMED_KERNELS, CANNOT_WRITE, SMALL_CHANNEL_WITHOUT_EFFECT
from atc_py.emit.kernels import emit_kernels
from atc_py.emit.writing import write_kernels
from atc_py.frontend.reading.chosen_ends import with_user_ends
from atc_py.frontend.reading.history import history
from atc_py.frontend.reading.read import read_model
from atc_py.ir.launches import launch_positions
from atc_py.ir.printer import print_graph
from atc_py.lowering.coverage import not_lowered
from atc_py.lowering.lower import lower_model
from atc_py.lowering.restated import restated
from atc_py.options.compile_options import Semantics
from atc_py.options.ranges import format_ranges, open_dims
from atc_py.package.contents import PackageContents
from atc_py.package.schema import ATC_CMDLINE, FIXED, INPUT_RANGES
from atc_py.package.writer import write_model
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.record import PassFusions
from atc_py.passes.fusion.switch_file import Switches, read_switches
from atc_py.passes.layout.reasons import layout_record
from atc_py.passes.manager import PIPELINE, check_names, run_passes
from atc_py.passes.precision.control_files import read_controls
from atc_py.passes.precision.model_names import ModelNames, check_soc
from atc_py.pipeline.cann_nodes import cann_nodes
from atc_py.pipeline.proposal.advice import advise
from atc_py.pipeline.proposal.judging import Judge, judge_of
from atc_py.pipeline.proposal.misfit import misfits_explained
from atc_py.pipeline.rehearsal import rehearse
from atc_py.results.cann_nodes import CannSemantics
from atc_py.results.conversion import Conversion, Facts, PassEffect, Stage
from atc_py.results.fusions import FusionEffect
from atc_py.results.memory_facts import memory_facts
from atc_py.source import form_of
from atc_py.spec import specifications
from atc_py.system.atomic_files import atomic_write
from atc_py.system.collector import few_collections
from atc_py.system.freed_memory import MANY_NODES, give_back
from atc_py.system.structs import replace
from atc_py.target import find_soc, is_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from atc_py.check.evaluate import Checked
    from atc_py.check.findings import ModelCheck
    from atc_py.diag import Diagnostic
    from atc_py.emit.kernels import KernelSet, SourceMemo
    from atc_py.frontend.folding.fold_memo import FoldMemo
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.ir import Graph
    from atc_py.options.compile_options import CompileOptions
    from atc_py.passes.manager import PassRun
    from atc_py.passes.precision.controls import Controls
    from atc_py.pipeline.preprocessing import PictureConfigs
    from atc_py.results.fixed_nodes import FixedNode
    from atc_py.source import SourceModel
    from atc_py.spec import Library
    from atc_py.target import Soc

__all__ = [
    "CommonGround",
    "CompiledGraph",
    "StageClock",
    "common_ground",
    "compile_graph",
    "compile_model",
]


@few_collections()
def compile_model(
    model: Path,
    output: Path,
    options: CompileOptions,
    on_stage: Callable[[str], None] | None = None,
    read: Callable[[Path], OnnxFile] = read_model,
) -> Conversion:
    """Compile `model`, as `read` returns it, to `output`; call `on_stage` where a stage starts.

    Raises:
        AtcError: with every finding of the failing stage; a file at `output` is then unchanged.
    """
    clock = StageClock(on_stage)
    ground = common_ground(options)
    compile_read = _compile_with_ranges if options.ranges else compile_graph
    compiled = compile_read(_read(model, read, options, clock), options, ground, clock)
    check, facts, warnings = compiled.check, compiled.facts, compiled.warnings
    with clock.stage("package"):
        written = write_model(compiled.graph, output, compiled.contents)
    compiled.graph.dissolve()  # estimates take the description alone
    del compiled
    with clock.stage("estimate"):
        needs = memory_facts(written.description), network_time(written.description)
    return Conversion(
        model,
        output,
        check,
        facts,
        clock.stages,
        written.weight_bytes,
        written.file_bytes,
        warnings,
        *needs,
    )


def _read(
    model: Path, read: Callable[[Path], OnnxFile], options: CompileOptions, clock: StageClock
) -> OnnxFile:
    """Read the model, with the ends that the user gives it."""
    with clock.stage("read"):
        return with_user_ends(read(model), options)


def _compile_with_ranges(
    file: OnnxFile, options: CompileOptions, ground: CommonGround, clock: StageClock
) -> CompiledGraph:
    """Compile a file with ranges of dims; an error tells what to do about them."""
    from atc_py.pipeline.range_inputs import gears_advised, with_open_ranges

    with gears_advised(options.ranges):
        return compile_graph(with_open_ranges(file, options.ranges), options, ground, clock)


class CommonGround(msgspec.Struct, frozen=True):
    """Data that all compilations of one file with the same options share.

    Attributes:
        soc: the SoC that is compiled for.
        specs: the specifications.
        switches: the passes that the user switched off.
        judge: judges the file with other dims.
        memo: constants that folding made of constants.
        sources: texts of kernels.
        pictures: the configurations of inputs that take pictures, or None.
    """

    soc: Soc
    specs: Library
    switches: Switches
    judge: Judge
    memo: FoldMemo | None = None
    sources: SourceMemo | None = None
    pictures: PictureConfigs | None = None


class CompiledGraph(msgspec.Struct, frozen=True):
    """A graph that went through all stages, and was not written yet.

    Attributes:
        graph: the graph.
        contents: what is written with it.
        facts: what compilation made of the model.
        check: the findings of the check against the operator list.
        warnings: what passes found that does not stop the conversion.
    """

    graph: Graph
    contents: PackageContents
    facts: Facts
    check: ModelCheck
    warnings: tuple[Diagnostic, ...]


def common_ground(
    options: CompileOptions, memo: FoldMemo | None = None, sources: SourceMemo | None = None
) -> CommonGround:
    """Return what the options say of every compilation, and what several compilations share.

    Raises:
        AtcError: an option or a file that it names has no meaning.
    """
    soc = _soc(options)
    specs = specifications(options.op_specs, options.precision.operator_list)
    judge = judge_of(options, soc, specs)
    switches, pictures = _switches(options), _pictures(options)
    return CommonGround(soc, specs, switches, judge, memo, sources, pictures)


def compile_graph(
    file: OnnxFile, options: CompileOptions, ground: CommonGround, clock: StageClock
) -> CompiledGraph:
    """Compile a file that was read, with one shape for each input; nothing is written.

    Raises:
        AtcError: with every finding of the failing stage.
    """
    soc, path = ground.soc, str(file.path)
    lowered = _lowered(file, options, ground, clock)
    del file  # what is lowered needs its weights alone
    graph, check = lowered.graph, lowered.check
    graph.name = options.graph_name or graph.name
    with clock.stage("passes"):
        context = _pass_context(check, soc, options, lowered.controls)
        context.sink.extend(lowered.doubts)
        passed = _run_passes(graph, context, options, ground.switches)
        if len(graph.nodes) >= MANY_NODES:  # the source, and what passes took
            give_back()
    with clock.stage("emit"):
        kernels = _emit(graph, soc, options, ground.sources)
    facts = _facts(lowered, kernels, passed, options)
    contents = _contents(kernels, facts, options)
    with clock.stage("rehearse"):
        rehearse(graph, contents, path)
    warnings = tuple(passed.context.sink.diagnostics)
    return CompiledGraph(graph, contents, facts, check, warnings)


class _Lowered(msgspec.Struct, frozen=True):
    """A lowered graph, and what is asked later about what it was made of.

    Attributes:
        graph: the graph.
        check: the findings of the check.
        controls: the user's wishes for single nodes.
        doubts: warnings about the configurations of pictures.
        fixed: what rules wrote; None without rules.
        semantics: the deviations of CANN that were written out.
        file_nodes: nodes of the file.
        operators: number of nodes of each source operator.
        weight_bytes: bytes of the source's constants.
    """

    graph: Graph
    check: ModelCheck
    controls: Controls
    doubts: tuple[Diagnostic, ...]
    fixed: tuple[FixedNode, ...] | None
    semantics: CannSemantics | None
    file_nodes: int
    operators: dict[str, int]
    weight_bytes: int


def _lowered(
    file: OnnxFile, options: CompileOptions, ground: CommonGround, clock: StageClock
) -> _Lowered:
    """Check a file and lower it; its source graph is not kept, which frees as much as passes take."""
    file, options, fixed = _fixed(file, options, ground.judge, clock)
    file, semantics = _with_semantics(file, options, ground.judge, clock)
    with misfits_explained(file, options.input_shapes, ground.judge):
        checked, source, controls = _checked_source(file, options, ground, clock)
    with clock.stage("lower"):
        graph = lower_model(source, ground.specs)
        doubts = _with_pictures(graph, ground, controls)
    operators = _counts_by_name(node.op_type for node in source.nodes)
    return _Lowered(
        graph,
        checked.check,
        controls,
        doubts,
        fixed,
        semantics,
        source.file_nodes,
        operators,
        source.weight_bytes,
    )


class StageClock:
    """Keeps the time of each stage, summed up where it runs several times.

    Attributes:
        prefix: what stands before the names of stages where they are announced.
    """

    def __init__(self, on_stage: Callable[[str], None] | None) -> None:
        self.prefix = ""
        self._seconds: dict[str, float] = {}
        self._on_stage = on_stage

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that ran, in the order of their first runs."""
        return tuple(Stage(*each) for each in self._seconds.items())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as stage `name`."""
        if self._on_stage is not None:
            self._on_stage(f"{self.prefix}{name}")
        started = time.perf_counter()
        yield
        taken = time.perf_counter() - started
        self._seconds[name] = self._seconds.get(name, 0.0) + taken


def _pictures(options: CompileOptions) -> PictureConfigs | None:
    """Return the configurations of inputs that take pictures, None without any."""
    if options.aipp is None:
        return None
    from atc_py.pipeline.preprocessing import read_preprocessing

    return read_preprocessing(options.aipp, options)


def _with_pictures(
    graph: Graph, ground: CommonGround, controls: Controls
) -> tuple[Diagnostic, ...]:
    """Insert what makes features of pictures; return warnings about the configurations."""
    if ground.pictures is None:
        return ()
    from atc_py.pipeline.preprocessing import add_preprocessing

    return add_preprocessing(graph, ground.pictures, ground.soc, controls.fp16_inputs)


def _fixed(
    file: OnnxFile, options: CompileOptions, judge: Judge, clock: StageClock
) -> tuple[OnnxFile, CompileOptions, tuple[FixedNode, ...] | None]:
    """Return the file in the form that rules give it; inputs that are bound have no dims."""
    rules, shapes = options.fix, options.input_shapes
    if rules is None:
        return file, options, None
    from atc_py.fix.in_memory import fixed_file
    from atc_py.pipeline.fixed_nodes import fixed_nodes

    with clock.stage("fix"):
        found, applied = fixed_file(file, judge.conditions, judge.specs, rules, shapes)
    shapes = {name: each for name, each in shapes.items() if name not in rules.bind}
    return found, replace(options, input_shapes=shapes), fixed_nodes(applied)


def _with_semantics(
    file: OnnxFile, options: CompileOptions, judge: Judge, clock: StageClock
) -> tuple[OnnxFile, CannSemantics | None]:
    """Return the file with the deviations of a generation of CANN written out, and a record.

    There is none where ONNX's semantics are chosen, and where no node deviates.
    """
    if options.precision.semantics is Semantics.ONNX:
        return file, None
    from atc_py.fix.as_cann import file_as_cann

    with clock.stage("semantics"):
        found, written = file_as_cann(file, judge.conditions, judge.specs, options.input_shapes)
    nodes = cann_nodes(written)
    return found, CannSemantics(options.precision.cann, nodes) if nodes else None


def _checked_source(
    file: OnnxFile, options: CompileOptions, ground: CommonGround, clock: StageClock
) -> tuple[Checked, SourceModel, Controls]:
    """Check the file; return its source in the form that is compiled, and the user's controls."""
    judge = ground.judge
    with clock.stage("fold"):
        suggest = partial(advise, file, options.input_shapes, judge)
        folded = file.fold(
            options.input_shapes,
            quant_bias=options.precision.quant_bias,
            suggest=suggest,
            memo=ground.memo,
            opened=open_dims(options.ranges),
        )
    with clock.stage("check"):
        view = folded.source
        controls = _controls(file, view, options)
        checked = _check(view, judge)
        source = restated(folded.to_source(), checked.placements)
    return checked, source, controls


def _check(view: SourceModel, judge: Judge) -> Checked:
    """Check every node of the model against the specifications."""
    checked = check_view(view, judge.conditions, judge.specs, history())
    missing = not_lowered(view.all_nodes, str(view.path), judge.specs)
    if missing or checked.check.standing is Standing.ERROR:
        raise RulesBrokenError(checked.check, missing)
    return checked


def _soc(options: CompileOptions) -> Soc:
    """Return the SoC that is compiled for, which must have what the precision mode needs."""
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    if options.small_channel and soc.storage.c04_filters:
        return replace(soc, storage=replace(soc.storage, small_channel=True))
    return soc


def _controls(file: OnnxFile, view: SourceModel, options: CompileOptions) -> Controls:
    """Return the user's wishes for single nodes, each of which the model must have."""
    names = ModelNames.of(view, file.node_outputs, file.outputs)
    return read_controls(options.precision, options.precision_mode, names)


def _switches(options: CompileOptions) -> Switches:
    """Return the passes that the user switched off, by name and in a fusion switch file."""
    check_names(options.disabled_passes)
    if options.fusion_switch_file is None:
        return Switches()
    return read_switches(options.fusion_switch_file, PIPELINE)


class _Passed(msgspec.Struct, frozen=True):
    """Result of the pass pipeline.

    Attributes:
        context: what passes knew and noted.
        runs: each pass that ran.
        launches_before: kernel launches of the graph that went in.
    """

    context: PassContext
    runs: Sequence[PassRun]
    launches_before: int


def _run_passes(
    graph: Graph, context: PassContext, options: CompileOptions, switches: Switches
) -> _Passed:
    """Run the pass pipeline, with a dump after each stage where the user wants one."""
    for warning in switches.warnings:
        context.sink.add(warning)
    if options.small_channel and not context.soc.storage.c04_filters:
        message = f"--enable-small-channel has no effect on {context.soc.name}"
        context.sink.add(SMALL_CHANNEL_WITHOUT_EFFECT.diagnostic(message))
    if context.soc.assumed_kernels:
        message = f"the kernels of {context.soc.name} are not published; their dtypes are assumed"
        context.sink.add(ASSUMED_KERNELS.diagnostic(message))
    dumps = None if options.dump_ir is None else _Dumps(options.dump_ir)
    if dumps is not None:
        dumps.write("lowered", graph)
    launches = _launches(graph)
    runs = run_passes(
        graph,
        context,
        disabled=options.disabled_passes | switches.disabled,
        verify=options.verify,
        after=None if dumps is None else dumps.write,
    )
    return _Passed(context, runs, launches)


def _pass_context(
    check: ModelCheck, soc: Soc, options: CompileOptions, controls: Controls
) -> PassContext:
    """Return the context of passes."""
    return PassContext(
        soc,
        options.precision_mode,
        check.path,
        controls=controls,
        reuse_memory=options.reuse_memory,
        quant_bias=form_of(check.bias_convention),
        only_atc_passes=options.precision.only_atc_passes,
    )


def _emit(graph: Graph, soc: Soc, options: CompileOptions, sources: SourceMemo | None) -> KernelSet:
    """Render the kernels, let the memory plan know their workspace, copy them to a folder."""
    kernels = emit_kernels(graph, soc, options.templates, sources)
    if graph.memory is not None:
        graph.memory = replace(graph.memory, workspace=kernels.workspace)
    if options.kernels is not None:
        write_kernels(kernels.files, options.kernels)
    return kernels


def _facts(
    lowered: _Lowered, kernels: KernelSet, passed: _Passed, options: CompileOptions
) -> Facts:
    """Count what compilation made of the model."""
    graph = lowered.graph
    return Facts(
        soc=find_soc(options.soc).name,
        precision_mode=options.precision_mode.value,
        file_nodes=lowered.file_nodes,
        source_operators=lowered.operators,
        target_operators=_counts_by_name(node.op for node in graph.nodes),
        engines=_counts_by_name(
            node.engine.value for node in graph.nodes if node.engine is not None
        ),
        kernels=len(set(kernels.kernel_of.values())),
        weights_in=lowered.weight_bytes,
        passes=tuple(PassEffect(run.name, run.changes) for run in passed.runs),
        precision=passed.context.decisions.as_json(graph),
        layout=layout_record(graph),
        fusions=_fusions(passed),
        launches=_launches(graph),
        launches_unfused=passed.launches_before,
        bias_convention=lowered.check.bias_convention,
        fixed=lowered.fixed,
        semantics=lowered.semantics,
    )


def _fusions(passed: _Passed) -> tuple[FusionEffect, ...]:
    """Return what each pass that may be switched off found and did."""
    rows = {row.name: row for row in PIPELINE if row.optional}
    found = []
    for run in passed.runs:
        if run.name in rows:
            known = passed.context.fusions.passes.get(run.name)
            record = known or PassFusions(run.changes, run.changes)
            row = rows[run.name]
            found.append(FusionEffect(row.name, row.atc_names, row.ub_fusion, record))
    return tuple(found)


def _launches(graph: Graph) -> int:
    """Return the number of kernel launches of a run; views launch nothing."""
    groups = launch_positions(graph.nodes).values()
    return sum(any(not is_view(graph.nodes[each].op) for each in at) for at in groups)


def _counts_by_name(names: Iterator[str]) -> dict[str, int]:
    """Name to count, by name."""
    return dict(sorted(Counter(names).items()))


def _contents(kernels: KernelSet, facts: Facts, options: CompileOptions) -> PackageContents:
    """Return what goes into the offline model beside the graph."""
    return PackageContents(
        producer=f"atc-py {__version__}",
        soc=facts.soc,
        options=_recorded_options(facts, options),
        kernels=kernels.files,
        kernel_of=kernels.kernel_of,
        report=facts.as_json(),
    )


def _recorded_options(facts: Facts, given: CompileOptions) -> dict[str, str]:
    """Return the options that decide what the offline model computes, and atc's command line."""
    options = {"precision_mode": facts.precision_mode}
    if given.atc_cmdline:
        options[ATC_CMDLINE] = given.atc_cmdline
    if given.ranges:
        options[INPUT_RANGES] = format_ranges(given.ranges)
    if facts.fixed is not None:
        options[FIXED] = "rules"
    if facts.semantics is not None:
        options["semantics"] = f"cann {facts.semantics.generation}"
    if facts.bias_convention is not None:
        options["quant_bias"] = facts.bias_convention.form.value
    return options


class _Dumps:
    """Writes the text form of the graph after each stage, numbered in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CANNOT_WRITE.error(f"cannot make folder {folder}: {error.strerror}") from None

    def write(self, stage: str, graph: Graph) -> None:
        """Write `NN_stage.ir`."""
        path = self._folder / f"{self._count:02d}_{stage}.ir"
        self._count += 1
        with atomic_write(path, durable=False) as file:
            file.write(print_graph(graph).encode())
