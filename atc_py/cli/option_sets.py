"""Options that commands take together."""

from collections.abc import Callable

from click.decorators import FC


def option_set(*options: Callable[[FC], FC]) -> Callable[[FC], FC]:
    """A decorator that adds options, in this order, to those of a command."""

    def add(command: FC) -> FC:
        for option in reversed(options):
            command = option(command)
        return command

    return add
