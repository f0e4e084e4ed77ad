"""Options that commands take together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.decorators import FC

__all__ = ["option_set"]


def option_set(*options: Callable[[FC], FC]) -> Callable[[FC], FC]:
    """Return a decorator that adds options, in this order, to those of a command."""

    def add(command: FC) -> FC:
        for option in reversed(options):
            command = option(command)
        return command

    return add
