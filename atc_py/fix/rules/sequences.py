"""Rules of sequences and optional values."""

import numpy as np

from atc_py.fix.case import CaseGraph, Fed, MadeInput, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.bodies import elements_of, optional_value, place_in, split_tensor
from atc_py.fix.rule import EQUAL, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

_PAIR = {"a": Fed((2,)), "b": Fed((2,))}
_MAKE = ("SequenceConstruct", ("a", "b"), ("s",), dict[str, int]())
_PLACE = ("SequenceInsert", ("s", "b", "n"), ("t",), dict[str, int]())


@rule(
    EQUAL,
    case(
        "ConcatFromSequence",
        MadeInput("s"),
        axis=-1,
        new_axis=1,
        before=CaseGraph(_PAIR, (), (_MAKE,)),
    ),
    miss=case(
        "ConcatFromSequence",
        MadeInput("t"),
        axis=0,
        before=CaseGraph({**_PAIR, "n": Fed((), DType.INT64, (0, 2))}, (), (_MAKE, _PLACE)),
    ),
    boundary=case(
        "ConcatFromSequence",
        MadeInput("t"),
        axis=0,
        before=CaseGraph(
            _PAIR, (), (_MAKE, ("Constant", (), ("n",), {"value": np.array(2)}), _PLACE)
        ),
    ),
)
def concat_from_sequence_as_concat(ctx: RuleContext) -> str:
    """ConcatFromSequence -> Concat, for a new axis after Unsqueeze; Transpose of a tensor that was
    split whole, if nodes of the model make the sequence and change it at constant places; it is
    not empty.
    """
    elements = elements_of(ctx, ctx.name(0))
    require(elements, "the sequence is not empty")
    axis, new = ctx.integer("axis", 0), ctx.integer("new_axis", 0)
    whole = split_tensor(ctx, ctx.name(0))
    if whole is not None and bool(new) == whole.without:
        order = [at for at in range(whole.rank) if at != whole.axis]
        order.insert(axis % whole.rank, whole.axis)
        if new or order == sorted(order):
            return ctx.transpose(whole.name, order)
    parts = [write() for write in elements]
    if new:
        parts = [ctx.unsqueeze(part, [axis]) for part in parts]
    return ctx.concat(parts, axis)


_MADE_PAIR = CaseGraph(
    {"a": Fed((2,)), "b": Fed((3,))}, (), (("SequenceConstruct", ("a", "b"), ("s",), {}),)
)


@rule(
    EQUAL,
    case("SequenceAt", MadeInput("s"), np.array(-1), before=_MADE_PAIR),
    miss=case("SequenceAt", MadeInput("s"), Fed((), DType.INT64, (0, 0)), before=_MADE_PAIR),
    boundary=case("SequenceAt", MadeInput("s"), np.array(-2), before=_MADE_PAIR),
)
def sequence_at_as_tensor(ctx: RuleContext) -> str:
    """SequenceAt -> the tensor, or a Slice of the tensor that SplitToSequence splits, if the place
    is constant and in the sequence, which nodes of the model make and change at constant places.
    """
    elements = elements_of(ctx, ctx.name(0))
    count = len(elements)
    return elements[place_in(ctx.input(1), 0, count, count - 1)]()


@rule(
    EQUAL,
    case(
        "SequenceLength",
        MadeInput("s"),
        before=CaseGraph({"a": Fed((5, 2))}, (), (("SplitToSequence", ("a",), ("s",), {}),)),
    ),
    miss=case(
        "SequenceLength",
        MadeInput("s"),
        before=CaseGraph(
            {"a": Fed((5, 2)), "n": Fed((), DType.INT64, (1, 5))},
            (),
            (("SplitToSequence", ("a", "n"), ("s",), {}),),
        ),
    ),
    boundary=case(
        "SequenceLength",
        MadeInput("t"),
        before=CaseGraph(
            {"a": Fed((5, 2))},
            (),
            (
                ("SplitToSequence", ("a",), ("s",), {}),
                ("Constant", (), ("n",), {"value": np.array(-5)}),
                ("SequenceErase", ("s", "n"), ("t",), {}),
            ),
        ),
    ),
)
def sequence_length_as_constant(ctx: RuleContext) -> str:
    """SequenceLength -> a constant, if nodes of the model make the sequence and change it at
    constant places.
    """
    return ctx.const(len(elements_of(ctx, ctx.name(0))), label="length")


_OPTIONAL = CaseGraph({"a": Fed((2,))}, (), (("Optional", ("a",), ("o",), {}),))
_MADE = CaseGraph({}, ("p",), (("Optional", ("a",), ("p",), {}),))
_CHOSEN = CaseGraph(
    {"a": Fed((2,)), "c": Fed((), DType.BOOL)},
    (),
    (("If", ("c",), ("o",), {"then_branch": _MADE, "else_branch": _MADE}),),
)


@rule(
    EQUAL,
    case("OptionalGetElement", MadeInput("o"), opset=15, before=_OPTIONAL),
    miss=case("OptionalGetElement", MadeInput("o"), opset=17, before=_CHOSEN),
)
def optional_get_as_value(ctx: RuleContext) -> str:
    """OptionalGetElement -> the value, if a node of the model makes the optional, and it has a
    value; or it is a tensor.
    """
    value = optional_value(ctx)
    require(value, "the optional has a value")
    return value


@rule(
    EQUAL,
    case("OptionalHasElement", MadeInput("o"), opset=15, before=_OPTIONAL),
    miss=case("OptionalHasElement", MadeInput("o"), opset=17, before=_CHOSEN),
)
def optional_has_as_constant(ctx: RuleContext) -> str:
    """OptionalHasElement -> a constant, if a node of the model makes the optional; or it is a
    tensor or absent.
    """
    return ctx.const(optional_value(ctx) != "", DType.BOOL, "has")
