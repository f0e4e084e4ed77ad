"""The gear of a run or a report that the user names, by its position or by its numbers."""

from collections.abc import Mapping

from atc_py.diag import BAD_OPTION, NO_SUCH_GEAR, OPTIONS_EXCLUDE
from atc_py.options.gears import GearKind, Gears
from atc_py.system.structs import Result
from atc_py.text import Text

_DIGITS = 10
"""Digits of the numbers of gears."""


class NamedGear(Result, frozen=True):
    """A gear that the user named, by its position or by its numbers.

    Attributes:
        option: the option that names it.
        kind: what its numbers decide; None for a position.
        values: its numbers, or its position.
    """

    option: str
    kind: GearKind | None
    values: tuple[int, ...]

    def position_in(self, gears: Gears | None) -> int:
        """The position of the gear.

        Raises:
            AtcError: NO_SUCH_GEAR for a model without gears, with gears of another kind, or without
                this one.
        """
        if gears is None:
            raise NO_SUCH_GEAR.error(
                Text(
                    "{option} names a gear, but the offline model has a single shape",
                    option=self.option,
                ),
                help=Text("leave the option out"),
            )
        if self.kind is None:
            position = self.values[0]
            if position not in range(len(gears.gears)):
                last = len(gears.gears) - 1
                raise gears.refusal(
                    Text(
                        "{option} {position} is beyond the last gear, {last}",
                        option=self.option,
                        position=position,
                        last=last,
                    )
                )
            return position
        if self.kind is not gears.kind:
            raise NO_SUCH_GEAR.error(
                Text(
                    "{option} names a gear of kind {kind}, but the gears of the offline model "
                    "are of kind {kind_2}",
                    option=self.option,
                    kind=self.kind.value,
                    kind_2=gears.kind.value,
                ),
                help=Text(
                    "use {run_option}, or --gear with the gear's position",
                    run_option=gears.kind.run_option,
                ),
            )
        return gears.of_values(self.values, self.option)


def parse_named_gear(position: int | None, given: Mapping[GearKind, str]) -> NamedGear | None:
    """The gear that one of four options names; None if none does.

    Raises:
        AtcError: OPTIONS_EXCLUDE where several do; BAD_OPTION for numbers that cannot be read.
    """
    texts = [(kind, text) for kind, text in given.items() if text]
    options = ["--gear"] * (position is not None) + [kind.run_option for kind, _ in texts]
    if len(options) > 1:
        raise OPTIONS_EXCLUDE.error(
            Text("{options} both name a gear", options=" and ".join(options)), help=Text("give one")
        )
    if position is not None:
        return NamedGear("--gear", None, (position,))
    if not texts:
        return None
    ((kind, text),) = texts
    numbers = [part.strip() for part in text.split(",")]
    if not all(each.isascii() and each.isdigit() and len(each) <= _DIGITS for each in numbers):
        raise BAD_OPTION.error(
            Text(
                "{run_option} {text} does not name a gear",
                run_option=kind.run_option,
                text=repr(text),
            ),
            help=Text("give its numbers, such as {run_option} 320,320", run_option=kind.run_option),
        )
    return NamedGear(kind.run_option, kind, tuple(map(int, numbers)))
