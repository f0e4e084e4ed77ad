"""No rule of any operator stumbles over what a hostile model may carry."""

import math
from typing import Any

import numpy as np

from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import OpSpec
from atc_py.spec.implied import rules_of
from tests.check.bound_nodes import NO_RANK, Data, answer, bound, constant, tensor
from tests.failures import in_one_item
from tests.spec.every_list import each_spec, parameters

VALUES: list[Any] = [
    0,
    -1,
    2**63 - 1,
    -(2**63),
    10**5000,
    math.nan,
    math.inf,
    1e300,
    "",
    "\x1b[31m\ud800",
    "x" * 10_000,
    (),
    (0,),
    (2**62,) * 40,
    (math.nan,),
    ("a", "b"),
    True,
    Data(np.zeros((0, 3))),
    "<graph>",
]

TENSORS = [
    NO_RANK,
    SourceTensor("", "", None),
    tensor(),
    tensor(0),
    tensor(None, None, None, None),
    tensor(*[2**62] * 4),
    tensor(*[2**62] * 600),
    constant([]),
    constant(0),
    constant([2**64 - 1], np.uint64),
    constant([math.nan, math.inf], np.float16),
    constant([[True]], np.bool_),
    constant(["a\n"], np.str_),
    constant([None, {}], np.object_),
    constant(np.zeros(2), "i4,f4"),
    constant(np.broadcast_to(np.int8(1), (2**40, 2**20)), np.int8),
    SourceTensor("t", "string", (1, None), Data(np.zeros((3,)))),
]


def _opsets(spec: OpSpec) -> tuple[int, int]:
    return (min(spec.opsets), max(spec.opsets)) if spec.opsets else (1, 1)


@in_one_item("spec", parameters(each_spec()))
def test_rules_answer_in_short_words_whatever_the_model_carries(spec: OpSpec) -> None:
    names = [row.name for row in (*spec.inputs, *spec.outputs)]
    for index in range(max(len(VALUES), len(TENSORS))):
        value, view = VALUES[index % len(VALUES)], TENSORS[index % len(TENSORS)]
        other = TENSORS[(index * 7 + 3) % len(TENSORS)]
        given = {name: other if place % 2 else view for place, name in enumerate(names)}
        attributes = {row.name: value for row in spec.attributes}
        for opset in _opsets(spec):
            variadic = bool(spec.inputs) and spec.inputs[-1].variadic
            many = (view, other) if variadic else ()
            node = bound(spec, opset, attributes=attributes, tensors=given, many=many)
            for rule in rules_of(spec):
                found = answer(rule, node)
                assert len(found.observed.en) < 500
                assert found.observed.en.isprintable()
