"""A check's report as plain values in one language: what every format of it is made from."""

from typing import Annotated, TypeAlias

import msgspec

from atc_py.check.findings import Standing
from atc_py.onnx_graph.source import BiasSource
from atc_py.options.compile_options import DEFAULT_LIST, NEWEST_CANN, QuantBias
from atc_py.text import LANGUAGES

VERSION = 1
"""Version of the JSON form; it changes where a reader of the old one would go wrong."""

_LEVELS = [each.value for each in Standing if each is not Standing.SUPPORTED]

_Level: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"enum": _LEVELS})]
_Verdict: TypeAlias = Annotated[
    str, msgspec.Meta(extra_json_schema={"enum": [each.value for each in Standing]})
]
_Language: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(LANGUAGES)})]
_Version: TypeAlias = Annotated[int, msgspec.Meta(extra_json_schema={"const": VERSION})]


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the report; text is free of characters that UTF-8 cannot encode."""


class Found(_Part, frozen=True, kw_only=True):
    """A finding about a node, or a fault of the file.

    Attributes:
        fingerprint: stays the same when the same fault is found again, even with another value.
        code: `ATC4012`.
        name: the code's name, `attr-out-of-range`.
        level: error, unknown, parser, list, rewrite, aicpu or accuracy.
        rule: what names the rule across versions, `Conv/attr_each_in_range/strides`.
        source: file and line where the rule stands.
        node: position in the file's graph; nodes of subgraphs have their outer node's.
        node_name: the node's name, possibly empty.
        op: its operator.
        field: the attribute, input or output concerned.
        scope: the subgraph that the node stands in; empty at the top.
        observed: the value seen.
        allowed: the value or form that the rule requires.
        when: the conditions under which the rule counts; empty where it always does.
        message: all three in one sentence.
        help: how to fix it.
        known: the baseline has it.
        taken_by: other operator lists by which the node has no error and compiles.
        fixed_by: the rules of `atc-py fix`, of a deviation of CANN of `atc-py fix --for cann`, that
            rewrite the node so that the finding is gone, and before them the option that chooses
            another branch.
        certainty: of a deviation of CANN, proven or inferred; empty for every other finding.
        cann_code: of a rule of CANN's parser about a whole model, CANN's code, as in `E16005`.
        effect: of a rewrite, what becomes of the form that the rule forbids; empty for every other
            finding.
    """

    fingerprint: str
    code: str
    name: str
    level: _Level
    rule: str
    source: str
    node: int | None
    node_name: str
    op: str
    field: str
    scope: str
    observed: str
    allowed: str
    when: str
    message: str
    help: str
    known: bool
    taken_by: tuple[str, ...] = ()
    fixed_by: tuple[str, ...] = ()
    certainty: Annotated[
        str, msgspec.Meta(extra_json_schema={"enum": ["", "proven", "inferred"]})
    ] = ""
    effect: str = ""
    cann_code: str = ""


class OperatorCount(_Part, frozen=True, kw_only=True):
    """An operator's nodes: whether the list has it, how many, and how many of each verdict."""

    op: str
    listed: bool
    nodes: int
    counts: dict[str, int]


class CheckedNode(_Part, frozen=True, kw_only=True):
    """A node of the network with its verdict."""

    index: int
    name: str
    type: str
    scope: str
    verdict: _Verdict


class Biases(_Part, frozen=True, kw_only=True):
    """The convention of the int32 biases of layers that are int8 in the file already.

    Attributes:
        convention: unfolded, as AMCT writes them, or folded, with the offset of the data in them.
        source: its source: option, mark or producer (both in the file's metadata), or assumed.
        text: both in words.
    """

    convention: Annotated[
        str, msgspec.Meta(extra_json_schema={"enum": [bias.value for bias in QuantBias]})
    ]
    source: Annotated[
        str, msgspec.Meta(extra_json_schema={"enum": [each.value for each in BiasSource]})
    ]
    text: str


class OtherList(_Part, frozen=True, kw_only=True):
    """Verdict of another operator list on a model with errors, as far as a conversion would come.

    Attributes:
        name: of the list.
        verdict: the worst of its findings.
        errors: how many of them are errors.
    """

    name: str
    verdict: _Verdict
    errors: int


class Note(_Part, frozen=True, kw_only=True):
    """Remark on a model beside its findings: it changes no verdict, count or exit status.

    Attributes:
        name: of the kind of remark: kept, of operators that newer pages of the list do not have;
            newer, of operators with nodes that a later list alone takes.
        operators: the operators that it is about.
        text: the remark in words.
    """

    name: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["kept", "newer"]})]
    operators: tuple[str, ...]
    text: str


