"""Findings of a check, and the verdict for a node, a model and all models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from atc_py.check.condition_words import rewrite_text, with_condition
from atc_py.diag import AtcFault, Code, Diagnostic, Place
from atc_py.onnx_graph.source import BiasConvention, OpenDim, QuantizedNode
from atc_py.options.compile_options import DEFAULT_LIST, NEWEST_CANN
from atc_py.spec import Level
from atc_py.system.notebook import notebook_html
from atc_py.system.structs import Count, Result, replace
from atc_py.text import Text


class Standing(Enum):
    """Standing of a node, or of a model, by its findings; from worst to best."""

    ERROR = "error"
    UNKNOWN = "unknown"
    PARSER = "parser"
    LIST = "list"
    REWRITE = "rewrite"
    AICPU = "aicpu"
    ACCURACY = "accuracy"
    SUPPORTED = "supported"

    @classmethod
    def of(cls, level: Level) -> Standing:
        """The standing that a rule of that level leads to where it fails."""
        return cls(level.value)

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _ORDER[self]

    def reaches(self, limit: Standing) -> bool:
        """True if it is as severe as `limit`, or more."""
        return self.rank <= limit.rank


_ORDER = {standing: rank for rank, standing in enumerate(Standing)}


def worst(standings: Iterable[Standing]) -> Standing:
    """The worst of them; SUPPORTED where there are none."""
    return min(standings, key=lambda each: each.rank, default=Standing.SUPPORTED)


def fingerprint_of(parts: Iterable[object]) -> str:
    """A short digest of the names that identify a finding."""
    import hashlib  # models without findings need none of it

    text = "\0".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Finding(Result, frozen=True):
    """One reason why one node is not simply supported.

    Attributes:
        code: its kind.
        standing: what it makes of the node.
        rule: what names the rule across versions: `Conv/attr_each_in_range/strides`.
        source: `op_specs/base/nn/conv.yaml:23`, where the rule stands; "" where it stands in no file.
        place: model, node and the attribute, input or output concerned.
        scope: the subgraph that the node stands in; "" at the top.
        observed: the value seen.
        allowed: the rule's sentence, without full stop.
        help: the hint.
        when: the conditions under which the rule counts; empty where it always does.
        taken_by: of an error, the other operator lists by which the node has none and compiles.
        fixed_by: of an error or a deviation of CANN, the rules that rewrite the node so that it is
            gone; before them the option that chooses a branch, `--bind sr=16000`, where it takes one.
        certainty: of a deviation of CANN, `proven` or `inferred`; "" for every other finding.
        effect: of a rewrite, what becomes of the form that the rule forbids: `will be split`; empty
            for every other finding.
        atc: of a rule of CANN's parser about a whole model, CANN's own code; None for every other.
    """

    code: Code
    standing: Standing
    rule: str
    source: str
    place: Place
    scope: str
    observed: Text
    allowed: Text
    help: Text
    when: Text = msgspec.field(default=Text(""))
    taken_by: tuple[str, ...] = ()
    fixed_by: tuple[str, ...] = ()
    certainty: str = ""
    effect: Text = msgspec.field(default=Text(""))
    atc: AtcFault | None = None

    @property
    def message(self) -> Text:
        """Sentence, its conditions, and the observed value; of a rewrite, what becomes of it."""
        if self.effect:
            place, effect = self.place, self.effect
            return rewrite_text(place.op_type, place.field, self.observed, effect)
        demand = with_condition(self.allowed, self.when)
        if self.standing is Standing.UNKNOWN:
            return demand + Text(" (not decided: ") + self.observed + Text(")")
        if not self.observed.en:
            return demand
        return demand + Text(", found {observed}", observed=self.observed)

    @property
    def fingerprint(self) -> str:
        """Identity of the same fault when found again, even with another value."""
        place = self.place
        node = place.node_name or str(place.node)
        parts = (self.rule, self.standing.value, self.scope, node, place.op_type, place.field)
        return fingerprint_of(parts)

    def about(self, node: int, name: str) -> Finding:
        """The same finding on another node; one about the file stays as it is."""
        at = self.place
        if at.node is None:
            return self
        place = Place(at.file, node, name, at.op_type, at.field, at.line, at.column)
        return replace(self, place=place)

    def diagnostic(self) -> Diagnostic:
        """The finding as a diagnostic."""
        return Diagnostic(
            self.code, self.message, self.place, self.help, self.source or None, self.atc
        )


class OtherVerdict(Result, frozen=True):
    """Verdict of another operator list, as far as a conversion by it would come.

    Attributes:
        name: of the list.
        standing: the worst of its findings.
        errors: how many of them are errors.
    """

    name: str
    standing: Standing = msgspec.field(name="verdict")
    errors: Count


class NodeCount(Result, frozen=True):
    """One operator's nodes by their standing.

    Attributes:
        op: its type, with the domain before it where that is not ONNX's: `com.microsoft::Gelu`.
        listed: whether the list has it.
        counts: nodes of each standing; those without any are left out.
    """

    op: str
    listed: bool
    counts: Mapping[Standing, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def ranked(operators: Iterable[NodeCount]) -> tuple[NodeCount, ...]:
    """The worst standing first, then the most frequent, then by name."""

    def place(row: NodeCount) -> tuple[int, int, str]:
        return min(standing.rank for standing in row.counts), -row.total, row.op

    return tuple(sorted(operators, key=place))


class NodeRow(Result, frozen=True):
    """One node and its standing.

    Attributes:
        index: position in the file's graph, from 0; nodes of subgraphs have their outer node's.
        name: its name in the file, possibly empty.
        type: domain, the version that the model imports for it, and operator, as ATC's pre-check
            spells them: `ai.onnx::13::Resize`.
        scope: the subgraph that it stands in; "" at the top.
        standing: the worst of its findings.
    """

    index: int
    name: str
    type: str
    scope: str
    standing: Standing


class FixAdvice(Result, frozen=True):
    """The call of `atc-py fix` that helps a refused model most.

    Attributes:
        removed: how many errors it removes.
        input_shape: text for --input-shape, of the inputs that the model has; "" for none.
        bind: values of inputs that decide which branch runs, by name.
        candidates: values that the model compares these inputs with, by name.
        ranges: options with the bounds of integer inputs that rules have to know.
    """

    removed: int
    input_shape: str = ""
    bind: Mapping[str, float] = msgspec.field(default_factory=dict)
    candidates: Mapping[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    ranges: tuple[str, ...] = ()


class ModelCheck(Result, frozen=True):
    """Findings in one model.

    Attributes:
        path: the file, as the user gave it.
        name: the graph's name; "" where the file cannot be read.
        opsets: imported version of each domain.
        file_nodes: nodes in the file's graph.
        nodes: nodes that were compared with the list, those of subgraphs included.
        findings: about nodes, in the order of the nodes.
        faults: what breaks ONNX's own rules or cannot be read; errors, too.
        operators: by operator, the ones with the worst standing first.
        shape_hint: text for --input-shape where dims are open: a choice that was tried and fits,
            or names in place of numbers where none is known; "" where nothing is open.
        gears_hint: text for --auto-gears, where several sizes of an open dim fit.
        hint_fits: whether the hint is a choice that fits.
        hint_runs: False where no run with it gave numbers.
        hint_tries: how many choices were tried.
        deciding: the open dims that decide what is not decided.
        rows: every node that was compared with the list, in the order of the network.
        layers: of a model that came quantized, its layers and what became of them.
        bias_convention: of a model whose layers are int8 already, how their biases are read.
        other_lists: of a model with errors, what the other operator lists say of it.
        newer: nodes by operator that a later list alone takes, by the list, where any may take them.
        kept: its operators that the list keeps, though newer pages do not have them.
        fix: of a model with errors that rules remove, how.
    """

    path: str
    name: str
    opsets: Mapping[str, int]
    file_nodes: int
    nodes: int
    findings: tuple[Finding, ...]
    faults: tuple[Diagnostic, ...] = ()
    operators: tuple[NodeCount, ...] = ()
    shape_hint: str = ""
    gears_hint: str = ""
    hint_fits: bool = False
    hint_runs: bool = True
    hint_tries: int = 0
    deciding: tuple[OpenDim, ...] = ()
    rows: tuple[NodeRow, ...] = ()
    layers: tuple[QuantizedNode, ...] = ()
    bias_convention: BiasConvention | None = None
    other_lists: tuple[OtherVerdict, ...] = ()
    newer: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)
    kept: tuple[str, ...] = ()
    fix: FixAdvice | None = None

    @property
    def standing(self) -> Standing:
        """The worst of everything found."""
        if self.faults:
            return Standing.ERROR
        return worst(finding.standing for finding in self.findings)

    @property
    def counts(self) -> Mapping[Standing, int]:
        """Findings of each standing, faults among the errors."""
        counts = Counter(finding.standing for finding in self.findings)
        counts[Standing.ERROR] += len(self.faults)
        return {standing: counts[standing] for standing in Standing if counts[standing]}

    @property
    def node_counts(self) -> Mapping[Standing, int]:
        """Nodes of each standing, in the standings' order."""
        counts: Counter[Standing] = Counter()
        for row in self.operators:
            counts.update(row.counts)
        return {standing: counts[standing] for standing in Standing if counts[standing]}


class CheckReport(Result, frozen=True):
    """Findings in all models of one call.

    Attributes:
        models: in the order of the call.
        precision_mode: ATC's name of the mode.
        soc: the SoC's name.
        former_soc: the name that it was asked for by, where CANN calls it otherwise now.
        options: further options of the check that were given, by name.
        operator_list: name of the list that the models were compared with, or any.
        cann: release of CANN whose deviations from ONNX are reported.
    """

    models: tuple[ModelCheck, ...]
    precision_mode: str
    soc: str
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    operator_list: str = DEFAULT_LIST
    cann: str = NEWEST_CANN
    former_soc: str = ""

    @property
    def standing(self) -> Standing:
        """The worst of all models."""
        return worst(model.standing for model in self.models)

    def _repr_html_(self) -> str:
        return notebook_html(self)
