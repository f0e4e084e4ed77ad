"""Attributes of any type and value, sound ones and such as no tool writes."""

import random

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from tests.fuzz.proto_mutations import EXTREME_INTS, HOSTILE_TEXTS


def any_attribute(name: str, rng: random.Random) -> AttributeProto:
    """Return an attribute of any type and value."""
    few = rng.choice((0, 1, 2, 4, 5, 1000))
    graph = helper.make_graph([], "inner", [], [])
    tensor = numpy_helper.from_array(np.array(rng.choice(([], [1], [[2]])), np.float32))
    value = rng.choice(
        (
            rng.choice(EXTREME_INTS),
            rng.choice((0.0, float("nan"), float("inf"), 1e38)),
            rng.choice(HOSTILE_TEXTS),
            [rng.choice(EXTREME_INTS) for _ in range(few)],
            [rng.choice((0, 1, 2, 3, -1)) for _ in range(few)],
            [float("nan")] * few,
            ["text"] * few,
            b"\xff\xfe not text",
            graph,
            tensor,
        )
    )
    if value == []:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)
