"""Operators of the newer list: bits, questions about elements, triangles, numbers drawn like a tensor."""

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import ANY, FLOATS, any_shape, form, like, maybe, near

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_ELEMENTS = (1, 10, 11, 6)
"""ONNX's numbers of float32, float16, float64, and of an integer that none of these may be."""


@form("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Xor")
def _pair(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    dtype = "bool" if op == "Xor" else rng.choice((*_INTEGERS, "float32"))
    inputs = [draft.fed(shape, dtype), draft.tensor(like(draft, shape), dtype)]
    direction = rng.choice(("LEFT", "RIGHT", "UP")) if op == "BitShift" else None
    draft.node(op, inputs, direction=direction)


@form("BitwiseNot", "HardSwish", "IsInf", "IsNaN", "Shrink", "Tan")
def _element(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype = rng.choice(_INTEGERS) if op == "BitwiseNot" else rng.choice((*FLOATS, "int32"))
    given = {
        "IsInf": {
            name: maybe(draft, 0.4, rng.choice((0, 1, 2)))
            for name in ("detect_negative", "detect_positive")
        },
        "Shrink": {name: maybe(draft, 0.5, rng.choice((-0.5, 1.5))) for name in ("lambd", "bias")},
    }
    draft.node(op, [draft.fed(any_shape(draft, least=0), dtype)], **given.get(op, {}))


@form("Trilu")
def _triangle(draft: Draft, op: str) -> None:
    rng = draft.rng
    x = draft.fed(any_shape(draft, least=0), rng.choice(ANY))
    k = rng.choice(
        ("", draft.const(rng.choice((0, 0, 1))), draft.const([0]), draft.fed([], "int64"))
    )
    draft.node(op, [x, k] if k else [x], upper=maybe(draft, 0.6, rng.choice((0, 1))))


@form("EyeLike", "RandomNormalLike", "RandomUniformLike")
def _like_x(draft: Draft, op: str) -> None:
    rng = draft.rng
    x = draft.fed(any_shape(draft, near(draft, 2, 1), least=0), rng.choice(ANY))
    k = maybe(draft, 0.3, rng.choice((0, 0, 1))) if op == "EyeLike" else None
    draft.node(op, [x], dtype=maybe(draft, 0.6, rng.choice(_ELEMENTS)), k=k)


@form("RandomNormal")
def _normal(draft: Draft, op: str) -> None:
    rng = draft.rng
    given = {name: maybe(draft, 0.4, rng.choice((0.0, 2.0))) for name in ("mean", "scale", "seed")}
    draft.node(
        op,
        [],
        shape=any_shape(draft, None, 0),
        dtype=maybe(draft, 0.5, rng.choice(_ELEMENTS)),
        **given,
    )
