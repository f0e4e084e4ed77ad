"""A model as far as lowering takes it: its target operators before any pass, with shapes."""

from functools import partial
from pathlib import Path

from atc_py.ir import Graph
from atc_py.lowering.lower import lower_model
from atc_py.lowering.rewritten import restated
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CompileOptions
from atc_py.pipeline.judging import judge_of
from atc_py.pipeline.lowering import sound_check
from atc_py.pipeline.proposal.advice import advise
from atc_py.target import find_soc


def lowered_graph(model: Path, options: CompileOptions) -> Graph:
    """The graph that passes would get."""
    judge = judge_of(options, find_soc(options.soc))
    file = read_model(model)
    suggest = partial(advise, file, options.input_shapes, judge)
    folded = file.fold(
        options.input_shapes, quant_bias=options.precision.quant_bias, suggest=suggest
    )
    placements = sound_check(folded.source, judge).placements
    return lower_model(restated(folded.to_source(), placements), judge.specs, placements)
