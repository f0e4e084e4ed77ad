"""A case: a node that meets a deviation, one that nearly does, and CANN's result as a formula."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tests.end_to_end import one_node_model, run_with_onnxruntime

Array = npt.NDArray[Any]
Formula = Callable[..., Array]


@dataclass(frozen=True)
class DeviatingNode:
    """A model of one node.

    Attributes:
        op: its operator.
        opset: the version of ONNX.
        inputs: arrays that are fed, by position.
        attributes: of the node.
        constants: inputs that are constants, by name, after those that are fed.
        order: names by input position where that is another order; fed inputs are x0, x1, ...
        outputs: number of outputs.
        follows: whether what is fed first passes another node, Abs, first.
    """

    op: str
    opset: int
    inputs: tuple[Array, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Array] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    outputs: int = 1
    follows: bool = False

    @property
    def feeds(self) -> dict[str, Array]:
        """The inputs by name."""
        return {f"x{position}": array for position, array in enumerate(self.inputs)}

    def model(self, **others: Any) -> onnx.ModelProto:
        """Return the node as a model, perhaps with other attributes."""
        attributes = {**self.attributes, **others}
        kept = {name: value for name, value in attributes.items() if value is not None}
        model = one_node_model(
            self.op,
            self.feeds,
            self.opset,
            constants=self.constants,
            order=self.order,
            outputs=self.outputs,
            **kept,
        )
        if self.follows:
            (node,) = model.graph.node
            model.graph.node.insert(0, helper.make_node("Abs", ["x0"], ["x0.abs"]))
            model.graph.node[1].input[list(node.input).index("x0")] = "x0.abs"
        return model

    def onnx_result(self) -> Array:
        """Return the first output by onnxruntime; by ONNX's evaluator if that has no kernel."""
        model = self.model()
        try:
            return run_with_onnxruntime(model, self.feeds)["y0"]
        except (ort.Fail, ort.NotImplemented):
            return np.asarray(next(iter(ReferenceEvaluator(model).run(None, self.feeds))))


@dataclass(frozen=True)
class DeviationCase:
    """A row of a specification, and nodes on both sides of its condition.

    Attributes:
        row: operator and name: `Gemm/beta-ignored`.
        generation: of CANN, one that has the row.
        hit: a node that meets it.
        near: a node that nearly does; None where every node of the operator meets it.
        cann: CANN's first output as a formula of what is fed, written from the reference without
            regard to atc-py; None for rows that are refused or undefined.
        operator_list: the list that has the row.
        reference: the first output without the deviation, for operators that ONNX does not define
            and values that it leaves open; else onnxruntime says it.
        soc: the SoC whose kernels have it; the generic device where it does not matter.
    """

    row: str
    generation: int | str
    hit: DeviatingNode
    near: DeviatingNode | None
    cann: Formula | None
    operator_list: str = "base"
    reference: Formula | None = None
    soc: str = "sim"

    @property
    def onnx_result(self) -> Array:
        """The result of the hit without the deviation."""
        if self.reference is not None:
            return self.reference(*self.hit.inputs)
        return self.hit.onnx_result()

    @property
    def cann_result(self) -> Array | None:
        """CANN's result; None where it has none to follow."""
        return None if self.cann is None else self.cann(*self.hit.inputs)


_CASES: dict[tuple[str, int | str], DeviationCase] = {}


def deviation(case: DeviationCase) -> None:
    """Register a case."""
    key = case.row, case.generation
    assert key not in _CASES, key
    _CASES[key] = case


def all_cases() -> tuple[DeviationCase, ...]:
    """Return every case."""
    from tests.deviations import cases

    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    return tuple(_CASES.values())
