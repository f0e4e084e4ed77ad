"""Arithmetic with broadcasting, products, reductions and recurrent layers."""

from typing import Any

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import ANY, FLOATS, any_axis, any_shape, form, like, maybe, near


@form("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Equal", "Less", "Greater", "And", "Or")
@form("Max", "Min", "Sum", "Mean", "GreaterOrEqual", "LessOrEqual")
def _broadcast(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    dtype = "bool" if op in {"And", "Or"} else rng.choice(ANY)
    others = [like(draft, shape)]
    if op in {"Max", "Min", "Sum", "Mean"}:
        others = [like(draft, shape) for _ in range(rng.choice((0, 1, 1, 2)))]
    names = [draft.fed(shape, dtype), *[draft.tensor(each, dtype) for each in others]]
    if op != "PRelu" and rng.random() < 0.3:
        names.reverse()
    draft.node(op, names, fmod=maybe(draft, 0.4, 1) if op == "Mod" else None)


@form("Where")
def _where(draft: Draft, op: str) -> None:
    shape, dtype = any_shape(draft, least=0), draft.rng.choice(ANY)
    chosen = draft.fed(like(draft, shape), "bool")
    draft.node(op, [chosen, draft.fed(shape, dtype), draft.tensor(like(draft, shape), dtype)])


@form("MatMul", "Gemm", "BatchMatMul")
def _product(draft: Draft, op: str) -> None:
    rng = draft.rng
    m, k, n = (rng.choice((0, 1, 2, 3, 8)) for _ in range(3))
    dtype = rng.choice((*FLOATS, "int32", "int8"))
    if op == "Gemm":
        turned = [rng.random() < 0.3 for _ in "ab"]
        a = [k, m] if turned[0] else [m, k]
        b = [n, near(draft, k)] if turned[1] else [near(draft, k), n]
        inputs = [draft.fed(a, dtype), draft.tensor(b, dtype)]
        if rng.random() < 0.5:
            inputs.append(draft.tensor(like(draft, [m, n]), dtype))
        factors = {
            name: maybe(draft, 0.3, rng.choice((0.5, 2.0, 0.0))) for name in ("alpha", "beta")
        }
        draft.node(op, inputs, transA=maybe(draft, turned[0], 1), transB=int(turned[1]), **factors)
        return
    stacks = any_shape(draft, rng.choice((0, 0, 1, 2)))
    left, right = [*stacks, m, k], [*like(draft, stacks), near(draft, k), n]
    if op == "MatMul" and rng.random() < 0.2:
        left, right = rng.choice((([k], right), (left, [k]), ([k], [k])))
    inputs = [draft.fed(left, dtype), draft.tensor(right, dtype)]
    draft.node(op, inputs, domain="" if op == "MatMul" else "custom")


@form("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
@form("ReduceSumSquare", "ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax")
def _reduce(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    x = draft.fed(shape, rng.choice(ANY))
    axes = [any_axis(draft, len(shape)) for _ in range(rng.choice((0, 1, 1, 2)))]
    keep = maybe(draft, 0.5, rng.choice((0, 1)))
    if not op.startswith("Reduce"):
        keep = keep if op.startswith("Arg") else None
        draft.node(op, [x], axis=axes[0] if axes else None, keepdims=keep)
    elif draft.opset >= (13 if op == "ReduceSum" else 18):
        draft.node(op, [x, draft.list_of(axes)] if axes else [x], keepdims=keep)
    else:
        draft.node(op, [x], axes=axes or None, keepdims=keep)


@form("Clip", "Cast", "NonZero", "Shape", "Size", "Det", "Dropout", "Identity")
def _single(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype, shape = rng.choice(ANY), any_shape(draft, least=0)
    x = draft.fed(shape, dtype)
    if op == "Clip" and draft.opset >= 11:
        bounds = [draft.const(v, dtype) if rng.random() < 0.7 else "" for v in (0, 6)]
        draft.node(op, [x, *bounds])
    elif op == "Cast":
        draft.node(op, [x], to=rng.choice((1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 16)))
    else:
        draft.node(op, [x])


@form("LSTM", "GRU")
def _recurrent(draft: Draft, op: str) -> None:
    rng = draft.rng
    steps, batch, size, hidden = (rng.choice((1, 2, 3)) for _ in range(4))
    way = rng.choice(("forward", "forward", "reverse", "bidirectional"))
    ways, gates, dtype = 1 + (way == "bidirectional"), 4 if op == "LSTM" else 3, rng.choice(FLOATS)
    inputs = [
        draft.fed([steps, batch, size], dtype),
        draft.tensor([ways, near(draft, gates * hidden), size], dtype),
        draft.tensor([ways, gates * hidden, near(draft, hidden)], dtype),
        draft.tensor([ways, 2 * gates * hidden], dtype) if rng.random() < 0.5 else "",
        draft.tensor([batch], "int32") if rng.random() < 0.2 else "",
        draft.tensor([ways, batch, hidden], dtype) if rng.random() < 0.3 else "",
    ]
    attributes: dict[str, Any] = {"hidden_size": maybe(draft, 0.9, hidden), "direction": way}
    if op == "GRU":
        attributes["linear_before_reset"] = maybe(draft, 0.4, 1)
    draft.node(op, inputs, rng.choice((1, 2)), **attributes)
