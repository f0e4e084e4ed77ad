"""The passes on a lowered graph, with what they need to know and dumps of the graph."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from atc_py.diag import ASSUMED_KERNELS, FORMER_SOC_NAME, SMALL_CHANNEL_WITHOUT_EFFECT
from atc_py.ir import Graph, print_graph
from atc_py.onnx_graph.source import BiasConvention, form_of
from atc_py.options.compile_options import CompileOptions
from atc_py.passes.base import PassContext, Switches
from atc_py.passes.manager import PassRun, run_passes
from atc_py.passes.precision.controls import Controls
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.target import Soc, find_operator, is_former_name, is_view
from atc_py.text import Text


class Passed(msgspec.Struct, frozen=True):
    """Result of the pass pipeline."""

    context: PassContext  # what passes knew and noted
    runs: Sequence[PassRun]  # each pass that ran
    launches_before: int  # kernel launches of the graph that went in


def run_pipeline(
    graph: Graph, context: PassContext, options: CompileOptions, switches: Switches
) -> Passed:
    """Run the pass pipeline, with a dump after each stage where the user wants one."""
    for warning in switches.warnings:
        context.sink.add(warning)
    if options.enable_small_channel and not context.soc.storage.c04_filters:
        message = Text("--enable-small-channel has no effect on {soc}", soc=context.soc.name)
        context.sink.add(SMALL_CHANNEL_WITHOUT_EFFECT.diagnostic(message))
    if is_former_name(options.soc):
        message = Text("{soc} is now called {name}", soc=options.soc, name=context.soc.name)
        context.sink.add(FORMER_SOC_NAME.diagnostic(message))
    dumps = None if options.dump_ir is None else _Dumps(options.dump_ir)
    if dumps is not None:
        dumps.write("lowered", graph)
    launches = launch_count(graph)
    runs = run_passes(
        graph,
        context,
        disabled=options.disable_pass | switches.disabled,
        verify=options.verify,
        after=None if dumps is None else dumps.write,
    )
    _warn_of_assumed_kernels(graph, context)
    return Passed(context, runs, launches)


def _warn_of_assumed_kernels(graph: Graph, context: PassContext) -> None:
    """Say whose dtypes are assumed where a SoC's kernels are published in part, or not at all."""
    soc = context.soc
    message = Text("the kernels of {soc} are not published; their dtypes are assumed", soc=soc.name)
    if not soc.assumed_kernels:
        rows = [find_operator(node.op) for node in graph.nodes if not node.on_aicpu]
        names = {row.name for row in rows if row is not None and row.is_undescribed_on(soc)}
        if not names:
            return
        message = Text(
            "the kernels of {names} are not published for {soc}; their dtypes are assumed",
            names=", ".join(sorted(names)),
            soc=soc.name,
        )
    context.sink.add(ASSUMED_KERNELS.diagnostic(message))


def pass_context(
    path: str,
    soc: Soc,
    options: CompileOptions,
    controls: Controls,
    biases: BiasConvention | None = None,
) -> PassContext:
    return PassContext(
        soc,
        options.precision_mode,
        path,
        controls=controls,
        reuse_memory=not options.disable_reuse_memory,
        quant_bias=form_of(biases),
        only_atc_passes=options.precision.only_atc_passes,
    )


def launch_count(graph: Graph) -> int:
    """The number of kernel launches of a run; views launch nothing."""
    launching = (each for each in enumerate(graph.nodes, 1) if not is_view(each[1].op))
    return len({node.scope or -position for position, node in launching})


class _Dumps:
    """Writes the text form of the graph after each stage, numbered in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        make_folder(folder)

    def write(self, stage: str, graph: Graph) -> None:
        """Write `NN_stage.ir`."""
        path = self._folder / f"{self._count:02d}_{stage}.ir"
        self._count += 1
        with atomic_write(path, durable=False) as file:
            file.write(print_graph(graph).encode())
