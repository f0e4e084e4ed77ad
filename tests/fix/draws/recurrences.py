"""Random loops that are recurrent layers."""

import numpy as np

from atc_py.fix.case import CaseGraph, ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws

Nodes = list[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, object]]]


def sums(rng: np.random.Generator, gates: str, inputs: int, size: int, reads: str) -> Nodes:
    """Return nodes that compute `sum_G` for each gate G of the values `x` and `reads`.

    Args:
        rng: draws the weights, the order of gates, and how many products there are.
        gates: one letter a gate.
        inputs: elements of `x`.
        size: elements of a gate.
        reads: the state, or the state after the reset.
    """
    order = "".join(rng.permutation(list(gates)))
    width = size * len(order)

    def weights(*dims: int) -> dict[str, object]:
        return {"value": rng.normal(size=dims).astype(np.float32)}

    own = [f"{part}_{gates}" for part in ("w", "r", "b", "p", "q", "s", "t", "j")]
    w, r, b, p, q, s, total, join = own
    nodes: Nodes = [("Constant", (), (b,), weights(width))]
    if rng.integers(2):
        nodes += [
            ("Constant", (), (w,), weights(inputs + size, width)),
            ("Concat", ("x", reads), (join,), {"axis": -1}),
            ("MatMul", (join, w), (s,), {}),
        ]
    else:
        nodes += [
            ("Constant", (), (w,), weights(width, inputs)),
            ("Constant", (), (r,), weights(size, width)),
            ("Gemm", ("x", w), (p,), {"transB": 1}),
            ("MatMul", (reads, r), (q,), {}),
            ("Add", (q, p), (s,), {}),
        ]
    nodes.append(("Add", (s, b), (total,), {}))
    names = tuple(f"sum_{gate}" for gate in order)
    if len(order) == 1:
        return [*nodes, ("Identity", (total,), names, {})]
    return [*nodes, ("Split", (total,), names, {"axis": 1})]


def looped(
    rng: np.random.Generator, nodes: Nodes, states: tuple[str, ...], dims: tuple[int, int, int]
) -> RuleCase:
    """Return a Scan over a sequence, or a Loop that counts its steps by a state.

    Args:
        rng: draws which.
        nodes: one step, which makes `NAME2` of the state NAME.
        states: names of the states, that which is returned first.
        dims: elements of the slice, of the states, and the number of rows.
    """
    inputs, size, rows = dims
    steps = int(rng.integers(1, 5))
    held = {name: Fed((rows, size)) for name in states}
    results = tuple(f"{name}2" for name in states)
    nodes = [*nodes, ("Identity", (results[0],), ("seen",), {})]
    fed = tuple(held.values())
    if rng.integers(2):
        axis = int(rng.integers(3))
        whole = [rows, inputs]
        whole.insert(axis, steps)
        body = CaseGraph({**held, "x": Fed((rows, inputs))}, (*results, "seen"), tuple(nodes))
        attributes = {
            "body": body,
            "num_scan_inputs": 1,
            "scan_input_axes": [axis],
            "scan_output_axes": [int(rng.integers(-3, 3))],
            "scan_input_directions": [int(rng.integers(2))],
            "scan_output_directions": [int(rng.integers(2))],
        }
        whole_case = (*fed, Fed(tuple(whole)))
        return RuleCase("Scan", whole_case, attributes, outputs=len(states) + 1)
    counted: Nodes = [
        ("Constant", (), ("one",), {"value_int": 1}),
        ("Constant", (), ("last",), {"value_int": steps}),
        ("Add", ("time", "one"), ("time2",), {}),
        ("Less", ("time2", "last"), ("on",), {}),
        ("Gather", ("sequence", "time"), ("x",), {"axis": 1}),
    ]
    body = CaseGraph(
        {"step": Fed((), DType.INT64), "going": Fed((), DType.BOOL), "time": Fed((), DType.INT64), **held},
        ("on", "time2", *results, "seen"),
        (*counted, *nodes),
    )  # fmt: skip
    before = CaseGraph({"sequence": Fed((rows, steps, inputs))}, (), ())
    going = ConstInput(np.ones((), np.bool_))
    given = (None, going, ConstInput(np.array(0)), *fed)
    return RuleCase("Loop", given, {"body": body}, outputs=len(states) + 2, before=before)


@draws("loop-as-lstm")
def loop_as_lstm(rng: np.random.Generator) -> RuleCase:
    inputs, size, rows = (int(each) for each in rng.integers(1, 5, 3))
    nodes: Nodes = [
        *sums(rng, "iofc", inputs, size, "h"),
        *((f"{'Tanh' if gate == 'c' else 'Sigmoid'}", (f"sum_{gate}",), (gate * 2,), {}) for gate in "iofc"),
        ("Mul", ("cc", "ii"), ("new",), {}),
        ("Mul", ("ff", "c"), ("kept",), {}),
        ("Add", ("new", "kept"), ("c2",), {}),
        ("Tanh", ("c2",), ("shown",), {}),
        ("Mul", ("oo", "shown"), ("h2",), {}),
    ]  # fmt: skip
    return looped(rng, nodes, ("h", "c"), (inputs, size, rows))


@draws("loop-as-gru")
def loop_as_gru(rng: np.random.Generator) -> RuleCase:
    """Return a GRU with the reset before or after the product, and the new state in several forms."""
    inputs, size, rows = (int(each) for each in rng.integers(1, 5, 3))
    nodes: Nodes = [
        *sums(rng, "zr", inputs, size, "h"),
        ("Sigmoid", ("sum_z",), ("z",), {}),
        ("Sigmoid", ("sum_r",), ("r",), {}),
    ]
    if rng.integers(2):
        nodes += [("Mul", ("r", "h"), ("rh",), {}), *sums(rng, "n", inputs, size, "rh")]
    else:
        nodes += [
            ("Constant", (), ("wn",), {"value": rng.normal(size=(inputs, size)).astype(np.float32)}),
            ("Constant", (), ("rn",), {"value": rng.normal(size=(size, size)).astype(np.float32)}),
            ("Constant", (), ("bn",), {"value": rng.normal(size=size).astype(np.float32)}),
            ("Gemm", ("h", "rn", "bn"), ("hn",), {}),
            ("Mul", ("r", "hn"), ("rhn",), {}),
            ("MatMul", ("x", "wn"), ("xn",), {}),
            ("Add", ("xn", "rhn"), ("sum_n",), {}),
        ]  # fmt: skip
    nodes.append(("Tanh", ("sum_n",), ("n",), {}))
    last, first = (("n", "h"), ("h", "n"))[int(rng.integers(2))]
    if rng.integers(2):
        nodes += [
            ("Sub", (first, last), ("gap",), {}),
            ("Mul", ("z", "gap"), ("part",), {}),
            ("Add", (last, "part"), ("h2",), {}),
        ]
    else:
        nodes += [
            ("Constant", (), ("unit",), {"value_float": 1.0}),
            ("Sub", ("unit", "z"), ("rest",), {}),
            ("Mul", ("rest", last), ("new",), {}),
            ("Mul", (first, "z"), ("kept",), {}),
            ("Add", ("new", "kept"), ("h2",), {}),
        ]
    return looped(rng, nodes, ("h",), (inputs, size, rows))
