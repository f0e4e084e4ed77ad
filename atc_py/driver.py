"""The stages of compilation in order: from an ONNX file to an offline model."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from atc_py import __version__
from atc_py.atomic import atomic_write
from atc_py.check.bound import Conditions
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Standing
from atc_py.check.refusal import RulesBrokenError
from atc_py.diag.codes import CANNOT_WRITE
from atc_py.emit.kernels import emit_kernels, write_kernels
from atc_py.frontend.history import history
from atc_py.frontend.read import read_model
from atc_py.frontend.survey import view_of
from atc_py.ir.printer import print_graph
from atc_py.lowering.coverage import not_lowered
from atc_py.lowering.lower import lower_model
from atc_py.lowering.restated import restated
from atc_py.package.contents import PackageContents
from atc_py.package.writer import write_model
from atc_py.passes.base import PassContext
from atc_py.passes.manager import check_names, run_passes
from atc_py.passes.precision.control_files import read_controls
from atc_py.passes.precision.model_names import ModelNames, check_soc
from atc_py.rehearsal import rehearse
from atc_py.report.conversion import Conversion, Facts, PassEffect, Stage
from atc_py.spec import specifications
from atc_py.target import find_soc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from atc_py.check.evaluate import Checked
    from atc_py.config import CompileOptions
    from atc_py.emit.kernels import KernelSet
    from atc_py.frontend.folded import FoldedModel
    from atc_py.frontend.model import SourceModel
    from atc_py.ir import Graph
    from atc_py.passes.manager import PassRun
    from atc_py.passes.precision.decisions import Decisions
    from atc_py.spec import Library
    from atc_py.target import Soc

__all__ = ["compile_model"]


def compile_model(
    model: Path,
    output: Path,
    options: CompileOptions,
    on_stage: Callable[[str], None] | None = None,
) -> Conversion:
    """Compile `model` to the offline model `output`; `on_stage` hears of each stage's beginning.

    Raises:
        AtcError: with every finding of the stage that could not be passed; what was at `output`
            before is then still there.
    """
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    specs = specifications(options.op_specs)
    check_names(options.disabled_passes)
    clock = _Clock(on_stage)
    with clock.stage("read"):
        file = read_model(model)
    with clock.stage("fold"):
        folded = file.fold(options.input_shapes)
    with clock.stage("check"):
        checked = _check(folded, soc, options, specs)
        source = restated(folded.to_source(), checked.placements)
    with clock.stage("lower"):
        graph = lower_model(source, specs)
        names = ModelNames.of(graph, ((node.name, node.outputs) for node in file.nodes))
        controls = read_controls(options.precision, options.precision_mode, names)
    with clock.stage("passes"):
        context = PassContext(soc, options.precision_mode, str(model), controls=controls)
        passes = _run_passes(graph, context, options)
    with clock.stage("emit"):
        kernels = _emit(graph, soc, options)
    facts = _facts(source, graph, kernels, passes, options, context.decisions)
    contents = _contents(kernels, facts)
    with clock.stage("rehearse"):
        rehearse(graph, contents, str(model))
    with clock.stage("package"):
        written = write_model(graph, output, contents)
    return Conversion(
        model,
        output,
        checked.check,
        facts,
        tuple(clock.stages),
        written.weight_bytes,
        written.file_bytes,
        tuple(context.sink.diagnostics),
    )


class _Clock:
    """Keeps the time of each stage."""

    def __init__(self, on_stage: Callable[[str], None] | None) -> None:
        self.stages: list[Stage] = []
        self._on_stage = on_stage

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as stage `name`."""
        if self._on_stage is not None:
            self._on_stage(name)
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name, time.perf_counter() - started))


def _check(folded: FoldedModel, soc: Soc, options: CompileOptions, specs: Library) -> Checked:
    """Hold every node of the model against the specifications."""
    view = view_of(folded)
    checked = check_view(view, Conditions(options.precision_mode, soc), specs, history())
    missing = not_lowered(view.nodes, str(view.path), specs)
    if missing or checked.check.standing is Standing.ERROR:
        raise RulesBrokenError(checked.check, missing)
    return checked


def _run_passes(graph: Graph, context: PassContext, options: CompileOptions) -> list[PassRun]:
    """Run the pass pipeline, with a dump after each stage where the user wants one."""
    dumps = None if options.dump_ir is None else _Dumps(options.dump_ir)
    if dumps is not None:
        dumps.write("lowered", graph)
    return run_passes(
        graph,
        context,
        disabled=options.disabled_passes,
        verify=options.verify,
        after=None if dumps is None else dumps.write,
    )


def _emit(graph: Graph, soc: Soc, options: CompileOptions) -> KernelSet:
    """Render the kernel stubs, and copy them to the user's folder where one is given."""
    kernels = emit_kernels(graph, soc)
    if options.kernels is not None:
        write_kernels(kernels, options.kernels)
    return kernels


def _facts(
    source: SourceModel,
    graph: Graph,
    kernels: KernelSet,
    passes: Sequence[PassRun],
    options: CompileOptions,
    decisions: Decisions,
) -> Facts:
    """Count what compilation made of the model."""
    return Facts(
        soc=find_soc(options.soc).name,
        precision_mode=options.precision_mode.value,
        file_nodes=source.file_nodes,
        source_operators=_counted(node.op_type for node in source.nodes),
        target_operators=_counted(node.op for node in graph.nodes),
        engines=_counted(node.engine.value for node in graph.nodes if node.engine is not None),
        kernels=len(set(kernels.kernel_of.values())),
        weights_in=source.weight_bytes,
        passes=tuple(PassEffect(run.name, run.changes) for run in passes),
        precision=decisions.as_json(graph),
    )


def _counted(names: Iterator[str]) -> dict[str, int]:
    """Name to count, by name."""
    return dict(sorted(Counter(names).items()))


def _contents(kernels: KernelSet, facts: Facts) -> PackageContents:
    """What goes into the offline model beside the graph."""
    return PackageContents(
        producer=f"atc-py {__version__}",
        soc=facts.soc,
        options={"precision_mode": facts.precision_mode},
        kernels=kernels.files,
        kernel_of=kernels.kernel_of,
        report=facts.as_json(),
    )


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
