"""ONNX's own node cases, restamped to opset 13 and put to ONNX's own test runner.

The newest opset of the operator list is 13, and most node cases of an installed onnx carry a later
one. A case is restamped where its nodes mean the same at both: every operator is of one version, or
its two definitions agree in all that the node uses. onnx's checker has the last word.

`python -m tests.conformance.restamped` prints what becomes of all of them.
"""

import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
from onnx.backend.test import runner
from onnx.backend.test.case.test_case import TestCase

from atc_py.backend import AtcBackend, AtcBackendRep
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import AtcError
from atc_py.spec import ONNX_DOMAINS, library
from tests.conformance.cases import Outcome, Verdict, outcome_of
from tests.conformance.node_cases import node_cases, nodes_of, store

OPSET = 13
"""The newest opset of the operator list."""

IR_VERSION = 7
"""The IR version of onnx 1.8, which brought opset 13."""

EXACT, NARROW = "must_keep_origin_dtype", "allow_fp32_to_fp16"
"""Every float as it is, so that ONNX's tolerance holds; and what serves where the list has no
float32 with the first: operators that pick or order elements.
"""

LISTED = frozenset(spec.op for spec in library().all() if not spec.custom)


@dataclass(frozen=True)
class Selection:
    """A selection of the cases that are restamped.

    Attributes:
        collected: number of cases that onnx has.
        by_operator: the restamped ones, under the operator of their first node.
        left_out: the names of the others, by reason.
    """

    collected: int
    by_operator: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """All that are restamped."""
        return tuple(name for names in self.by_operator.values() for name in names)


@cache
def selection() -> Selection:
    """Return the cases of the installed onnx."""
    return select(node_cases().values())


def select(cases: Iterable[TestCase]) -> Selection:
    """Sort `cases` into those that are restamped and those that are left out."""
    count = 0
    kept: dict[str, list[str]] = {}
    out: dict[str, list[str]] = {}
    for case in cases:
        count += 1
        found = restamped(case.model)
        if isinstance(found, str):
            out.setdefault(found, []).append(case.name)
        else:
            kept.setdefault(found.graph.node[0].op_type, []).append(case.name)
    return Selection(
        count,
        {op: tuple(names) for op, names in kept.items()},
        {reason: tuple(names) for reason, names in out.items()},
    )


# Restamping -------------------------------------------------------------------------------------


