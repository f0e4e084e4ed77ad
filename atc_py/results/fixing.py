"""Record of fixing a model: the rules that were applied, and how the result compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.diag import Diagnostic, Words

__all__ = ["Difference", "Fixing", "Left", "Rewrite"]


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
        """Return the figures as JSON values."""
        return {"error": self.error, "differing": self.differing, "elements": self.elements}


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
    """

    node: int
    name: str
    operator: str
    rules: tuple[str, ...]
    exactness: str
    after: tuple[str, ...]
    difference: Difference | None = None

    def as_json(self) -> dict[str, object]:
        """Return everything, as JSON values."""
        return {
            "node": self.node,
            "name": self.name,
            "operator": self.operator,
            "rules": list(self.rules),
            "exactness": self.exactness,
            "after": list(self.after),
            "difference": None if self.difference is None else self.difference.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Left:
    """A finding that no rule removes.

    Attributes:
        node: position of the node in the file's graph; None for what concerns the whole model.
        operator: its operator.
        message: the finding.
        unfit: the rules for the operator, each with the condition that does not hold.
    """

    node: int | None
    operator: str
    message: Words
    unfit: tuple[tuple[str, Words], ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return everything, as JSON values."""
        return {
            "node": self.node,
            "operator": self.operator,
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

    def as_json(self) -> dict[str, object]:
        """Return everything, as JSON values."""
        return {
            "model": str(self.model),
            "output": None if self.output is None else str(self.output),
            "operator_list": self.operator_list,
            "opset": {"before": self.opset[0], "after": self.opset[1]},
            "errors": {"before": self.errors[0], "after": self.errors[1]},
            "rewrites": [each.as_json() for each in self.rewrites],
            "left": [each.as_json() for each in self.left],
            "proof": {
                "seeds": list(self.seeds),
                "outputs": {name: each.as_json() for name, each in self.outputs.items()},
            },
            "diagnostics": [each.as_json() for each in self.diagnostics],
        }
