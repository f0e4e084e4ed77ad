"""Random cases of the rules of nodes that hold graphs."""

import numpy as np

from atc_py.fix.case import CaseGraph, ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


@draws("scan-unroll")
def scan_unroll(rng: np.random.Generator) -> RuleCase:
    steps, size, rows = (int(each) for each in rng.integers(1, 6, 3))
    body = CaseGraph(
        {"state": Fed((size,)), "slice": Fed((rows, size))},
        ("next", "out"),
        (
            ("ReduceMax", ("slice",), ("most",), {"axes": [0], "keepdims": 0}),
            ("Sub", ("most", "state"), ("next",), {}),
            ("Mul", ("slice", "next"), ("out",), {}),
        ),
    )
    axis, into = int(rng.integers(3)), int(rng.integers(3))
    dims = [rows, size]
    dims.insert(axis, steps)
    attributes = {
        "body": body,
        "num_scan_inputs": 1,
        "scan_input_axes": [axis],
        "scan_output_axes": [into],
        "scan_input_directions": [int(rng.integers(2))],
        "scan_output_directions": [int(rng.integers(2))],
    }
    return RuleCase("Scan", (Fed((size,)), Fed(tuple(dims))), attributes, outputs=2)


@draws("scan-of-batch-unroll")
def scan_of_batch_unroll(rng: np.random.Generator) -> RuleCase:
    batch, steps, size = (int(each) for each in rng.integers(1, 5, 3))
    body = CaseGraph(
        {"state": Fed((size,)), "one": Fed((size,)), "other": Fed((2, size))},
        ("next", "out"),
        (
            ("Sub", ("one", "state"), ("next",), {}),
            ("Mul", ("other", "next"), ("out",), {}),
        ),
    )
    attributes = {
        "body": body,
        "num_scan_inputs": 2,
        "directions": [int(each) for each in rng.integers(0, 2, 2)],
    }
    inputs = (None, Fed((batch, size)), Fed((batch, steps, size)), Fed((batch, steps, 2, size)))
    return RuleCase("Scan", inputs, attributes, opset=8, outputs=2)


@draws("if-as-where")
def if_as_where(rng: np.random.Generator) -> RuleCase:
    """Return a choice between casts of the condition, one of them with a refused node."""
    element = int(rng.choice([1, 6, 7, 9, 10]))
    then = CaseGraph(
        {},
        ("r", "r2"),
        (
            ("Xor", ("x0", "x0"), ("a",), {}),
            ("Cast", ("a",), ("r",), {"to": element}),
            ("Not", ("a",), ("r2",), {}),
        ),
    )
    other = CaseGraph(
        {},
        ("r", "r2"),
        (("Not", ("x0",), ("a",), {}), ("Cast", ("a",), ("r",), {"to": element}),
         ("Or", ("a", "x0"), ("r2",), {})),
    )  # fmt: skip
    dims = (1,) * int(rng.integers(3))
    return RuleCase(
        "If", (Fed(dims, DType.BOOL),), {"then_branch": then, "else_branch": other}, outputs=2
    )


@draws("loop-unroll")
def loop_unroll(rng: np.random.Generator) -> RuleCase:
    """Return a loop that ends when a counter reaches a number, or after its trip count."""
    size, limit = (int(each) for each in rng.integers(1, 6, 2))
    body = CaseGraph(
        {
            "step": Fed((), DType.INT64), "going": Fed((), DType.BOOL),
            "counter": Fed((), DType.INT64), "state": Fed((size,)),
        },
        ("on", "later", "next", "seen"),
        (
            ("Constant", (), ("one",), {"value_int": 1}),
            ("Constant", (), ("last",), {"value_int": limit}),
            ("Add", ("counter", "one"), ("later",), {}),
            ("Less", ("later", "last"), ("on",), {}),
            ("Add", ("state", "state"), ("next",), {}),
            ("Neg", ("state",), ("seen",), {}),
        ),
    )  # fmt: skip
    trips = ConstInput(np.array(int(rng.integers(1, 8)))) if rng.integers(2) else None
    inputs = (trips, ConstInput(np.ones((), np.bool_)), ConstInput(np.array(0)), Fed((size,)))
    return RuleCase("Loop", inputs, {"body": body}, outputs=3)
