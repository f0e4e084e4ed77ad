"""Values that inputs are bound to, from `NAME=VALUE` texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.codes import BAD_OPTION

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["bound_values"]


def bound_values(given: Iterable[str]) -> dict[str, float]:
    """Return the value of each named input.

    Raises:
        AtcError: BAD_OPTION for a text of another form, and for an input that is named twice.
    """
    found: dict[str, float] = {}
    for text in given:
        name, separator, value = text.rpartition("=")
        if not separator or not name or name in found:
            raise BAD_OPTION.error(f"--bind {text!r} is not NAME=VALUE", help="--bind sr=16000")
        try:
            found[name] = int(value) if value.lstrip("+-").isdigit() else float(value)
        except ValueError:
            raise BAD_OPTION.error(
                f"--bind {text!r} has no number after `=`", help="--bind sr=16000"
            ) from None
    return found
