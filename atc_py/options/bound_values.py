"""Values and bounds of inputs, from `NAME=VALUE` and `NAME=LOW:HIGH` texts."""

from collections.abc import Iterable, Mapping

from atc_py.diag.codes import BAD_OPTION
from atc_py.text import Text


def bound_values(given: Iterable[str]) -> dict[str, float]:
    """The value of each named input.

    Raises:
        AtcError: BAD_OPTION for a text of another form, and for an input that is named twice.
    """
    found: dict[str, float] = {}
    for text in given:
        name, separator, value = text.rpartition("=")
        if not separator or not name or name in found:
            raise BAD_OPTION.error(
                Text("--bind {text} is not NAME=VALUE", text=repr(text)),
                help=Text("--bind sr=16000"),
            )
        try:
            found[name] = int(value) if value.lstrip("+-").isdigit() else float(value)
        except ValueError:
            raise BAD_OPTION.error(
                Text("--bind {text} has no number after `=`", text=repr(text)),
                help=Text("--bind sr=16000"),
            ) from None
    return found


def bind_options(values: Mapping[str, float]) -> tuple[str, ...]:
    """The options that bind inputs, such as `--bind sr=16000`."""
    return tuple(f"--bind {name}={value:.15g}" for name, value in values.items())


def value_ranges(given: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The bounds of each named input.

    Raises:
        AtcError: BAD_OPTION for a text of another form, and for an input that is named twice.
    """
    found: dict[str, tuple[int, int]] = {}
    for text in given:
        name, separator, bounds = text.rpartition("=")
        low, colon, high = bounds.partition(":")
        whole = all(each.lstrip("+-").isdigit() for each in (low, high))
        if not separator or not name or not colon or not whole or name in found:
            raise BAD_OPTION.error(
                Text("--range {text} is not NAME=LOW:HIGH", text=repr(text)),
                help=Text("--range ids=0:30521"),
            )
        if int(low) > int(high):
            raise BAD_OPTION.error(
                Text("--range {text} has no value", text=repr(text)),
                help=Text("--range ids=0:30521"),
            )
        found[name] = int(low), int(high)
    return found
