"""Rules of If, Loop and Scan.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import CaseGraph, Fed, case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.bodies import FIRST_STATE, MOST_STEPS, body_of, check_room, loop_steps, stack
from atc_py.fix.parts.loop_layers import CellLayer, gru_of, lstm_of, read_recurrence, write_layer
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import UnfitError, require, skip_unless
from atc_py.onnx_graph.graph import OnnxGraph, ValueType
from atc_py.onnx_graph.reading.tensors import dtype_of_element
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
    EQUAL,
    case("If", Fed((), DType.BOOL), then_branch=_XOR, else_branch=_NOT, opset=11),
    miss=case("If", Fed((), DType.BOOL), then_branch=_XOR, else_branch=_ROW, opset=11),
    boundary=case("If", Fed((1,), DType.BOOL), then_branch=_XOR, else_branch=_NOT, opset=11),
)
def if_as_where(ctx: RuleContext) -> Sequence[str]:
    """If whose condition is known at run time alone -> both branches, and a choice of each result:
    Where for floats, int8, uint8 and int32, And and Or for bool, Concat and Gather for other
    integers; both branches take time, if the If or a node in it is refused; both branches return
    tensors of the same dtype and dims; no node in them draws random numbers or can fail for some
    values (integer division by a possible 0, indices or dims computed at run time).

    ONNX, If: one of two graphs runs. Where both can run whatever the condition is, running both and
    choosing afterwards yields the same bits, at the cost of both.
    """
    bodies = [body_of(ctx, name) for name in _BRANCHES]
    known = ctx.node.branches
    require(set(known) >= set(_BRANCHES), "both branches can be read")
    inner = [node for name in _BRANCHES for node in known[name].nodes]
    repeated = may_repeat_always(ctx.node.proto, ctx.around.graph.consts)
    require(
        repeated and all(map(may_run_always, inner)),
        "every node of the branches is defined for all values",
    )
    for name in _BRANCHES:
        check_room(ctx, name, 1)
    types = [
        [
            _type_of(tensor, body.declared.get(result))
            for tensor, result in zip(known[name].outputs, body.outputs, strict=True)
        ]
        for name, body in zip(_BRANCHES, bodies, strict=True)
    ]
    used = [ctx.output(at) is not None for at in range(len(types[0]))]
    for one, another, is_used in zip(*types, used, strict=True):
        alike = one is not None and one == another
        require(alike or not is_used, "both branches return the same dtype and known dims")
    then, other = (ctx.inline(body, []) for body in bodies)
    dims = ctx.shape(0)
    condition = ctx.squeeze(ctx.name(0), range(len(dims))) if dims else ctx.name(0)
    return [
        _choice(ctx, condition, (a, b), result) if is_used and result is not None else ""
        for a, b, result, is_used in zip(then, other, types[0], used, strict=True)
    ]


def _type_of(tensor: SourceTensor, stated: ValueType | None) -> tuple[DType, Shape] | None:
    """The type of a result, which the file may state where it is not inferred."""
    if tensor.dtype is not None and not tensor.is_open:
        return tensor.dtype, tensor.shape
    dtype = None if stated is None else dtype_of_element(stated.element)
    shape = None if stated is None else stated.shape
    return None if dtype is None or shape is None else (dtype, shape)


def _choice(
    ctx: RuleContext, condition: str, results: tuple[str, str], known: tuple[DType, Shape]
) -> str:
    (then, other), (dtype, shape) = results, known
    if then == other:
        return then
    if dtype in _LISTED and ctx.opset >= _WHERE_SINCE:
        return ctx.op("Where", condition, then, other)
    if dtype is DType.BOOL:
        first = ctx.op("And", condition, then)
        second = ctx.op("And", ctx.op("Not", condition), other)
        return ctx.op("Or", first, second)
    rows = [ctx.reshape(value, [1, *shape]) for value in (other, then)]
    place = ctx.cast(condition, DType.INT32)
    return ctx.op("Gather", ctx.op("Concat", *rows, axis=0), place, axis=0)


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
    EQUAL,
    case("Loop", np.array(3), np.ones((), np.bool_), [2], body=_BODY, outputs=2),
    miss=case(
        "Loop", Fed((), DType.INT64, (1, 3)), np.ones((), np.bool_), [2], body=_BODY, outputs=2
    ),
    boundary=case("Loop", np.array(0), np.ones((), np.bool_), [2], body=_BODY, outputs=2),
    last=True,
)
def loop_unroll(ctx: RuleContext) -> Sequence[str]:
    """Loop -> the body, step by step; Unsqueeze and Concat of what is scanned, if constants decide
    the number of steps, which is at most 512; the model has at most 50000 nodes then.

    The condition may depend on states that start as constants and on constants alone; that part of
    the body is run to count the steps.
    """
    body, total = body_of(ctx, "body"), loop_steps(ctx)
    require(total <= MOST_STEPS, "at most {most_steps} steps", most_steps=MOST_STEPS)
    check_room(ctx, "body", total)
    count = len(ctx.node.inputs) - FIRST_STATE
    states = [ctx.name(FIRST_STATE + at) for at in range(count)]
    if not total:
        return [*states, *(_nothing(ctx, body, at) for at in range(count, len(ctx.node.outputs)))]
    true = ctx.const(tables.ones((), np.bool_), DType.BOOL, "going")
    stacked: list[list[str]] = []
    for step in range(total):
        results = ctx.inline(body, [ctx.const(step, label="step"), true, *states])
        states = list(results[1 : 1 + count])
        stacked.append(list(results[1 + count :]))
    return [*states, *(stack(ctx, list(each), 0) for each in zip(*stacked, strict=True))]


def _nothing(ctx: RuleContext, body: OnnxGraph, position: int) -> str:
    if ctx.output(position) is None:
        return ""
    stated = body.declared.get(body.outputs[1 + position])
    dtype = None if stated is None else dtype_of_element(stated.element)
    dims = None if stated is None else stated.shape
    require(dtype is not None and dims is not None, "the body states the dims of what is scanned")
    return ctx.const(tables.zeros((0, *(dims or ()))), dtype, "nothing")


# Opset since which a Scan has no batch axis of its own.
_WITHOUT_BATCH = 9

_SCAN_BODY = CaseGraph(
    {"state": Fed((2,)), "slice": Fed((2,))},
    ("next", "out"),
    (("Add", ("state", "slice"), ("next",), {}), ("Identity", ("next",), ("out",), {})),
)

_STATELESS = replace(_SCAN_BODY, outputs=("out",))


@rule(
    EQUAL,
    case("Scan", [2], [3, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
    miss=case("Scan", [2], [600, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
    boundary=(
        case("Scan", [2], [1, 2], body=_SCAN_BODY, num_scan_inputs=1, opset=9, outputs=2),
        case("Scan", [2], [512, 2], body=_SCAN_BODY, num_scan_inputs=1, outputs=2),
        case("Scan", [3, 2], [3, 2], body=_STATELESS, num_scan_inputs=2),
    ),
    last=True,
)
def scan_unroll(ctx: RuleContext) -> Sequence[str]:
    """Scan -> Gather of each slice, the body, Unsqueeze and Concat of what it returns, if the dim
    that is scanned is known and at most 512; the model has at most 50000 nodes then.

    Scan-9 of ONNX: states come first, then one slice a step of each scanned input; scanned outputs
    are stacked along a new axis.
    """
    skip_unless(ctx.node.opset >= _WITHOUT_BATCH)
    body, scanned = body_of(ctx, "body"), ctx.integer("num_scan_inputs", 0)
    require(0 <= scanned <= len(ctx.node.inputs), "it scans inputs that it has")
    count = len(ctx.node.inputs) - scanned
    states = [ctx.name(position) for position in range(count)]
    axes = ctx.integers("scan_input_axes", [0] * scanned)
    backward = ctx.integers("scan_input_directions", [0] * scanned)
    steps = {
        ctx.shape(count + at)[axis % len(ctx.shape(count + at))] for at, axis in enumerate(axes)
    }
    require(len(steps) == 1, "the sequences are of one length", found=sorted(steps))
    (total,) = steps
    require(total <= MOST_STEPS, "at most 512 steps", found=total)
    require(total > 0, "at least one step")
    check_room(ctx, "body", total)
    sequences = [(ctx.name(count + at), axis, backward[at]) for at, axis in enumerate(axes)]
    states, stacked = _run(ctx, body, states, sequences, total)
    outputs = len(body.outputs) - count
    into = ctx.integers("scan_output_axes", [0] * outputs)
    reverse = ctx.integers("scan_output_directions", [0] * outputs)
    return [*states, *(
        stack(ctx, [column[at] for column in stacked], into[at], backward=reverse[at] != 0)
        for at in range(outputs)
    )]  # fmt: skip


def _run(
    ctx: RuleContext,
    body: OnnxGraph,
    states: list[str],
    sequences: Sequence[tuple[str, int, int]],
    total: int,
) -> tuple[list[str], list[list[str]]]:
    """Write every step; return the last states, and what is scanned in each step.

    `sequences` are names, their axes of steps, and 1 for those that are read from the end.
    """
    count = len(states)
    stacked: list[list[str]] = []
    for step in range(total):
        slices = []
        for name, axis, backward in sequences:
            place = ctx.const(total - 1 - step if backward else step, label="step")
            slices.append(ctx.op("Gather", name, place, axis=axis))
        results = ctx.inline(body, [*states, *slices])
        states = list(results[:count])
        stacked.append(list(results[count:]))
    return states, stacked


@rule(
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
def scan_of_batch_unroll(ctx: RuleContext) -> Sequence[str]:
    """Scan of opset 8 -> for each entry of the batch Gather of each slice, the body; Unsqueeze and
    Concat, if batch times steps are known and at most 512; sequence_lens is absent; the model
    has at most 50000 nodes then.

    Scan-8 of ONNX: states and sequences have a batch axis, which the body does not see; sequences
    have the steps as their second axis.
    """
    skip_unless(ctx.node.opset < _WITHOUT_BATCH)
    require(ctx.tensor(0) is None, "sequence_lens is absent")
    body, scanned = body_of(ctx, "body"), ctx.integer("num_scan_inputs", 0)
    require(0 <= scanned <= len(ctx.node.inputs), "it scans inputs that it has")
    first = len(ctx.node.inputs) - scanned
    dims = [ctx.shape(position)[:2] for position in range(first, len(ctx.node.inputs))]
    require(len(set(dims)) == 1 and len(dims[0]) > 1, "the sequences are of one length")
    batch, total = dims[0]
    require(0 < batch * total <= MOST_STEPS, "1 to 512 steps")
    check_room(ctx, "body", batch * total)
    rows = [_entry(ctx, body, entry, first, total) for entry in range(batch)]
    return [stack(ctx, list(each), 0) for each in zip(*rows, strict=True)]


def _entry(ctx: RuleContext, body: OnnxGraph, entry: int, first: int, total: int) -> list[str]:
    """The results of one entry of the batch; the first sequence is the input at `first`."""
    own = ctx.const(entry, label="entry")
    names = ctx.names[1:]
    values = [ctx.op("Gather", name, own, axis=0) for name in names]
    states, sequences = values[: first - 1], values[first - 1 :]
    backward = ctx.integers("directions", [0] * len(sequences))
    taken = [(name, 0, back) for name, back in zip(sequences, backward, strict=True)]
    states, stacked = _run(ctx, body, states, taken, total)
    return [*states, *(stack(ctx, list(column), 0) for column in zip(*stacked, strict=True))]


_GRU_WEIGHTS, _GRU_RESET = data(5, 4, seed=1).value, data(5, 2, seed=2).value


def _gru_step(function: str) -> CaseGraph:
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
    REORDERED,
    case("Scan", [2, 2], [4, 2, 3], body=_gru_step("Sigmoid"), num_scan_inputs=1, outputs=2),
    operators="Loop Scan",
    miss=case(
        "Scan", [2, 2], [4, 2, 3], body=_gru_step("HardSigmoid"), num_scan_inputs=1, outputs=2
    ),
    boundary=case(
        "Scan", [2, 2], [1, 2, 3], body=_gru_step("Sigmoid"), num_scan_inputs=1, outputs=2
    ),
)
def loop_as_gru(ctx: RuleContext) -> Sequence[str]:
    """Loop or Scan whose body is one step of a GRU -> GRU; Transpose and Reshape of the sequence
    and of the results, if constants decide the number of steps; weights are constant; gates are
    Sigmoid and Tanh of sums of the slice and the state, the reset before or after the product;
    every output is a state, or the state of each step.

    The body is read as algebra: gates may come in any order, from one product or several, and
    biases from any sums. Formula: ONNX, GRU.
    """
    return _as_layer(ctx, gru_of, 1, "the body is one step of a GRU")


def _as_layer(
    ctx: RuleContext, layer_of: Callable[..., CellLayer | None], count: int, requirement: str
) -> Sequence[str]:
    """Write the layer with `count` states that the body is a step of, whichever states these are."""
    loop = read_recurrence(ctx)
    updates = loop.updates
    for x in loop.slices:
        for states in permutations(updates, count):
            layer = layer_of(updates, *states, x, loop.names)
            if layer is not None:
                return write_layer(ctx, loop, layer, x[0])
    raise UnfitError(requirement)


_LSTM_WEIGHTS = data(5, 8, seed=1).value


def _lstm_step(function: str) -> CaseGraph:
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
    REORDERED,
    case(
        "Scan", [2, 2], [2, 2], [4, 2, 3], body=_lstm_step("Sigmoid"), num_scan_inputs=1, outputs=3
    ),
    operators="Loop Scan",
    miss=case(
        "Scan",
        [2, 2],
        [2, 2],
        [4, 2, 3],
        body=_lstm_step("HardSigmoid"),
        num_scan_inputs=1,
        outputs=3,
    ),
    boundary=case(
        "Scan", [2, 2], [2, 2], [1, 2, 3], body=_lstm_step("Sigmoid"), num_scan_inputs=1, outputs=3
    ),
)
def loop_as_lstm(ctx: RuleContext) -> Sequence[str]:
    """Loop or Scan whose body is one step of an LSTM -> LSTM; Transpose and Reshape of the sequence
    and of the results, if constants decide the number of steps; weights are constant; gates are
    Sigmoid and Tanh of sums of the slice and the state, without peepholes; every output is a
    state, or the state of each step.

    The body is read as algebra: gates may come in any order, from one product or several, and
    biases from any sums. Formula: ONNX, LSTM.
    """
    return _as_layer(ctx, lstm_of, 2, "the body is one step of an LSTM")
