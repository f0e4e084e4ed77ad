"""Record of fixing a model: the rules that were applied, and how the result compares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from atc_py.diag import Diagnostic
from atc_py.results.graph_diff import NodeChange
from atc_py.text import Text


@dataclass(frozen=True, slots=True)
class Difference:
    """Largest difference from the original over all runs.

    Attributes:
        error: as a part of the original's largest magnitude; 0 if all elements are the same.
        differing: elements that are not the same.
        elements: elements that were compared.
    """

    error: float
    differing: int
    elements: int

    def as_json(self) -> dict[str, object]:
        """The figures as JSON values."""
        return {"error": self.error, "differing": self.differing, "elements": self.elements}


@dataclass(frozen=True, slots=True)
class ProofData:
    """Data on which a rewritten node and its new form were run by themselves.

    Attributes:
        runs: on data of the original's own run.
        drawn: on data drawn to fit the types, dims and ranges of the inputs, boundary values among them.
        why: the reason why neither was possible; empty where the two were compared.
    """

    runs: int = 0
    drawn: int = 0
    why: Text = field(default=Text(""))

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "runs": self.runs,
            "drawn": self.drawn,
            "why": self.why.as_json() if self.why else None,
        }


@dataclass(frozen=True, slots=True)
class NewNodePlace:
    """A node of the file that was written.

    Attributes:
        position: in the graph of the file, from 0.
        name: its name there.
        operator: its operator.
    """

    position: int
    name: str
    operator: str

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {"position": self.position, "name": self.name, "operator": self.operator}


@dataclass(frozen=True, slots=True)
class Rewrite:
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
    shown: ProofData = field(default_factory=ProofData)
    assumptions: tuple[Text, ...] = ()
    new: tuple[NewNodePlace, ...] = ()
    microseconds: float | None = None

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "node": self.node,
            "name": self.name,
            "operator": self.operator,
            "rules": list(self.rules),
            "exactness": self.exactness,
            "after": list(self.after),
            "difference": None if self.difference is None else self.difference.as_json(),
            "limit": self.limit,
            "shown": self.shown.as_json(),
            "assumptions": [each.as_json() for each in self.assumptions],
            "new": [each.as_json() for each in self.new],
            "microseconds": self.microseconds,
        }


@dataclass(frozen=True, slots=True)
class TargetError:
    """Difference of an output in the target's precision from the original's in float32.

    Attributes:
        cosine: the least over all runs; None where an output has a magnitude of 0.
        error: the largest difference as a part of the original's range.
    """

    cosine: float | None
    error: float

    def as_json(self) -> dict[str, object]:
        """The figures as JSON values."""
        return {"cosine": self.cosine, "error": self.error}


@dataclass(frozen=True, slots=True)
class TargetProof:
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
    why: Text = field(default=Text(""))

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "soc": self.soc,
            "precision_mode": self.precision_mode,
            "outputs": {name: each.as_json() for name, each in self.outputs.items()},
            "microseconds": self.microseconds,
            "failed": [each.as_json() for each in self.failed],
            "why": self.why.as_json() if self.why else None,
        }


@dataclass(frozen=True, slots=True)
class Left:
    """A finding that no rule removes.

    Attributes:
        node: position of the node in the file's graph; None for what concerns the whole model.
        operator: its operator.
        message: the finding.
        unfit: the rules for the operator, each with the condition that does not hold.
        code: the code of the finding.
    """

    node: int | None
    operator: str
    message: Text
    unfit: tuple[tuple[str, Text], ...] = ()
    code: str = ""

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "node": self.node,
            "operator": self.operator,
            "code": self.code,
            "message": self.message.as_json(),
            "unfit": [{"rule": rule, "requires": why.as_json()} for rule, why in self.unfit],
        }


@dataclass(frozen=True, slots=True)
class Fixing:
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
        diagnostics: the findings that are left, with their codes and hints.
        verdicts: of the check, before and after: `error`, `unknown`, `rewrite`, `aicpu`, `accuracy`
            or `supported`.
        bound: values of inputs that became constants, by name.
        ranges: bounds of integer inputs that the user gave, both included, by name.
        data: files that inputs were read from, as the user named them.
        target: the fixed model in the target's precision; None where it was left out.
        changes: the differences between both graphs, in the order of the file's nodes.
        deciding: where errors are left, the inputs that choose the branch that runs, with the values
            that the model compares them with.
    """

    model: Path
    output: Path | None
    operator_list: str
    opset: tuple[int, int]
    errors: tuple[int, int]
    rewrites: tuple[Rewrite, ...]
    left: tuple[Left, ...]
    seeds: tuple[int, ...]
    outputs: Mapping[str, Difference]
    diagnostics: tuple[Diagnostic, ...] = ()
    verdicts: tuple[str, str] = ("", "")
    bound: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    target: TargetProof | None = None
    changes: tuple[NodeChange, ...] = ()
    deciding: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """True if nothing is left, and the model ran in the target's precision where that was tried."""
        return not self.left and not (self.target is not None and self.target.failed)

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "model": str(self.model),
            "output": None if self.output is None else str(self.output),
            "operator_list": self.operator_list,
            "opset": {"before": self.opset[0], "after": self.opset[1]},
            "errors": {"before": self.errors[0], "after": self.errors[1]},
            "verdicts": {"before": self.verdicts[0], "after": self.verdicts[1]},
            "bound": dict(self.bound),
            "ranges": {name: list(each) for name, each in self.ranges.items()},
            "rewrites": [each.as_json() for each in self.rewrites],
            "deciding": {name: list(values) for name, values in self.deciding.items()},
            "left": [each.as_json() for each in self.left],
            "proof": {
                "seeds": list(self.seeds),
                "data": list(self.data),
                "outputs": {name: each.as_json() for name, each in self.outputs.items()},
            },
            "target": None if self.target is None else self.target.as_json(),
            "changes": [each.as_json() for each in self.changes],
            "diagnostics": [each.as_json() for each in self.diagnostics],
        }
