"""Quantized models from one form into another: read, rewritten, written."""

import os
from collections.abc import Callable
from pathlib import Path

from atc_py.check.bound_node import Conditions
from atc_py.check.findings import OtherVerdict, Standing
from atc_py.diag import BAD_OPTION
from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import Applied
from atc_py.fix.fixed_files import state_at_listed_opset
from atc_py.fix.measured import fix_measured
from atc_py.fix.restate import changed_operators
from atc_py.fix.start import with_input_ranges
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.qdq.rewriting import FixedGraph, rewrite_file
from atc_py.options.command_options import FORMS, RewriteOptions
from atc_py.options.compile_options import CheckOptions
from atc_py.options.fix_rules import FixRules
from atc_py.options.output_paths import rewritten_output
from atc_py.pipeline.judging import Judge
from atc_py.pipeline.lowering import fixed_nodes
from atc_py.results.quantization import QuantBiases, Quantization, layer_counts
from atc_py.spec import Library, specifications
from atc_py.target import find_soc
from atc_py.text import Text


def rewrite_quantized(
    model: Path,
    output: str | os.PathLike[str] | None,
    options: RewriteOptions,
    on_stage: Callable[[str], None] | None = None,
) -> Quantization:
    """Write the quantized `model` in another form; `on_stage` is called at the start of each stage.

    Raises:
        AtcError: with every finding; the previous file at the output is then unchanged. BAD_OPTION
            where no list has that name.
    """
    form = options.form
    if form not in FORMS:
        raise BAD_OPTION.error(
            Text("there is no form {form}", form=repr(form)),
            help=Text("forms are {forms}", forms=" and ".join(FORMS)),
        )
    specs = specifications(None, options.operator_list)
    tell = on_stage or (lambda _stage: None)
    path = rewritten_output(model, output, form, FORMS)
    tell("read")
    file = read_model(model)
    tell("rewrite")
    fixing = None if options.fix is None else _Fixing(file, options.fix, specs, options)
    done = rewrite_file(
        file, path, form, external=options.external_data, quant_bias=options.quant_bias, fix=fixing
    )
    tell("check")
    return Quantization(
        model=model,
        output=path,
        data=done.data,
        form=form,
        opset=done.opset,
        counts=layer_counts(done.nodes),
        nodes=done.nodes,
        bytes_before=done.bytes_before,
        bytes_after=done.bytes_after,
        biases=QuantBiases(done.read_as, done.written_as),
        listed=list_verdict(path, specs, options.operator_list, strict=options.strict_list),
        fixed=None if fixing is None else fixed_nodes(fixing.applied),
    )


class _Fixing:
    """Rules that replace what the list refuses before a model is written in another form.

    Attributes:
        applied: the rules that were applied; known after the call.
    """

    def __init__(
        self, file: OnnxFile, rules: FixRules, specs: Library, options: RewriteOptions
    ) -> None:
        rules = with_input_ranges(file, rules)
        self._file, self._rules, self._specs, self._options = file, rules, specs, options
        self.applied: tuple[Applied, ...] = ()

    def __call__(self) -> FixedGraph:
        """The graph in its new form; that of ONNX runtimes keeps its opset."""
        file, conditions = self._file, _conditions(strict=self._options.strict_list)
        found = fix_measured(
            lambda: Fixer(file, conditions, self._specs, self._rules), {}, self._rules
        )
        found.require_settled()
        before = after = found.graph.opsets.get("", 0)
        if self._options.form == "ascend":
            after = state_at_listed_opset(found, self._specs)
        self.applied = found.applied
        gone = changed_operators({node.op_type for node in file.nodes}, before, after)
        layers = () if found.model is None else found.model.quantized
        return FixedGraph(found.graph, layers, gone, frozenset(self._rules.bind))


def list_verdict(path: Path, specs: Library, operator_list: str, *, strict: bool) -> OtherVerdict:
    """Verdict of a list on a file, in the mode and for the SoC that check takes."""
    file = read_model(path, lenient=True)
    found = (
        Judge(_conditions(strict=strict), specs, None)
        .of_survey(file, surveyed(file, {}))
        .checked.check
    )
    return OtherVerdict(operator_list, found.standing, found.counts.get(Standing.ERROR, 0))


def _conditions(*, strict: bool) -> Conditions:
    options = CheckOptions()
    soc = find_soc(options.soc)
    return Conditions(options.precision_mode, soc, strict=strict)
