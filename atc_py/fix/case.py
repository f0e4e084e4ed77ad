"""Cases of rules: one node with its inputs, small enough to be built, fixed and run at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.options.compile_options import NEWEST_CANN
from atc_py.tensor.dtypes import DType


@dataclass(frozen=True, slots=True)
class Fed:
    """An input of the model."""

    dims: tuple[int, ...]  # its shape
    dtype: DType = DType.FLOAT32
    # of integers, both included; None where they are not known
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ConstInput:
    """A constant input of the node."""

    value: NDArray[Any]


CaseNode: TypeAlias = "tuple[str, tuple[str, ...], tuple[str, ...], Mapping[str, Any]]"


@dataclass(frozen=True, slots=True)
class CaseGraph:
    """A graph that is an attribute of a node."""

    inputs: Mapping[str, Fed]
    outputs: tuple[str, ...]
    # operator, inputs, outputs and attributes of each node, producers first
    nodes: tuple[CaseNode, ...]


@dataclass(frozen=True, slots=True)
class MadeInput:
    """An input of the node that nodes before it make."""

    name: str


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One node of one model."""

    op_type: str
    # by position; None for one that is absent
    inputs: tuple[Fed | ConstInput | MadeInput | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 13  # version of ONNX's operators, or of `domain`'s
    outputs: int = 1  # how many it has
    domain: str = ""  # of the operator; "" for ONNX's own
    operator_list: str = "base"  # the list that refuses it
    # nodes before it as in `CaseGraph`, whose inputs are those of the model
    before: CaseGraph | None = None
    cann: str = NEWEST_CANN  # the release of CANN, of rules that remove deviations

    @property
    def label(self) -> str:
        """The operator as rules spell it: `domain::Op` outside of ONNX's own domain."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """Bounds by the names that inputs have in a model of the case: `x0`, `x1` ..."""
        return {
            f"x{position}": tensor.bounds
            for position, tensor in enumerate(self.inputs)
            if isinstance(tensor, Fed) and tensor.bounds is not None
        }


CaseInput: TypeAlias = "Sequence[int] | Fed | ConstInput | MadeInput | NDArray[Any] | None"


def case(  # noqa: PLR0913  (a node is its parts)
    op_type: str,
    *inputs: CaseInput,
    opset: int = 13,
    outputs: int = 1,
    domain: str = "",
    operator_list: str = "base",
    before: CaseGraph | None = None,
    cann: str = NEWEST_CANN,
    **attributes: Any,
) -> RuleCase:
    """A case of one node; see `RuleCase`.

    Dims among the inputs are those of a float32 input of the model, an array is a constant.
    """
    known = tuple(_case_input(value) for value in inputs)
    return RuleCase(op_type, known, attributes, opset, outputs, domain, operator_list, before, cann)


def contrib_case(op_type: str, *inputs: CaseInput, outputs: int = 1, **attributes: Any) -> RuleCase:
    domain = "com.microsoft"
    return case(op_type, *inputs, opset=1, outputs=outputs, domain=domain, **attributes)


def _case_input(value: CaseInput) -> Fed | ConstInput | MadeInput | None:
    if value is None or isinstance(value, Fed | ConstInput | MadeInput):
        return value
    return ConstInput(value) if isinstance(value, np.ndarray) else Fed(tuple(value))


def data(*dims: int, seed: int = 0) -> ConstInput:
    """Normally distributed float32 constants."""
    return ConstInput(np.random.default_rng(seed).normal(size=dims).astype(np.float32))


def case_after(
    nodes: tuple[CaseNode, ...],
    op_type: str,
    reads: Sequence[str],
    inputs: Mapping[str, Fed | NDArray[Any]],
    opset: int = 13,
    attributes: Mapping[str, Any] | None = None,
) -> RuleCase:
    """A case of a node that reads `reads` after others; arrays among `inputs` are constants."""
    fed = {name: tensor for name, tensor in inputs.items() if isinstance(tensor, Fed)}
    constants: tuple[CaseNode, ...] = tuple(
        ("Constant", (), (name,), {"value": tensor})
        for name, tensor in inputs.items()
        if not isinstance(tensor, Fed)
    )
    before = CaseGraph(fed, (), (*constants, *nodes))
    made = tuple(MadeInput(name) for name in reads)
    return RuleCase(op_type, made, attributes or {}, opset, before=before)
