"""Random cases of the rules of sequences and optionals."""

import numpy as np

from atc_py.fix.case import CaseGraph, ConstInput, Fed, MadeInput, RuleCase
from tests.fix.draws import draws


def sequence(rng: np.random.Generator, *, alike: bool) -> tuple[CaseGraph, int]:
    """Return nodes that make a sequence called `s`, and its length.

    Args:
        rng: draws them.
        alike: whether all tensors have the same dims.
    """
    dims, axis = (int(rng.integers(1, 4)), int(rng.integers(2, 7))), int(rng.integers(2))
    size = dims[axis]
    part, keep = int(rng.integers(1, size + 1)), int(rng.integers(2))
    reads: tuple[str, ...] = ("a", "part")
    if rng.integers(2) or (alike and size % part):
        reads = ("a",)
        count, own = size, np.array(dims)
        own[axis] = 1
        own = own if keep else np.delete(own, axis)
    else:
        count, own, keep = -(-size // part), np.array(dims), 1
        own[axis] = part
    place = int(rng.integers(-count, count + 1))
    gone = int(rng.integers(-count - 1, count + 1))
    nodes: tuple[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, int]], ...] = (
        ("Constant", (), ("part",), {"value_int": part}),
        ("Constant", (), ("place",), {"value_int": place}),
        ("Constant", (), ("gone",), {"value_int": gone}),
        ("SplitToSequence", reads, ("p",), {"axis": axis, "keepdims": keep}),
        ("SequenceInsert", ("p", "b", "place"), ("q",), {}),
        ("SequenceErase", ("q", "gone"), ("s",), {}),
    )
    return CaseGraph({"a": Fed(dims), "b": Fed(tuple(int(each) for each in own))}, (), nodes), count


@draws("sequence-at-as-tensor")
def sequence_at_as_tensor(rng: np.random.Generator) -> RuleCase:
    before, count = sequence(rng, alike=False)
    place = ConstInput(np.array(rng.integers(-count, count)))
    return RuleCase("SequenceAt", (MadeInput("s"), place), before=before)


@draws("sequence-length-as-constant")
def sequence_length_as_constant(rng: np.random.Generator) -> RuleCase:
    before, _ = sequence(rng, alike=False)
    return RuleCase("SequenceLength", (MadeInput("s"),), before=before)


@draws("concat-from-sequence-as-concat")
def concat_from_sequence_as_concat(rng: np.random.Generator) -> RuleCase:
    before, _ = sequence(rng, alike=True)
    new = int(rng.integers(2))
    rank = len(before.inputs["b"].dims)
    axis = int(rng.integers(-rank - new, rank + new))
    attributes = {"axis": axis, "new_axis": new}
    return RuleCase("ConcatFromSequence", (MadeInput("s"),), attributes, before=before)


@draws("optional-get-as-value")
def optional_get_as_value(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 4, int(rng.integers(3))))
    before = CaseGraph({"a": Fed(dims)}, (), (("Optional", ("a",), ("o",), {}),))
    return RuleCase("OptionalGetElement", (MadeInput("o"),), opset=15, before=before)


@draws("optional-has-as-constant")
def optional_has_as_constant(rng: np.random.Generator) -> RuleCase:
    case = optional_get_as_value(rng)
    return RuleCase("OptionalHasElement", case.inputs, opset=15, before=case.before)
