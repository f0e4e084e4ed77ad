"""Forms: functions that draft a node whose geometry nearly fits, by operator, and what they share."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from tests.fuzz.drafts import Draft


class Drafting(Protocol):
    """Puts a node of an operator into a draft."""

    def __call__(self, draft: Draft, op: str) -> None:
        """Draft the node."""


FORMS: dict[str, Callable[[Draft], None]] = {}
NEWER_FORMS: dict[str, Callable[[Draft], None]] = {}
"""Forms beside the others, of newer lists and opsets alone."""

FLOATS = (*["float32"] * 6, "float16", "float16", "float64", "bfloat16")
ANY = (*FLOATS, "int32", "int64", "int8", "uint8", "bool")


def form(*operators: str) -> Callable[[Drafting], Drafting]:
    """Register the function that drafts nodes of some operators, which it takes by name."""
    return _registering(FORMS, operators)


def newer_form(*operators: str) -> Callable[[Drafting], Drafting]:
    """Register the function that drafts nodes in forms of newer lists and opsets."""
    return _registering(NEWER_FORMS, operators)


def _registering(
    forms: dict[str, Callable[[Draft], None]], operators: Sequence[str]
) -> Callable[[Drafting], Drafting]:
    """Return the decorator that puts a function into `forms` for some operators."""

    def register(function: Drafting) -> Drafting:
        for operator in operators:
            assert operator not in forms, operator
            forms[operator] = partial(function, op=operator)
        return function

    return register


def any_shape(draft: Draft, rank: int | None = None, least: int = 1) -> list[int]:
    """Return a small shape."""
    rank = draft.rng.choice((1, 2, 3, 3, 4, 4, 5)) if rank is None else rank
    return [draft.rng.choice((least, 1, 2, 3, 4, 5, 7)) for _ in range(rank)]


def near(draft: Draft, number: int, least: int = 0) -> int:
    """Return a number, now and then one that is off by little."""
    off = draft.rng.choice((0, 0, 0, 0, 0, 0, 0, 0, -1, 1))
    return max(least, number + off)


def any_axis(draft: Draft, rank: int) -> int:
    """Return an axis, now and then one out of range."""
    if draft.rng.random() < 0.05:
        return draft.rng.choice((rank, -rank - 1))
    return draft.rng.randrange(-rank, rank) if rank else 0


def maybe(draft: Draft, share: float, value: Any) -> Any:
    """Return a value or, as often as not, None."""
    return value if draft.rng.random() < share else None


def like(draft: Draft, shape: Sequence[int]) -> list[int]:
    """Return a shape that broadcasts against another, mostly."""
    rng = draft.rng
    kept = [dim if rng.random() < 0.7 else 1 for dim in shape]
    kept = kept[rng.choice((0, 0, 0, min(1, len(kept)))) :]
    return [near(draft, dim) if rng.random() < 0.1 else dim for dim in kept]
