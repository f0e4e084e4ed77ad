"""The rules that fix a model, as a value that no later stage changes."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from atc_py.diag import BAD_OPTION
from atc_py.options.option import Option
from atc_py.system.structs import Result
from atc_py.text import Text


def bound_values(given: Iterable[str]) -> dict[str, float]:
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


def range_options(names: Iterable[str]) -> tuple[str, ...]:
    """The options that bound inputs, such as `--range ids=LOW:HIGH`, without numbers."""
    return tuple(f"--range {name}=LOW:HIGH" for name in names)


EVERY_INPUT = "*"
"""The name of bounds for all integer inputs that have none of their own."""


def value_ranges(given: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The bounds of each named input; those without a name are for every input."""
    found: dict[str, tuple[int, int]] = {}
    for text in given:
        name, _, bounds = text.rpartition("=")
        name = name or EVERY_INPUT
        low, colon, high = bounds.partition(":")
        whole = all(each.lstrip("+-").isdigit() for each in (low, high))
        if not colon or not whole or name in found:
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


def _bind_keyword(given: Any) -> dict[str, float]:
    """`bind` of the Python interface: a mapping, or texts as the command line has them."""
    return dict(given) if isinstance(given, Mapping) else bound_values(_texts(given))


def _ranges_keyword(given: Any) -> dict[str, tuple[int, int]]:
    """`ranges` of the Python interface: a mapping of pairs, or texts as the command line has them."""
    if not isinstance(given, Mapping):
        return value_ranges(_texts(given))
    return value_ranges(f"{name}={_bounds(bounds)}" for name, bounds in given.items())


def _bounds(given: Any) -> str:
    return given if isinstance(given, str) else ":".join(map(str, given))


def _texts(given: Any) -> Iterable[str]:
    return (given,) if isinstance(given, str) else map(str, given)


class FixRules(Result, frozen=True):
    """The rules that fix a model, and what they may assume, as `convert` and `fix_model` take them."""

    only: Annotated[frozenset[str], Option(
        "--only", "Apply this rule; may be repeated.", metavar="RULE",
        doc="names of the rules that may apply; empty, the default, for all.",
    )] = frozenset()  # fmt: skip
    skip: Annotated[frozenset[str], Option(
        "--skip", "Leave this rule out; may be repeated.", metavar="RULE",
        doc="names of rules that do not apply.",
    )] = frozenset()  # fmt: skip
    approximate: Annotated[bool, Option(
        "--allow-approximate", "Also apply rules whose error has no bound.",
    )] = False  # fmt: skip
    bind: Annotated[Mapping[str, float], Option(
        "--bind", "Turn an input into a constant of this value; may be repeated.", metavar="NAME=VALUE",
        read=bound_values, parse=_bind_keyword,
        doc="values of inputs that become constants, by name; every element gets the value.",
    )] = msgspec.field(default_factory=dict)  # fmt: skip
    ranges: Annotated[Mapping[str, tuple[int, int]], Option(
        "--range",
        "Bounds of an integer input, both inclusive; without a name, of all integer "
        "inputs. May be repeated.",
        metavar="[NAME=]LOW:HIGH", read=value_ranges, parse=_ranges_keyword,
        doc="bounds of integer inputs, both included, by name; `*` is every other input.",
    )] = msgspec.field(default_factory=dict)  # fmt: skip
    for_precision: Annotated[bool | None, Option(
        "--for-precision/--no-for-precision",
        "Also rewrite listed nodes that overflow or lose accuracy in float16; the default "
        "where the precision mode is force_fp16.",
        doc="replace listed nodes that overflow or lose accuracy in float16, too; None, the "
        "default, for that in precision mode force_fp16 alone.",
    )] = None  # fmt: skip
    for_cann: Annotated[bool, Option(
        "--for",
        "Also rewrite nodes that the CANN release of --cann refuses or computes differently "
        "from ONNX.", values={"cann": True},
        doc="replace nodes, too, that the release `cann` of CANN computes otherwise than ONNX, "
        "or that its parser refuses; False by default.",
    )] = False  # fmt: skip
    all_findings: Annotated[bool, Option("--all", "Also remove findings of level rewrite.")] = False
