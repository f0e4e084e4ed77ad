"""Record of fixing a model: rules that were applied, how the result compares, changes of nodes."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import msgspec

from atc_py.diag import Diagnostic
from atc_py.system.json_text import json_values
from atc_py.system.structs import Result
from atc_py.text import Text


class ChangeKind(Enum):
    """Reason of a change."""

    RULES = "rules"
    CHOSEN = "chosen"
    QUANTIZED = "quantized"
    MOVED = "moved"
    RESTATED = "restated"
    DROPPED = "dropped"

    @property
    def words(self) -> Text:
        return _KINDS[self]


_KINDS = {
    ChangeKind.RULES: Text("rewritten by rules"),
    ChangeKind.CHOSEN: Text("one branch is chosen"),
    ChangeKind.QUANTIZED: Text("quantized layers in the deploy form"),
    ChangeKind.MOVED: Text("carried along in the form of the nodes around it"),
    ChangeKind.RESTATED: Text("stated at another opset"),
    ChangeKind.DROPPED: Text("constant, or not needed"),
}


class DiffValue(Result, frozen=True):
    """A value that a node reads or writes.

    Attributes:
        name: its name.
        dtype: its dtype; "" where it is not known.
        dims: its dims, None for open ones; None where the rank is not known.
        data: of a small constant, its data as text.
    """

    name: str
    dtype: str = ""
    dims: tuple[int | None, ...] | None = None
    data: str = ""

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; null where a text is empty."""
        return {**super().as_json(), "dtype": self.dtype or None, "data": self.data or None}


class DiffNode(Result, frozen=True):
    """A node with what it reads and writes.

    Attributes:
        operator: its operator, with the domain before it where that is not ONNX's.
        name: its name, possibly empty.
        inputs: by position; None for one that is absent.
        outputs: those that are asked for.
        attributes: as text, by name.
    """

    operator: str
    name: str
    inputs: tuple[DiffValue | None, ...]
    outputs: tuple[DiffValue, ...]
    attributes: Mapping[str, str] = msgspec.field(default_factory=dict)


class NodeChange(Result, frozen=True):
    """A node of the original that is gone or has changed, and the nodes in its place.

    Attributes:
        kind: the reason.
        node: its position in the file's graph.
        rules: names of the rules that were applied, in order.
        before: the node.
        after: the nodes in its place; empty where there are none.
        producer: the node before it in the new graph, None where there is none.
        reader: a node after it in the new graph.
    """

    kind: ChangeKind
    node: int
    rules: tuple[str, ...]
    before: DiffNode
    after: tuple[DiffNode, ...]
    producer: DiffNode | None = msgspec.field(name="_producer", default=None)
    reader: DiffNode | None = msgspec.field(name="_reader", default=None)

    @property
    def likeness(self) -> tuple[object, ...]:
        """The parts that changes of one pattern have in common."""
        after = tuple(node.operator for node in self.after)
        return (self.kind, self.rules, self.before.operator, after)


class FixedNode(Result, frozen=True):
    """A node of the file that was rewritten.

    Attributes:
        node: its position in the file's graph; a node of a branch has that of the If.
        name: its name in the file, possibly empty.
        operator: its operator there.
        rules: names of the rules that were applied, in order.
    """

    node: int
    name: str
    operator: str
    rules: tuple[str, ...]


class Difference(Result, frozen=True):
    """Largest difference from the original over all runs.

    Attributes:
        error: as a part of the original's largest magnitude; 0 if all elements are the same.
        differing: elements that are not the same.
        elements: elements that were compared.
    """

    error: float
    differing: int
    elements: int


class ProofData(Result, frozen=True):
    """Data on which a rewritten node and its new form were run by themselves.

    Attributes:
        runs: on data of the original's own run.
        drawn: on data drawn to fit the types, dims and ranges of the inputs, boundary values among them.
        why: the reason why neither was possible; empty where the two were compared.
    """

    runs: int = 0
    drawn: int = 0
    why: Text = msgspec.field(default=Text(""))


class NewNodePlace(Result, frozen=True):
    """A node of the file that was written.

    Attributes:
        position: in the graph of the file, from 0.
        name: its name there.
        operator: its operator.
    """

    position: int
    name: str
    operator: str


class Rewrite(Result, frozen=True):
    """A node of the original and what was written in its place.

    Attributes:
        node: its position in the file's graph.
        name: its name in the file, possibly empty.
        operator: its operator.
        rules: names of the rules that were applied, in order.
        exactness: the widest class of these rules.
        after: operators of the new nodes, in order.
        difference: from the original, where the region ran by itself; None where it could not.
        limit: largest error that the classes of the rules allow; None for no limit.
        shown: the data of `difference`, or why there is none.
        assumptions: what must hold for the new form to be right: values and ranges of inputs that
            the user gave, and the conditions of the rules.
        new: the new nodes in the file that was written.
        microseconds: estimated time of the new nodes on the target; None where it is not known.
    """

    node: int
    name: str
    operator: str
    rules: tuple[str, ...]
    exactness: str
    after: tuple[str, ...]
    difference: Difference | None = None
    limit: float | None = None
    shown: ProofData = msgspec.field(default_factory=ProofData)
    assumptions: tuple[Text, ...] = ()
    new: tuple[NewNodePlace, ...] = ()
    microseconds: float | None = None