class OpenAxis(_Part, frozen=True, kw_only=True):
    """Axis of an input whose dim the model leaves open.

    Attributes:
        input: the input.
        axis: from 0.
        name: as the model names the dim; axes with one name have one dim. Empty without a name.
    """

    input: str
    axis: int
    name: str


class Candidates(_Part, frozen=True, kw_only=True):
    """An input that decides which branch of an If runs, and the values that it is compared with.

    Attributes:
        input: the input.
        values: candidates for --bind.
    """

    input: str
    values: tuple[float, ...]


class Remedy(_Part, frozen=True, kw_only=True):
    """The command that helps a refused model.

    Attributes:
        command: the call of `atc-py fix`, quoted for a shell.
        removed: how many errors it removes.
        candidates: the inputs that the command binds, with the values to choose from.
    """

    command: str
    removed: int
    candidates: tuple[Candidates, ...] = ()


class CheckedModel(_Part, frozen=True, kw_only=True):
    """Findings in one model.

    Attributes:
        path: the file, as the user gave it.
        name: the graph's name.
        verdict: error, unknown, parser, list, rewrite, aicpu, accuracy or supported.
        counts: findings of each level; faults are errors.
        node_counts: nodes of each verdict.
        opsets: imported version of each domain.
        file_nodes: nodes in the file's graph.
        nodes: nodes that were checked against the list.
        shape_hint: text for --input-shape where dims are open: a choice that was tried and fits,
            or names in place of numbers where none is known.
        gears_hint: text for --auto-gears, where several sizes of an open dim fit.
        shape_hint_fits: True if it is a choice that fits.
        shape_hint_runs: False where the model compiles with it, and no run gave numbers.
        shape_hint_tries: how many choices were tried.
        deciding: the open axes on which undecided findings depend.
        faults: violations of ONNX's own rules, and parts that cannot be read.
        findings: about nodes, in the order of the network.
        operators: the ones with the worst verdict first.
        network: every node.
        quant_bias: how biases of int8 layers are read; null for a model that has none.
        other_lists: what other operator lists say of a model with errors.
        notes: remarks beside the findings.
        fix: the command that helps a refused model; null where no rule removes an error.
    """

    path: str
    name: str
    verdict: _Verdict
    counts: dict[str, int]
    node_counts: dict[str, int]
    opsets: dict[str, int]
    file_nodes: int
    nodes: int
    shape_hint: str
    gears_hint: str
    shape_hint_fits: bool
    shape_hint_runs: bool
    shape_hint_tries: int
    deciding: tuple[OpenAxis, ...]
    faults: tuple[Found, ...]
    findings: tuple[Found, ...]
    operators: tuple[OperatorCount, ...]
    network: tuple[CheckedNode, ...]
    quant_bias: Biases | None = None
    other_lists: tuple[OtherList, ...] = ()
    notes: tuple[Note, ...] = ()
    fix: Remedy | None = None

    @property
    def all_findings(self) -> tuple[Found, ...]:
        """Faults, then findings."""
        return (*self.faults, *self.findings)


class Tool(_Part, frozen=True, kw_only=True):
    """Tool that wrote the report."""

    name: str
    version: str


class BaselineCount(_Part, frozen=True, kw_only=True):
    """Counts of findings: in the baseline, not in it, and gone from it."""

    known: int
    new: int
    gone: int


class CheckDocument(_Part, frozen=True, kw_only=True):
    """The report of one check.

    Attributes:
        version: of this form.
        tool: the tool that wrote it.
        lang: language of all sentences, en or zh.
        precision_mode: ATC's name of the mode.
        soc: the SoC's name.
        soc_note: that its name or its kernels are taken for others; empty where neither is so.
        options: further options of the check.
        verdict: the worst of all models.
        counts: findings of each level in all models.
        baseline: how the findings compare with a baseline; null where none was given.
        models: in the order of the call.
        operator_list: name of the list that the models were compared with, or any.
        cann: release of CANN whose deviations from ONNX are reported.
    """

    version: _Version
    tool: Tool
    lang: _Language
    precision_mode: str
    soc: str
    options: dict[str, str]
    verdict: _Verdict
    counts: dict[str, int]
    baseline: BaselineCount | None
    models: tuple[CheckedModel, ...]
    soc_note: str = ""
    operator_list: str = DEFAULT_LIST
    cann: str = NEWEST_CANN
