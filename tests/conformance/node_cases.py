"""ONNX's node cases as the installed onnx makes them, and what becomes of them by an operator list.

A case has the opset that onnx gives it, mostly the newest; what the list has not, it refuses, or
restates. Most cases feed every input. What a list wants to be known when the model is compiled is
tried as a constant as well: a case that only rules of that kind refuse has a second form, in which
its small inputs of integers and its scalars are constants.
"""

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase

from atc_py.spec import ONNX_DOMAINS
from atc_py.spec.library import library
from tests.conformance.cases import Outcome, Verdict, outcome_of
from tests.made_once import made_once

_CONSTANTS_WANTED = ("values_", "count_per_axis")
"""Rules that look at the values of a constant, by the beginnings of their names."""

DRAWING = frozenset({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})
"""Operators that draw numbers, so that stored results are other ones; of Bernoulli's cases."""

_SMALL = 64
"""Elements that an input has at most which is made a constant."""


_DISPUTED = frozenset({"test_maxunpool_export_with_output_shape"})
"""Cases that are left out: ONNX's issue 2398 says that this one has its positions in another shape
than the one that it asks for, against the text of MaxPool, PyTorch, onnxruntime and CANN."""


@cache
def node_cases() -> Mapping[str, TestCase]:
    """Return the node cases by name; a version of onnx makes the same ones every time."""
    return made_once(f"node-cases-onnx-{onnx.__version__}-numpy-{np.__version__}", _made_cases)


def _made_cases() -> dict[str, TestCase]:
    """Their modules make the data, and at times divide by zero."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of the graphs in their attributes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


@cache
def listed_cases(operator_list: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the cases whose operators the list has, by their first operator.

    Those with sequences and optional values are left out: no list has their types. So are those
    that draw numbers, and disputed ones.
    """
    listed = {spec.op for spec in library(operator_list).all() if not spec.custom} - DRAWING
    found: dict[str, list[str]] = {}
    for name, case in node_cases().items():
        if case.model is None or not case.model.graph.node or case.model.functions:
            continue
        if name in _DISPUTED:
            continue
        nodes = list(nodes_of(case.model.graph))
        graph = case.model.graph
        if any(node.domain not in ONNX_DOMAINS or node.op_type not in listed for node in nodes):
            continue
        if all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output)):
            found.setdefault(nodes[0].op_type, []).append(name)
    return {op: tuple(names) for op, names in sorted(found.items())}


@cache
def node_outcome(name: str, mode: str, operator_list: str) -> Outcome:
    """Return the outcome of a case; where it needs constants, that of its form with constants."""
    case = node_cases()[name]
    assert case.model is not None
    data_sets = [tuple(map(list, arrays)) for arrays in case.data_sets or ()]
    outcome = _stored_outcome(case.model, data_sets, mode, operator_list)
    if outcome.verdict is Verdict.REFUSED and all(map(_wants_constants, outcome.reasons)):
        constant = with_constants(case.model, data_sets)
        if constant is not None:
            return _stored_outcome(*constant, mode, operator_list)
    return outcome


def with_constants(
    model: onnx.ModelProto, data_sets: list[tuple[list[Any], ...]]
) -> tuple[onnx.ModelProto, list[tuple[list[Any], ...]]] | None:
    """Return a case whose small inputs are constants; None where it has none or several data sets.

    Small inputs are lists of integers and scalars; what is left is fed as before.
    """
    if len(data_sets) != 1:
        return None
    inputs, outputs = data_sets[0]
    fixed = {
        at: array
        for at, array in enumerate(map(_array, inputs))
        if array.size <= _SMALL and array.ndim <= 1 and (array.dtype.kind in "iu" or not array.ndim)
    }
    if not fixed:
        return None
    found = onnx.ModelProto()
    found.CopyFrom(model)
    values = list(found.graph.input)
    found.graph.initializer.extend(
        numpy_helper.from_array(array, values[at].name) for at, array in fixed.items()
    )
    del found.graph.input[:]
    found.graph.input.extend(value for at, value in enumerate(values) if at not in fixed)
    return found, [([each for at, each in enumerate(inputs) if at not in fixed], outputs)]


def store(folder: Path, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
    """Write the arrays of one data set as the stored cases have them."""
    folder.mkdir()
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for number, array in enumerate(arrays):
            is_tensor = isinstance(array, onnx.TensorProto)
            tensor = array if is_tensor else numpy_helper.from_array(array)
            onnx.save_tensor(tensor, folder / f"{kind}_{number}.pb")


def _stored_outcome(
    model: onnx.ModelProto, data_sets: list[tuple[list[Any], ...]], mode: str, operator_list: str
) -> Outcome:
    """Return the outcome of a model and its data, as files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(model, folder / "model.onnx")
        for number, arrays in enumerate(data_sets):
            store(folder / f"test_data_set_{number}", *arrays)
        return outcome_of(folder, mode, operator_list)


def _array(data: Any) -> np.ndarray[Any, Any]:
    """Return data as an array."""
    if isinstance(data, onnx.TensorProto):
        return numpy_helper.to_array(data)
    return np.asarray(data)


def _wants_constants(reason: str) -> bool:
    """Return True if a rule looks at the values of a constant, or an opset would."""
    return "/opset " in reason or reason.partition("/")[2].startswith(_CONSTANTS_WANTED)