class TargetError(Result, frozen=True):
    """Difference of an output in the target's precision from the original's in float32.

    Attributes:
        cosine: the least over all runs; None where an output has a magnitude of 0.
        error: the largest difference as a part of the original's range.
        odd: how many values are infinite or NaN where the original's are finite, over all runs.
    """

    cosine: float | None
    error: float
    odd: int = 0


class TargetProof(Result, frozen=True):
    """The fixed model in the target's precision, on the simulator.

    Attributes:
        soc: the SoC it was compiled for.
        precision_mode: the mode.
        outputs: by name.
        microseconds: estimated time of the whole model.
        failed: why it did not compile or run; empty where it did.
        why: why it was left out; empty where it was tried.
    """

    soc: str
    precision_mode: str
    outputs: Mapping[str, TargetError]
    microseconds: float | None = None
    failed: tuple[Diagnostic, ...] = ()
    why: Text = msgspec.field(default=Text(""))


class Left(Result, frozen=True):
    """A finding that no rule removes.

    Attributes:
        node: position of the node in the file's graph; None for what concerns the whole model.
        operator: its operator.
        code: the code of the finding.
        message: the finding.
        unfit: the rules for the operator, each with the condition that does not hold; first the
            one of which the most conditions hold.
    """

    node: int | None
    operator: str
    code: str
    message: Text
    unfit: tuple[tuple[str, Text], ...] = ()

    def as_json(self) -> dict[str, object]:
        unfit = [{"rule": rule, "requires": why.as_json()} for rule, why in self.unfit]
        return {**super().as_json(), "unfit": unfit}


class Fixing(Result, frozen=True, kw_only=True):
    """Record of fixing one model.

    Attributes:
        model: the ONNX file that was read.
        output: the ONNX file that was written; None in a dry run.
        operator_list: name of the list.
        opset: versions of ONNX's operators that the model imports, before and after.
        errors: findings of level error before and after.
        rewrites: in the order of the nodes.
        left: findings that are left.
        seeds: of the data of the proof; empty without one.
        outputs: differences of the model's outputs, by name.
        diagnostics: the findings that are left, with their codes and hints, and a warning for each
            output that is infinite or NaN on the target alone.
        verdicts: of the check, before and after: `error`, `unknown`, `rewrite`, `aicpu`, `accuracy`
            or `supported`.
        bound: values of inputs that became constants, by name.
        ranges: bounds of integer inputs that the user gave, both included, by name.
        data: files that inputs were read from, as the user named them.
        target: the fixed model in the target's precision; None where it was left out.
        changes: the differences between both graphs, in the order of the file's nodes.
        deciding: where errors are left, the inputs that choose the branch that runs, with the values
            that the model compares them with.
        reformed: rules of CANN's parser about whole models that the file breaks and the new one keeps.
    """

    model: Path
    output: Path | None
    operator_list: str
    opset: tuple[int, int]
    errors: tuple[int, int]
    verdicts: tuple[str, str] = ("", "")
    bound: Mapping[str, float] = msgspec.field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    rewrites: tuple[Rewrite, ...]
    deciding: Mapping[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    left: tuple[Left, ...]
    outputs: Mapping[str, Difference] = msgspec.field(name="proof")
    target: TargetProof | None = None
    changes: tuple[NodeChange, ...] = ()
    reformed: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    seeds: tuple[int, ...] = msgspec.field(name="_seeds")
    data: tuple[str, ...] = msgspec.field(name="_data", default=())

    @property
    def is_sound(self) -> bool:
        """True if nothing is left, and the model ran in the target's precision where that was tried.

        A model whose outputs are infinite or NaN there alone is not sound.
        """
        ran = self.target is None or not self.target.failed
        return not self.left and ran and not self.odd_outputs

    @property
    def odd_outputs(self) -> tuple[str, ...]:
        """The outputs that are infinite or NaN on the target where the original's are finite."""
        outputs = {} if self.target is None else self.target.outputs
        return tuple(name for name, found in outputs.items() if found.odd)

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; those of the proof together."""
        pairs = {"opset": self.opset, "errors": self.errors, "verdicts": self.verdicts}
        proof = {"seeds": self.seeds, "data": self.data, "outputs": self.outputs}
        return {
            **super().as_json(),
            **{name: {"before": before, "after": after} for name, (before, after) in pairs.items()},
            "proof": json_values(proof),
        }
