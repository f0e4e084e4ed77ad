"""Nodes bound to a small specification, and what predicates say of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.check.bound_node import BoundNode, Conditions
from atc_py.check.condition_words import predicate_of
from atc_py.check.reading import Answer
from atc_py.onnx_graph.source import SourceAttr, SourceNode, SourceTensor
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import OpSpec, Rule, parse_spec
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType

DEMO = parse_spec(
    """\
op: Demo
opsets: [9, 10, 11, 12, 13]
summary: {en: A demo, zh: 示例}
inputs:
  - {name: X, dtypes: [float16, float32], rank: 4, layout: NCHW}
  - {name: W, dtypes: any, rank: 4, layout: OIHW, optional: true}
  - {name: I, dtypes: any, optional: true}
  - {name: J, dtypes: any, optional: true, since: 11}
  - {name: Z, dtypes: any, rank: 2, layout: RK, optional: true, variadic: true}
outputs:
  - {name: Y, dtypes: any, optional: true}
attributes:
  - {name: alpha, type: float, default: 0.2, default_before: {opset: 11, value: 0.5}}
  - {name: bare, type: int}
  - {name: axis, type: int, default: 1}
  - {name: axes, type: ints}
  - {name: factors, type: floats}
  - {name: flag, type: bool, default: false}
  - {name: group, type: int, default: 1}
  - {name: mode, type: string, default: slow}
  - {name: old, type: ints, until: 10}
  - {name: strides, type: ints, default: [1, 1]}
  - {name: dilations, type: ints, default: [1, 1]}
  - {name: output_padding, type: ints, default: [0, 0]}
""",
    "op_specs/demo/demo.yaml",
)
"""An operator with one of everything that predicates look at."""


@dataclass(frozen=True, eq=False)
class Data:
    """Data that is known when a model is compiled."""

    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> DType:
        return DType.from_numpy(self.array.dtype)

    def numpy(self) -> npt.NDArray[Any]:
        return self.array

    def release(self) -> None:
        pass


def tensor(*dims: int | None, element: str = "float32", name: str = "t") -> SourceTensor:
    """Return a tensor of that shape whose values are not known."""
    return SourceTensor(name, element, dims)


def constant(values: Any, dtype: Any = np.int64) -> SourceTensor:
    """Return a constant with those values."""
    array = np.asarray(values, dtype)
    return SourceTensor("c", array.dtype.name, tuple(array.shape), Data(array))


NO_RANK = SourceTensor("n", "float32", None)
"""A tensor of unknown rank."""


def bound(
    spec: OpSpec = DEMO,
    opset: int = 13,
    *,
    attributes: Mapping[str, SourceAttr] | None = None,
    many: tuple[SourceTensor, ...] = (),
    mode: PrecisionMode = PrecisionMode.FORCE_FP16,
    tensors: Mapping[str, SourceTensor | None] | None = None,
    **named: SourceTensor,
) -> BoundNode:
    """Return a node of `spec` with those attributes and tensors.

    Args:
        spec: the specification.
        opset: the form that the node has.
        attributes: what it sets.
        many: tensors of the variadic operand, the last input.
        mode: the precision mode.
        tensors: by operand; those that are not named are absent.
        named: the same as keywords.
    """
    given = {**(tensors or {}), **named}
    rows = [row.name for row in spec.inputs if row.exists_at(opset) and not row.variadic]
    view = SourceNode(
        index=0,
        name="node",
        op_type=spec.op,
        domain="",
        opset=opset,
        since_version=1,
        inputs=(*(given.get(name) for name in rows), *many),
        outputs=tuple(given.get(row.name) for row in spec.outputs),
        attributes=attributes or {},
    )
    return BoundNode(spec, view, opset, Conditions(mode, find_soc("sim")))


def answer(rule: Rule, node: BoundNode) -> Answer:
    """Return the answer of the rule's predicate."""
    found = predicate_of(type(rule)).test(rule, node)
    for text in (found.observed.en, found.observed.zh):
        assert "\n" not in text
    assert bool(found.observed.en) == bool(found.observed.zh)
    return found


def said(rule: Rule, node: BoundNode) -> str:
    """Return the answer as text: `holds`, `fails: 64` or `unknown: X is ?x3`."""
    found = answer(rule, node)
    return ": ".join(text for text in (found.state.value, found.observed.en) if text)
