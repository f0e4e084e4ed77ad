"""Report on a model with open dims: what is known of it, and whether any dims compile."""

from atc_py.check.findings import Standing
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import AtcError
from atc_py.lowering.lower import not_lowered
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, surveyed
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import CompileOptions, Semantics
from atc_py.passes.precision.controls import check_soc
from atc_py.pipeline.judging import Judge, Judgment, judge_of
from atc_py.pipeline.proposal.advice import advice_of, with_shapes
from atc_py.pipeline.proposal.open_check import open_check
from atc_py.pipeline.proposal.search import Search
from atc_py.target import find_soc


def report_open_model(file: OnnxFile, options: CompileOptions) -> SourceModel:
    """Find out what is known of a file whose dims are open, besides those of the options.

    A file that rules or CANN's semantics change before it is compiled is not judged.

    Raises:
        AtcError: UNKNOWN_SOC, NO_BFLOAT16, BAD_INPUT_SHAPE; faults of inputs, and findings, that no
            choice of dims removes.
    """
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    judge = judge_of(options, soc)
    survey = surveyed(file, options.input_shapes, quant_bias=options.precision.quant_bias)
    if survey.input_faults:
        raise AtcError(*survey.input_faults)
    if options.fix is None and options.precision.semantics is Semantics.ONNX:
        known = judge.of_survey(with_shapes(file, options.input_shapes), survey)
        _refuse(known, judge, options)
    return survey.source


def _refuse(known: Judgment, judge: Judge, options: CompileOptions) -> None:
    """Refuse a model whose errors no choice of dims removes."""
    check = known.checked.check
    lasting = [each for each in known.model.all_nodes if not each.vanishes]
    missing = not_lowered(lasting, check.path, judge.specs)
    if check.standing is Standing.ERROR and not missing:
        search = Search(known.file, judge, known)
        proposal = search.propose()
        advice = advice_of(known.file, proposal, options.input_shapes)
        # Errors that a choice of dims refutes are none; nothing is compiled to try it.
        check = open_check(known, search, proposal, advice, lambda _judgment: [])
    if missing or check.standing is Standing.ERROR:
        raise RulesBrokenError(check, missing)
