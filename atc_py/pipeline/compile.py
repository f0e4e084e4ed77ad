"""The stages of compilation in order: from an ONNX file to an offline model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from atc_py.check.findings import ModelCheck
from atc_py.cost.network import network_time
from atc_py.diag import (
    BAD_OPTION,
    INT8_IN_HIGH_PRECISION,
    MEMORY_TOO_SMALL,
    Diagnostic,
    Place,
)
from atc_py.ir import Graph
from atc_py.kernels.kernels import KernelSet, SourceMemo, emit_kernels, write_kernels
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model, with_user_ends
from atc_py.options.compile_options import CompileOptions, PrecisionMode
from atc_py.package.describe import describe
from atc_py.package.schema import OmModel, PackageContents
from atc_py.package.writer import WrittenModel, write_model
from atc_py.pipeline.conversion_facts import contents_of, facts_of
from atc_py.pipeline.lowering import Lowered, checked_file, controls_of, lowered_file
from atc_py.pipeline.pass_stage import pass_context, run_pipeline
from atc_py.pipeline.rehearsal import rehearse
from atc_py.pipeline.shared_inputs import SharedInputs, StageClock, shared_inputs
from atc_py.results.conversion import Conversion, Facts
from atc_py.results.memory_facts import MemoryFacts, memory_facts
from atc_py.system.memory_limit import format_size
from atc_py.system.process import MANY_NODES, gc_paused, release_to_system
from atc_py.system.structs import replace
from atc_py.target import Soc, SocFamily
from atc_py.text import Text


@gc_paused()
def compile_model(
    model: Path,
    output: Path,
    options: CompileOptions,
    on_stage: Callable[[str], None] | None = None,
    read: Callable[[Path], OnnxFile] | None = None,
    *,
    to_run: bool = False,
) -> Conversion:
    """Compile `model` to `output`; call `on_stage` where a stage starts.

    `read` returns the file, where it is not just read. One that is only `to_run` has no kernels, see
    `SharedInputs`.

    Raises:
        AtcError: with every finding of the failing stage; a file at `output` is then unchanged.
    """
    clock = StageClock(on_stage)
    shared = shared_inputs(options, to_run=to_run, compiler=compile_model)
    compile_read = _compile_with_ranges if options.ranges else compile_graph
    compiled = compile_read(
        _read(model, read or read_model, options, clock, shared.soc), options, shared, clock
    )
    check, facts, warnings = compiled.check, compiled.facts, compiled.warnings
    with clock.stage("package"):
        written = compiled.write(output, durable=not shared.to_run)
    description, proof = written.description, compiled.graph.proof
    compiled.graph.dissolve()  # estimates take the description alone
    del compiled
    with clock.stage("estimate"):
        needs = memory_facts(description, proof), network_time(description)
        warnings += too_large(model, needs[0], shared.soc)
        warnings += _int8_in_high_precision(model, description, options, shared.soc)
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


_HIGH = frozenset({PrecisionMode.FORCE_FP32, PrecisionMode.MUST_KEEP_ORIGIN_DTYPE})


def _int8_in_high_precision(
    model: Path, description: OmModel, options: CompileOptions, soc: Soc
) -> tuple[Diagnostic, ...]:
    """The warning where ATC's guide excludes the mode for layers on int8; empty elsewhere."""
    mode = options.precision_mode
    if mode not in _HIGH or soc.family is SocFamily.SIM:
        return ()
    if all(node.op != "AscendQuant" for node in description.nodes):
        return ()
    text = Text("layers on int8 are compiled in {mode}", mode=mode.value)
    return (INT8_IN_HIGH_PRECISION.diagnostic(text, place=Place(str(model))),)


def too_large(model: Path, needs: MemoryFacts | None, soc: Soc) -> tuple[Diagnostic, ...]:
    """The warning where a SoC's device memory cannot hold the model; empty where it can."""
    if needs is None or soc.memory is None or needs.total <= soc.memory:
        return ()
    text = Text(
        "the model needs {need} of device memory, {soc} has {memory}",
        need=format_size(needs.total),
        soc=soc.name,
        memory=format_size(soc.memory),
    )
    return (MEMORY_TOO_SMALL.diagnostic(text, place=Place(str(model))),)


def _read(
    model: Path,
    read: Callable[[Path], OnnxFile],
    options: CompileOptions,
    clock: StageClock,
    soc: Soc,
) -> OnnxFile:
    with clock.stage("read"):
        file = with_user_ends(read(model), options)
        if options.ranges:
            refuse_open_layers(file, soc)
        return file


