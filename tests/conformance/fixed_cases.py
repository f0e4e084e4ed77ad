"""ONNX's node cases of operators that no list has, after `fix`: in float32, and compiled.

Right: the fixed model gives the stored results in onnxruntime, or in ONNX's reference where that
does not take it, and the compiled one gives them on the simulated device.
"""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import atc_py
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import AtcError
from atc_py.fix.rule import rules_of_operator
from atc_py.results.fixing import Fixing
from atc_py.spec import ONNX_DOMAINS
from atc_py.spec.library import library
from atc_py.spec.lists import operator_lists
from tests.conformance.cases import (
    Outcome,
    Verdict,
    agrees,
    arrays_of,
    compiled_outcome,
    exact_results,
    recomputed,
)
from tests.conformance.node_cases import DRAWING, node_cases, nodes_of, store, with_constants

Array = npt.NDArray[Any]
DataSets = list[tuple[list[Any], ...]]


_HALF = 2
"""Bytes of an element of float16 or bfloat16."""

_FLOAT16, _BFLOAT16 = 2**-10, 2**-7
"""One step at 1: the stored result and the found one are each rounded once, by half a step at most."""

_QUANTIZING = frozenset({"DynamicQuantizeLinear", "QuantizeLinear"})

_RANDOM = DRAWING | {"Bernoulli"}


@cache
def covered_cases() -> Mapping[str, tuple[str, ...]]:
    """Return the cases by an operator that no list has; rules are for all such operators of each.

    Those with sequences and optional values as inputs or outputs are left out.
    """
    listed = {spec.op for each in operator_lists() for spec in library(each.name).all()}
    found: dict[str, list[str]] = {}
    for name, case in node_cases().items():
        if case.model is None:
            continue
        graph = case.model.graph
        if not all(each.type.HasField("tensor_type") for each in (*graph.input, *graph.output)):
            continue
        nodes = list(nodes_of(graph))
        operators = {node.op_type for node in nodes if node.domain in ONNX_DOMAINS}
        new = sorted(operators - listed)
        if new and not operators & _RANDOM and all(map(rules_of_operator, new)):
            found.setdefault(new[0], []).append(name)
    return {op: tuple(names) for op, names in sorted(found.items())}


@cache
def fixed_outcome(name: str, mode: str, operator_list: str) -> Outcome:
    """Return the outcome of a case; where it is refused, that of its form with constants, if any."""
    case = node_cases()[name]
    assert case.model is not None
    data_sets = [tuple(map(list, arrays)) for arrays in case.data_sets or ()]
    outcome = _outcome(case.model, data_sets, mode, operator_list)
    constant = with_constants(case.model, data_sets)
    if outcome.verdict is Verdict.REFUSED and constant is not None:
        other = _outcome(*constant, mode, operator_list)
        return outcome if other.verdict is Verdict.REFUSED else other
    return outcome


def _outcome(model: onnx.ModelProto, data_sets: DataSets, mode: str, operator_list: str) -> Outcome:
    """Return the outcome of a model and its data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(model, folder / "model.onnx")
        for number, arrays in enumerate(data_sets):
            store(folder / f"test_data_set_{number}", *arrays)
        fixed = folder / "fixed.onnx"
        try:
            done = atc_py.fix_model(
                folder / "model.onnx",
                fixed,
                operator_list=operator_list,
                precision_mode=mode,
                seeds=0,
            )
        except AtcError as error:
            codes = tuple(dict.fromkeys(each.code.id for each in error.diagnostics))
            return Outcome(Verdict.REFUSED, codes)
        if done.left:
            return Outcome(Verdict.REFUSED, tuple(dict.fromkeys(_reasons(done))))
        try:
            wrong = tuple(_differences(folder, fixed))
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            return Outcome(Verdict.WRONG, (f"what was written does not run: {str(error)[:80]}",))
        if wrong:
            return Outcome(Verdict.WRONG, wrong)
        try:
            return _compiled(folder, fixed, model, mode, operator_list)
        except RulesBrokenError as error:
            return Outcome(Verdict.WRONG, (str(error),))


def _compiled(
    case: Path, fixed: Path, model: onnx.ModelProto, mode: str, operator_list: str
) -> Outcome:
    """Return the outcome of the compiled model.

    Constants are clamped to what float16 holds, as `convert` does by default. A mask of minus infinity
    that is a result, too, would come out as -65504 then: where that is wrong, they are not.
    """
    same = _same_codes if {each.op_type for each in nodes_of(model.graph)} & _QUANTIZING else _same
    found = compiled_outcome(case, fixed, mode, dict, operator_list, same=same)
    if found.verdict is Verdict.WRONG:
        found = compiled_outcome(case, fixed, mode, dict, operator_list, clip=False, same=same)
    return found


def _reasons(done: Fixing) -> Iterator[str]:
    """Yield the operators that are left, with the rules that do not fit."""
    for left in done.left:
        rules = ", ".join(dict.fromkeys(rule for rule, _ in left.unfit)) or "no rule"
        yield f"{left.operator or 'the model'}: {rules}"


def _differences(case: Path, fixed: Path) -> Iterator[str]:
    """Yield the outputs of the fixed model that differ in float32 from the stored ones."""
    proto, new = onnx.load(case / "model.onnx"), onnx.load(fixed)
    constants = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in constants]
    for data in sorted(case.glob("test_data_set_*")):
        feeds = dict(zip(names, arrays_of(data, "input"), strict=False))
        found = exact_results(new, feeds)
        for output, array in zip(proto.graph.output, arrays_of(data, "output"), strict=True):
            result = found[output.name]
            if _same(result, array, narrow=False):
                continue
            if not _same(result, recomputed(proto, feeds, output.name, narrow=False), narrow=False):
                yield f"{data.name} {output.name} in the model's dtypes"


def _same(found: Array, expected: Array, *, narrow: bool) -> bool:
    """Return True if results agree; those of 16 bits within a step of the largest."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype.kind in "iub" or found.dtype.itemsize != _HALF:
        return agrees(found, expected, narrow=narrow)
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    share = _FLOAT16 if found.dtype.kind == "f" else _BFLOAT16
    reach = float(np.abs(b[finite]).max(initial=0.0))
    return bool((np.abs(a[finite] - b[finite]) <= share * reach).all())


def _same_codes(found: Array, expected: Array, *, narrow: bool) -> bool:
    """Return True if results agree; codes of 8 bits that float16 computed may be neighbors.

    Quotients up to 255 have steps of at most 2^-3 there. Those of x, of the step and of their quotient
    move them by less than one half, and so a code by one at most.
    """
    if narrow and found.dtype.kind in "iu" and found.dtype.itemsize == 1:
        gap = np.abs(found.astype(np.int32) - expected.astype(np.int32))
        return found.dtype == expected.dtype and bool((gap <= 1).all())
    return _same(found, expected, narrow=narrow)
