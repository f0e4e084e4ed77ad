"""Rules of If, Loop and Scan.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import CaseGraph, Fed, case, data
from atc_py.fix.parts.bodies import FIRST_STATE, MOST_STEPS, body_of, check_room, loop_steps, stack
from atc_py.fix.parts.loop_layers import gru_of, lstm_of, read_recurrence, write_layer
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import UnfitError, require
from atc_py.fix.writing import EQUAL, REORDERED
from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.rewriting.graph_body import GraphBody
from atc_py.onnx_graph.rewriting.total_nodes import may_repeat_always, may_run_always
from atc_py.onnx_graph.source import SourceTensor
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape

# What the lists let Where choose from.
_LISTED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32, DType.UINT8})

_WHERE_SINCE = 9

_BRANCHES = ("then_branch", "else_branch")

_XOR = CaseGraph({}, ("r",), (("Xor", ("x0", "x0"), ("r",), {}),))
_NOT = CaseGraph({}, ("s",), (("Not", ("x0",), ("s",), {}),))
_ROW = CaseGraph({}, ("s",), (("Unsqueeze", ("x0",), ("s",), {"axes": [0]}),))


@rule(
    "If",
    EQUAL,
    case("If", Fed((), DType.BOOL), then_branch=_XOR, else_branch=_NOT, opset=11),
    miss=case("If", Fed((), DType.BOOL), then_branch=_XOR, else_branch=_ROW, opset=11),
    boundary=case("If", Fed((1,), DType.BOOL), then_branch=_XOR, else_branch=_NOT, opset=11),
)
def if_as_where(site: Site) -> Sequence[str]:
    """If whose condition is known at run time alone -> both branches, and a choice of each result:
    Where for floats, int8, uint8 and int32, And and Or for bool, Concat and Gather for other
    integers; both branches take time, if the If or a node in it is refused; both branches return
    tensors of one dtype and dims; no node in them draws random numbers, or can fail for some
    values (an integer divided by what may be 0, indices or dims computed at run time).

    ONNX, If: one of two graphs runs. Where both can run whatever the condition is, running both and
    choosing afterwards yields the same bits, at the cost of both.
    """
    bodies = [body_of(site, name) for name in _BRANCHES]
    known = site.node.branches
    require(set(known) >= set(_BRANCHES), "both branches can be read")
    inner = [node for name in _BRANCHES for node in known[name].nodes]
    constants = site.around.graph.consts if site.around is not None else {}
    repeated = site.work is not None and may_repeat_always(site.work.proto, constants)
    require(
        repeated and all(map(may_run_always, inner)),
        "every node of the branches is defined for all values",
    )
    for body in bodies:
        check_room(site, body, 1)
    types = [
        [
            _type_of(tensor, stated)
            for tensor, stated in zip(known[name].outputs, body.types, strict=True)
        ]
        for name, body in zip(_BRANCHES, bodies, strict=True)
    ]
    used = [site.output(at) is not None for at in range(len(types[0]))]
    for one, another, is_used in zip(*types, used, strict=True):
        alike = one is not None and one == another
        require(alike or not is_used, "both branches return the same dtype and known dims")
    then, other = (site.inline(body, []) for body in bodies)
    condition = _scalar(site)
    return [
        _choice(site, condition, (a, b), found) if is_used and found is not None else ""
        for a, b, found, is_used in zip(then, other, types[0], used, strict=True)
    ]


def _type_of(tensor: SourceTensor, stated: ValueType | None) -> tuple[DType, Shape] | None:
    """The type of a result, which the file may state where it is not inferred."""
    if tensor.dtype is not None and not tensor.is_open:
        return tensor.dtype, tensor.shape
    dtype = None if stated is None else dtype_of_element(stated.element)
    shape = None if stated is None else stated.shape
    return None if dtype is None or shape is None else (dtype, shape)


def _scalar(site: Site) -> str:
    """The condition without axes."""
    dims = site.shape(0)
    return site.squeeze(site.name(0), range(len(dims))) if dims else site.name(0)


def _choice(
    site: Site, condition: str, results: tuple[str, str], known: tuple[DType, Shape]
) -> str:
    (then, other), (dtype, shape) = results, known
    if then == other:
        return then
    if dtype in _LISTED and site.opset >= _WHERE_SINCE:
        return site.op("Where", condition, then, other)
    if dtype is DType.BOOL:
        first = site.op("And", condition, then)
        second = site.op("And", site.op("Not", condition), other)
        return site.op("Or", first, second)
    rows = [site.reshape(value, [1, *shape]) for value in (other, then)]
    place = site.cast(condition, DType.INT32)
    return site.op("Gather", site.op("Concat", *rows, axis=0), place, axis=0)


_BODY = CaseGraph(
    {"step": Fed((), DType.INT64), "going": Fed((), DType.BOOL), "state": Fed((2,))},
    ("on", "next", "seen"),
    (
        ("Identity", ("going",), ("on",), {}),
        ("Add", ("state", "state"), ("next",), {}),
        ("Identity", ("state",), ("seen",), {}),
    ),
)


@rule(
    "Loop",
    EQUAL,
    case("Loop", np.array(3), np.ones((), np.bool_), [2], body=_BODY, outputs=2),
    miss=case(
        "Loop", Fed((), DType.INT64, (1, 3)), np.ones((), np.bool_), [2], body=_BODY, outputs=2
    ),
    boundary=case("Loop", np.array(0), np.ones((), np.bool_), [2], body=_BODY, outputs=2),
    last=True,
)
def loop_unroll(site: Site) -> Sequence[str]:
    """Loop -> the body, step by step; Unsqueeze and Concat of what is scanned, if constants decide
    the number of steps, which is at most 512; the model has at most 50000 nodes then.

    The condition may depend on states that start as constants and on constants alone; that part of
    the body is run to count the steps.
    """
    body, total = body_of(site, "body"), loop_steps(site)
    require(total <= MOST_STEPS, "at most {most_steps} steps", most_steps=MOST_STEPS)
    check_room(site, body, total)
    count = len(site.node.inputs) - FIRST_STATE
    states = [site.name(FIRST_STATE + at) for at in range(count)]
    if not total:
        return [*states, *(_nothing(site, body, at) for at in range(count, len(site.node.outputs)))]
    true = site.const(tables.ones((), np.bool_), DType.BOOL, "going")
    stacked: list[list[str]] = []
    for step in range(total):
        results = site.inline(body, [site.const(step, label="step"), true, *states])
        states = list(results[1 : 1 + count])
        stacked.append(list(results[1 + count :]))
    return [*states, *(stack(site, list(each), 0) for each in zip(*stacked, strict=True))]


def _nothing(site: Site, body: GraphBody, position: int) -> str:
    """A scanned output after no step; "" where nothing uses it."""
    if site.output(position) is None:
        return ""
    stated = body.types[1 + position]
    dtype = None if stated is None else dtype_of_element(stated.element)
    dims = None if stated is None else stated.shape
    known = dtype is not None and dims is not None
    require(known, "the body states the dims of what is scanned")
    return site.const(tables.zeros((0, *(dims or ()))), dtype, "nothing")


# Opset since which a Scan has no batch axis of its own.
_WITHOUT_BATCH = 9

_SCAN_BODY = CaseGraph(
    {"state": Fed((2,)), "slice": Fed((2,))},
    ("next", "out"),
    (("Add", ("state", "slice"), ("next",), {}), ("Identity", ("next",), ("out",), {})),
)


@rule(
    "Scan",
    EQUAL,
    case("Scan", [2], [3, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
    miss=case("Scan", [2], [600, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
    boundary=(
        case("Scan", [2], [1, 2], body=_SCAN_BODY, num_scan_inputs=1, opset=9, outputs=2),
        case("Scan", [2], [512, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
    ),
    last=True,
)
def scan_unroll(site: Site) -> Sequence[str]:
    """Scan -> Gather of each slice, the body, Unsqueeze and Concat of what it returns, if the dim
    that is scanned is known and at most 512; the model has at most 50000 nodes then.

    Scan-9 of ONNX: states come first, then one slice a step of each scanned input; scanned outputs
    are stacked along a new axis.
    """
    require(site.node.opset >= _WITHOUT_BATCH, "the opset is 9 or more")
    body, scanned = body_of(site, "body"), site.integer("num_scan_inputs", 0)
    require(0 <= scanned <= len(site.node.inputs), "it scans inputs that it has")
    count = len(site.node.inputs) - scanned
    states = [site.name(position) for position in range(count)]
    axes = _axes(site, "scan_input_axes", scanned)
    backward = site.integers("scan_input_directions", [0] * scanned)
    steps = {
        site.shape(count + at)[axis % len(site.shape(count + at))] for at, axis in enumerate(axes)
    }
    require(len(steps) == 1 and max(steps) <= MOST_STEPS, "at most 512 steps")
    require(min(steps) > 0, "at least one step")
    (total,) = steps
    check_room(site, body, total)
    stacked: list[list[str]] = []
    for step in range(total):
        slices = []
        for at, axis in enumerate(axes):
            place = total - 1 - step if backward[at] else step
            index = site.const(place, label="step")
            slices.append(site.op("Gather", site.name(count + at), index, axis=axis))
        results = site.inline(body, [*states, *slices])
        states = list(results[:count])
        stacked.append(list(results[count:]))
    outputs = len(body.outputs) - count
    into = _axes(site, "scan_output_axes", outputs)
    reverse = site.integers("scan_output_directions", [0] * outputs)
    return [*states, *(
        stack(site, [each[at] for each in stacked], into[at], backward=reverse[at] != 0)
        for at in range(outputs)
    )]  # fmt: skip


def _axes(site: Site, name: str, count: int) -> tuple[int, ...]:
    """One axis for each scanned tensor; 0 by default."""
    return site.integers(name, [0] * count)


@rule(
    "Scan",
    EQUAL,
    case("Scan", None, [2, 2], [2, 3, 2], body=_SCAN_BODY, num_scan_inputs=1, opset=8, outputs=2),
    miss=case(
        "Scan", None, [300, 2], [300, 2, 2], body=_SCAN_BODY, num_scan_inputs=1, opset=8, outputs=2
    ),
    boundary=case(
        "Scan", None, [1, 2], [1, 1, 2], body=_SCAN_BODY, num_scan_inputs=1, opset=8, outputs=2
    ),
    last=True,
)
def scan_of_batch_unroll(site: Site) -> Sequence[str]:
    """Scan of opset 8 -> for each entry of the batch Gather of each slice, the body; Unsqueeze and
    Concat, if batch times steps are known and at most 512; sequence_lens is absent; the model
    has at most 50000 nodes then.

    Scan-8 of ONNX: states and sequences have a batch axis, which the body does not see; sequences
    have the steps as their second axis.
    """
    require(site.node.opset < _WITHOUT_BATCH, "the opset is 8")
    require(site.tensor(0) is None, "sequence_lens is absent")
    body, scanned = body_of(site, "body"), site.integer("num_scan_inputs", 0)
    require(0 <= scanned <= len(site.node.inputs), "it scans inputs that it has")
    first = len(site.node.inputs) - scanned
    dims = [site.shape(position)[:2] for position in range(first, len(site.node.inputs))]
    require(len(set(dims)) == 1 and len(dims[0]) > 1, "sequences are of one length")
    batch, total = dims[0]
    require(0 < batch * total <= MOST_STEPS, "1 to 512 steps")
    check_room(site, body, batch * total)
    rows = [_entry(site, body, entry, first, total) for entry in range(batch)]
    return [stack(site, list(each), 0) for each in zip(*rows, strict=True)]


def _entry(site: Site, body: GraphBody, entry: int, first: int, total: int) -> list[str]:
    """The results of one entry of the batch.

    Args:
        site: the Scan.
        body: its body.
        entry: the place in the batch.
        first: position of the first sequence among the inputs.
        total: number of steps.
    """
    own = site.const(entry, label="entry")
    names = site.names[1:]
    values = [site.op("Gather", name, own, axis=0) for name in names]
    states, sequences = values[: first - 1], values[first - 1 :]
    backward = site.integers("directions", [0] * len(sequences))
    stacked: list[list[str]] = []
    for step in range(total):
        slices = []
        for sequence, back in zip(sequences, backward, strict=True):
            place = site.const(total - 1 - step if back else step, label="step")
            slices.append(site.op("Gather", sequence, place, axis=0))
        results = site.inline(body, [*states, *slices])
        states = list(results[: first - 1])
        stacked.append(list(results[first - 1 :]))
    return [*states, *(stack(site, list(each), 0) for each in zip(*stacked, strict=True))]


_GRU_WEIGHTS, _GRU_RESET = data(5, 4, seed=1).value, data(5, 2, seed=2).value


def _gru_step(function: str) -> CaseGraph:
    """One step of a GRU whose update gate is `function`."""
    return CaseGraph(
        {"h": Fed((2, 2)), "x": Fed((2, 3))},
        ("h2", "y"),
        (
            ("Constant", (), ("w",), {"value": _GRU_WEIGHTS}),
            ("Constant", (), ("v",), {"value": _GRU_RESET}),
            ("Constant", (), ("one",), {"value_float": 1.0}),
            ("Concat", ("x", "h"), ("xh",), {"axis": 1}),
            ("MatMul", ("xh", "w"), ("g",), {}),
            ("Split", ("g",), ("gr", "gz"), {"axis": 1}),
            ("Sigmoid", ("gr",), ("r",), {}),
            (function, ("gz",), ("z",), {}),
            ("Mul", ("r", "h"), ("rh",), {}),
            ("Concat", ("x", "rh"), ("xr",), {"axis": 1}),
            ("MatMul", ("xr", "v"), ("gn",), {}),
            ("Tanh", ("gn",), ("n",), {}),
            ("Sub", ("one", "z"), ("rest",), {}),
            ("Mul", ("rest", "n"), ("new",), {}),
            ("Mul", ("z", "h"), ("kept",), {}),
            ("Add", ("new", "kept"), ("h2",), {}),
            ("Identity", ("h2",), ("y",), {}),
        ),
    )


@rule(
    "Loop Scan",
    REORDERED,
    case("Scan", [2, 2], [4, 2, 3], body=_gru_step("Sigmoid"), num_scan_inputs=1, outputs=2),
    miss=case(
        "Scan", [2, 2], [4, 2, 3], body=_gru_step("HardSigmoid"), num_scan_inputs=1, outputs=2
    ),
)
def loop_as_gru(site: Site) -> Sequence[str]:
    """Loop or Scan whose body is one step of a GRU -> GRU; Transpose and Reshape of the sequence
    and of the results, if constants decide the number of steps; weights are constant; gates are
    Sigmoid and Tanh of sums of the slice and the state, the reset before or after the product;
    every output is a state, or the state of each step.

    The body is read as algebra: gates may come in any order, from one product or several, and
    biases from any sums. Formula: ONNX, GRU.
    """
    loop = read_recurrence(site)
    updates = loop.updates
    for x in loop.slices:
        for h in updates:
            layer = gru_of(updates, h, x, loop.names)
            if layer is not None:
                return write_layer(site, loop, layer, x[0])
    raise UnfitError("the body is one step of a GRU")


_LSTM_WEIGHTS = data(5, 8, seed=1).value


def _lstm_step(function: str) -> CaseGraph:
    """One step of an LSTM whose input gate is `function`."""
    return CaseGraph(
        {"h": Fed((2, 2)), "c": Fed((2, 2)), "x": Fed((2, 3))},
        ("h2", "c2", "y"),
        (
            ("Constant", (), ("w",), {"value": _LSTM_WEIGHTS}),
            ("Concat", ("x", "h"), ("xh",), {"axis": 1}),
            ("MatMul", ("xh", "w"), ("g",), {}),
            ("Split", ("g",), ("gi", "gc", "gf", "go"), {"axis": 1}),
            (function, ("gi",), ("i",), {}),
            ("Tanh", ("gc",), ("n",), {}),
            ("Sigmoid", ("gf",), ("f",), {}),
            ("Sigmoid", ("go",), ("o",), {}),
            ("Mul", ("c", "f"), ("kept",), {}),
            ("Mul", ("i", "n"), ("new",), {}),
            ("Add", ("kept", "new"), ("c2",), {}),
            ("Tanh", ("c2",), ("t",), {}),
            ("Mul", ("o", "t"), ("h2",), {}),
            ("Identity", ("h2",), ("y",), {}),
        ),
    )


@rule(
    "Loop Scan",
    REORDERED,
    case(
        "Scan", [2, 2], [2, 2], [4, 2, 3], body=_lstm_step("Sigmoid"), num_scan_inputs=1, outputs=3
    ),
    miss=case(
        "Scan",
        [2, 2],
        [2, 2],
        [4, 2, 3],
        body=_lstm_step("HardSigmoid"),
        num_scan_inputs=1,
        outputs=3,
    ),
)
def loop_as_lstm(site: Site) -> Sequence[str]:
    """Loop or Scan whose body is one step of an LSTM -> LSTM; Transpose and Reshape of the sequence
    and of the results, if constants decide the number of steps; weights are constant; gates are
    Sigmoid and Tanh of sums of the slice and the state, without peepholes; every output is a
    state, or the state of each step.

    The body is read as algebra: gates may come in any order, from one product or several, and
    biases from any sums. Formula: ONNX, LSTM.
    """
    loop = read_recurrence(site)
    updates = loop.updates
    for x in loop.slices:
        for h, c in permutations(updates, 2):
            layer = lstm_of(updates, h, c, x, loop.names)
            if layer is not None:
                return write_layer(site, loop, layer, x[0])
    raise UnfitError("the body is one step of an LSTM")
