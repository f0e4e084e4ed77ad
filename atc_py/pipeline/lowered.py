"""A model as far as lowering takes it: its target operators before any pass, with shapes."""

from functools import partial
from pathlib import Path

from atc_py.check.added_findings import RulesBrokenError
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Standing
from atc_py.ir import Graph
from atc_py.lowering.coverage import not_lowered
from atc_py.lowering.lower import lower_model
from atc_py.lowering.restated import restated
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CompileOptions
from atc_py.pipeline.proposal.advice import advise
from atc_py.pipeline.proposal.judging import judge_of
from atc_py.spec import specifications
from atc_py.target import find_soc


def lowered_graph(model: Path, options: CompileOptions) -> Graph:
    """The graph that passes would get.

    Raises:
        AtcError: as `compile_model` does up to there.
    """
    specs = specifications(options.op_specs, options.precision.operator_list)
    judge = judge_of(options, find_soc(options.soc), specs)
    file = read_model(model)
    suggest = partial(advise, file, options.input_shapes, judge)
    folded = file.fold(
        options.input_shapes, quant_bias=options.precision.quant_bias, suggest=suggest
    )
    view = folded.source
    checked = check_view(view, judge.conditions, judge.specs, history())
    missing = not_lowered(view.all_nodes, str(view.path), judge.specs)
    if missing or checked.check.standing is Standing.ERROR:
        raise RulesBrokenError(checked.check, missing)
    return lower_model(restated(folded.to_source(), checked.placements), specs, checked.placements)
