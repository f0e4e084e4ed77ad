"""Judgments of a file whose inputs have dims that somebody chose."""

from collections.abc import Collection, Hashable

import msgspec

from atc_py.check.bound_node import Conditions
from atc_py.check.evaluate import Checked, check_view
from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.check.findings_builder import amended
from atc_py.check.parser_rules import model_findings
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, surveyed
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import CheckOptions, CompileOptions, QuantBias
from atc_py.spec import Library, specifications
from atc_py.target import Soc


class Judgment(msgspec.Struct, frozen=True):
    """Verdict of the check on a file."""

    file: OnnxFile  # the file, with the dims that were chosen
    survey: FoldedModel
    checked: Checked

    @property
    def model(self) -> SourceModel:
        """Knowledge of the file."""
        return self.survey.source

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """Contradictions with ONNX."""
        return self.model.faults

    def of(self, standing: Standing) -> dict[Hashable, Finding]:
        """The findings of one standing, by their identity."""
        found = self.checked.check.findings
        return {key_of(each): each for each in found if each.standing is standing}

    def faults_beyond(self, known: Collection[Diagnostic]) -> list[Diagnostic]:
        """List the faults at places where `known` has none."""
        places = {_place_of(each) for each in known}
        return [each for each in self.faults if _place_of(each) not in places]


def key_of(finding: Finding) -> Hashable:
    """Identity of a finding among those of the model, whatever it makes of the node."""
    place = finding.place
    return (
        finding.rule,
        finding.scope,
        place.node,
        place.node_name,
        place.op_type,
        place.field,
        finding.allowed,
    )


def _place_of(fault: Diagnostic) -> Hashable:
    """Identity of a fault among those of the model; its message may name dims."""
    return fault.code, fault.place


class Judge(msgspec.Struct, frozen=True):
    """Judge of files, by the rules of `check`."""

    conditions: Conditions  # precision mode and SoC
    specs: Library
    # the convention of biases of int8 layers; None to use the file's
    quant_bias: QuantBias | None = None

    def __call__(self, file: OnnxFile) -> Judgment:
        """Judge `file` with the dims that it states."""
        return self.of_survey(file, surveyed(file, {}, quant_bias=self.quant_bias))

    def of_survey(self, file: OnnxFile, survey: FoldedModel) -> Judgment:
        checked = check_view(survey.source, self.conditions, self.specs, history())
        return Judgment(file, survey, checked)


def with_model_rules(check: ModelCheck, file: OnnxFile, view: SourceModel, cann: str) -> ModelCheck:
    """`check` of `view` with the rules of CANN's parser that its file breaks as a whole.

    Models that break ONNX's rules are returned as they are.
    """
    if check.faults:
        return check
    return amended(check, view, model_findings(broken_rules(file), str(file.path), cann))


def judge_of(options: CheckOptions | CompileOptions, soc: Soc) -> Judge:
    """The operator list, and the conditions under which models are judged by it."""
    chosen = options.precision
    conditions = Conditions(options.precision_mode, soc, chosen.cann, strict=chosen.strict_list)
    specs = specifications(options.op_specs, chosen.operator_list)
    return Judge(conditions, specs, chosen.quant_bias)
