"""Topological order that keeps the given order where it can, and the order of launches."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class CycleError(ValueError, Generic[T]):
    """Items need each other in a circle; `item` is one of them."""

    def __init__(self, item: T) -> None:
        super().__init__(f"cycle through {item!r}")
        self.item = item


def producers_first(items: Iterable[T], needs: Callable[[T], Iterable[T]]) -> list[T]:
    """`items`, and what they need, each once and after everything that it needs.

    Items keep their order where they can; one that comes too late moves to just before its first
    user. It does not recurse, so chains may be of any length.

    Args:
        items: hashable.
        needs: what must come before an item.

    Raises:
        CycleError: items need each other in a circle.
    """
    done: set[T] = set()
    ordered: list[T] = []
    for root in items:
        if root not in done:
            if done.issuperset(needs(root)):
                done.add(root)
                ordered.append(root)
            else:
                _place(root, needs, done, ordered)
    return ordered


def _place(root: T, needs: Callable[[T], Iterable[T]], done: set[T], ordered: list[T]) -> None:
    begun: set[T] = set()
    stack = [root]
    while stack:
        item = stack[-1]
        if item in done:
            stack.pop()
            continue
        missing = [need for need in needs(item) if need not in done]
        if not missing:
            done.add(item)
            ordered.append(stack.pop())
            continue
        if item in begun:
            raise CycleError(item)
        begun.add(item)
        stack.extend(reversed(missing))


class Scoped(Protocol):
    """A node with the number of its launch; 0 is a launch of its own."""

    @property
    def scope(self) -> int: ...


def launch_positions(nodes: Sequence[Scoped]) -> dict[int, list[int]]:
    """Group nodes by launch: those of one scope are one, which happens at its last node.

    It can only run once everything that its nodes read has been computed, and the last of them stands
    after all producers. The placement proof and the simulator derive it on their own, so that they
    can find a mistake here.

    Returns:
        The position of each launch's last node, ascending, with the positions of all its nodes in
        order. Views are among them: a launch of nothing but views launches nothing.
    """
    ends = {node.scope: position for position, node in enumerate(nodes) if node.scope}
    launches: dict[int, list[int]] = {}
    for position, node in enumerate(nodes):
        launches.setdefault(ends.get(node.scope, position), []).append(position)
    return dict(sorted(launches.items()))