def restamped(model: onnx.ModelProto | None) -> onnx.ModelProto | str:
    """Return the model at opset 13, or why it has no form there."""
    if model is None or not model.graph.node:
        return "it has no node"
    nodes = list(nodes_of(model.graph))
    if any(node.domain not in ONNX_DOMAINS for node in nodes) or model.functions:
        return "it has nodes of another domain"
    if not {node.op_type for node in nodes} <= LISTED:
        return "it has an operator that is not listed"
    (opset,) = (each.version for each in model.opset_import if each.domain in ONNX_DOMAINS)
    if not all(_means_the_same(node, opset) for node in nodes):
        return "an operator is defined differently at opset 13"
    found = onnx.ModelProto()
    found.CopyFrom(model)
    found.ir_version = IR_VERSION
    del found.opset_import[:]
    found.opset_import.add(domain="", version=OPSET)
    try:
        onnx.checker.check_model(found, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return "onnx's checker refuses it at opset 13"
    return found


def _in_form(model: onnx.ModelProto | None) -> onnx.ModelProto:
    """Return the model at opset 13, which it must have a form at."""
    found = restamped(model)
    if isinstance(found, str):
        raise TypeError(found)
    return found


def _means_the_same(node: onnx.NodeProto, opset: int) -> bool:
    """Return True if the definitions at `opset` and at 13 agree in what the node uses."""
    if not onnx.defs.has(node.op_type, OPSET):
        return False
    mine, theirs = (onnx.defs.get_schema(node.op_type, each) for each in (opset, OPSET))
    if mine.since_version == theirs.since_version:
        return True
    return (
        _names(mine.inputs, len(node.input)) == _names(theirs.inputs, len(node.input))
        and len(node.output) <= theirs.max_output
        and {each.name for each in node.attribute} <= theirs.attributes.keys()
        and _defaults(mine, node) == _defaults(theirs, node)
    )


def _names(formal: Iterable[Any], count: int) -> list[str]:
    """Return the names of the inputs that a node with `count` of them has."""
    return [each.name for each in formal][:count]


def _defaults(schema: onnx.defs.OpSchema, node: onnx.NodeProto) -> dict[str, bytes]:
    """Return the defaults that hold for attributes that opset 13 has and the node does not set."""
    theirs = onnx.defs.get_schema(node.op_type, OPSET).attributes
    given = {each.name for each in node.attribute}
    return {
        name: row.default_value.SerializeToString()
        for name, row in schema.attributes.items()
        if name in theirs and name not in given and row.default_value.ByteSize()
    }


# The runner -------------------------------------------------------------------------------------


class RestampedBackend(AtcBackend):
    """Compiles models at opset 13."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Return True if the model has a form at opset 13; the tests find out its outcome."""
        return cls.supports_device(device) and not isinstance(restamped(model), str)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> AtcBackendRep:
        """Return restamp and compile `model`.

        Raises:
            TypeError: the model has no form at opset 13.
        """
        found = _in_form(model)
        try:
            return super().prepare(found, device, precision_mode=EXACT, verify=True, **options)
        except RulesBrokenError:
            return super().prepare(found, device, precision_mode=NARROW, verify=True, **options)


def runner_tests(backend: type[AtcBackend]) -> type[unittest.TestCase]:
    """Return ONNX's test class of all node cases for a back end; test `NAME_cpu` runs case NAME."""

    def loaded(kind: str) -> list[TestCase]:  # those of the runner are made anew in each process
        return list(node_cases().values()) if kind == "node" else []

    with patch.object(runner, "load_model_tests", loaded):
        return runner.Runner(backend, __name__).test_cases["OnnxBackendNodeModelTest"]


@cache
def _tests() -> type[unittest.TestCase]:
    """Return the tests of the restamping back end."""
    return runner_tests(RestampedBackend)


@cache
def outcome(name: str) -> Outcome:
    """Return the outcome of a restamped case in ONNX's runner.

    What it does not find right gets the verdict of the stored cases as well: a rule of the list
    must refuse it, or float16 must be all that the list has for it and the result be right for
    float16, which ONNX's tolerance is too small for.
    """
    try:
        _tests()(f"{name}_cpu").debug()
    except (AssertionError, AtcError) as error:
        exact, narrow = _verdicts(name)
        found = exact if narrow is None else narrow
        by_numbers = narrow is not None and isinstance(error, AssertionError)
        if found.verdict is Verdict.RIGHT and not by_numbers:
            return Outcome(Verdict.WRONG, (str(error).strip(),))
        return found
    return Outcome(Verdict.RIGHT)


def _verdicts(name: str) -> tuple[Outcome, Outcome | None]:
    """Return the verdicts on a case with its floats, and, if a rule refuses that, narrowed."""
    case = node_cases()[name]
    model = _in_form(case.model)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, Path(folder) / "model.onnx")
        for number, arrays in enumerate(case.data_sets or ()):
            store(Path(folder) / f"test_data_set_{number}", *arrays)
        exact = outcome_of(Path(folder), EXACT)
        refused = exact.verdict is Verdict.REFUSED
        return exact, outcome_of(Path(folder), NARROW) if refused else None


def main() -> None:
    """Print the counts."""
    chosen = selection()
    found = {name: outcome(name) for name in chosen.names}
    lines = [f"{chosen.collected} cases, {len(found)} restamped to opset {OPSET}"]
    counts = Counter(each.verdict for each in found.values())
    lines += [f"  {verdict.value}: {counts[verdict]}" for verdict in Verdict]
    reasons = chosen.left_out.items()
    lines += [f"  left out, since {reason}: {len(names)}" for reason, names in reasons]
    for name, each in found.items():
        if each.verdict not in {Verdict.RIGHT, Verdict.REFUSED}:
            lines += [f"{name}: {each.verdict.value}", *each.reasons]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