def refuse_open_layers(file: OnnxFile, soc: Soc) -> None:
    """Refuse gears and ranges for a file with layers on int8: CANN takes no int8 in open shapes."""
    node = next((node for node in file.nodes if node.op_type == "AscendQuant"), None)
    if node is not None and soc.family is not SocFamily.SIM:
        raise BAD_OPTION.error(
            Text(
                "a model with layers on int8 cannot have gears or ranges of dims on {soc}",
                soc=soc.name,
            ),
            place=node.place,
            help=Text("convert it once for each shape, or leave the model unquantized"),
        )


def _compile_with_ranges(
    file: OnnxFile, options: CompileOptions, shared: SharedInputs, clock: StageClock
) -> CompiledGraph:
    """Compile a file with ranges of dims; an error tells what to do about them."""
    from atc_py.pipeline.range_inputs import gears_advised, with_open_ranges

    with gears_advised(options.ranges, file.inputs):
        return compile_graph(with_open_ranges(file, options.ranges), options, shared, clock)


class CompiledGraph(msgspec.Struct, frozen=True):
    """A graph that went through all stages, and was not written yet."""

    graph: Graph
    contents: PackageContents  # what is written with it
    description: OmModel  # of the graph, as the archive has it
    facts: Facts  # what compilation made of the model
    check: ModelCheck  # the findings of the check against the operator list
    warnings: tuple[Diagnostic, ...]  # what passes found that does not stop the conversion

    def write(self, output: Path, *, durable: bool) -> WrittenModel:
        """Write the offline model.

        Raises:
            AtcError: CANNOT_WRITE; the previous file is then unchanged.
        """
        return write_model(
            self.graph, output, self.contents, durable=durable, description=self.description
        )


def compile_graph(
    file: OnnxFile, options: CompileOptions, shared: SharedInputs, clock: StageClock
) -> CompiledGraph:
    """Compile a file that was read, with one shape for each input; nothing is written."""
    path, found = file.path, checked_file(file, options, shared, clock)
    del file  # what is lowered needs its weights alone
    lowered = lowered_file(*found, shared, clock)
    del found
    return _compile_lowered(lowered, path, options, shared, clock)


def _compile_lowered(
    lowered: Lowered,
    path: Path,
    options: CompileOptions,
    shared: SharedInputs,
    clock: StageClock,
) -> CompiledGraph:
    soc, graph, check = shared.soc, lowered.graph, lowered.check
    graph.name = options.graph_name or graph.name
    with clock.stage("passes"):
        context = pass_context(str(path), soc, options, lowered.controls, check.bias_convention)
        context.sink.extend(lowered.doubts)
        passed = run_pipeline(graph, context, options, shared.switches)
        if len(graph.nodes) >= MANY_NODES:  # the source, and what passes took
            release_to_system()
    kernels = KernelSet({}, {})
    if not shared.to_run:
        with clock.stage("emit"):
            kernels = emitted_kernels(graph, soc, options, shared.sources)
    facts = facts_of(lowered, kernels, passed)
    contents = contents_of(kernels, facts, options)
    with clock.stage("rehearse"):
        description = describe(graph, contents)
        rehearse(graph, description, str(path))
    warnings = tuple(passed.context.sink.diagnostics)
    return CompiledGraph(graph, contents, description, facts, check, warnings)


class TrialCompiler:
    """Compiles a file again and again, with other --keep-dtype and --customize-dtypes files each time.

    What these do not change is done once: reading, rules, folding, the check. The offline models are
    only to run, see `SharedInputs`.
    """

    @gc_paused()
    def __init__(
        self,
        model: Path,
        options: CompileOptions,
        read: Callable[[Path], OnnxFile] = read_model,
    ) -> None:
        self._clock = StageClock(None)
        self._shared = shared_inputs(options, to_run=True)
        file = _read(model, read, options, self._clock, self._shared.soc)
        self._found, _ = checked_file(file, options, self._shared, self._clock)

    @gc_paused()
    def write(self, output: Path, options: CompileOptions) -> None:
        found, shared, clock = self._found, self._shared, self._clock
        controls = controls_of(found.file, found.view, options)
        lowered = lowered_file(found, controls, shared, clock)
        compiled = _compile_lowered(lowered, found.file.path, options, shared, clock)
        output.unlink(missing_ok=True)  # ext4 waits for the disk where a file replaces another
        compiled.write(output, durable=False)
        compiled.graph.dissolve()


def emitted_kernels(
    graph: Graph, soc: Soc, options: CompileOptions, sources: SourceMemo | None = None
) -> KernelSet:
    """Render the kernels, let the memory plan know their workspace, copy them to a folder."""
    kernels = emit_kernels(graph, soc, options.templates, sources)
    if graph.memory is not None:
        graph.memory = replace(graph.memory, workspace=kernels.workspace)
    if options.kernels is not None:
        write_kernels(kernels.files, options.kernels)
    return kernels
