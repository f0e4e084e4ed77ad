"""--input_shape, --input_shape_range and --input_hint_shape: their forms, checked as atc checks them."""

import re

from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import BAD_INPUT_SHAPE, NOT_MODELED, AtcError
from atc_py.text import Text

SAMPLE = '"input_name1:n1,c1,h1,w1"'
RANGE_SAMPLE = '"input_name1:[1~20,3,3~6,-1];input_name2:[5,3~5,10,-1]"'
RANGE_WARNINGS = (
    "WARNING: Option input_shape_range is deprecated; --input_shape takes ranges itself",
    "WARNING: Option input_shape cannot use with option input_shape_range; it is not used",
)
_LARGEST = 2**31 - 1
_FORM = Text('write --input_shape="name:1,3,224,224;other:1,8", a scalar as "name:"')
_RANGE = re.compile(r"\d+|\d+~\d+|-\d+")
_HINT = re.compile(r"\d+:\[\s*-?\d+(\s*,\s*-?\d+)*\s*\](;\d+:\[\s*-?\d+(\s*,\s*-?\d+)*\s*\])*")


def has_open_dims(flags: Flags) -> bool:
    """True if inputs have dims that a run decides: ranges or -1, without gears."""
    given = flags["input_shape_range"] or flags["input_shape"]
    return not flags.gears and ("~" in given or "-1" in given)


def input_shape_text(flags: Flags) -> str:
    """The shapes that the options give, in the form of --input_shape, after their checks."""
    if flags["input_shape_range"]:
        if flags.gears:
            raise _shape_error("E10009", help_=Text("give one of them"))
        return _from_range(flags["input_shape_range"])
    text = flags["input_shape"]
    if not text:
        return ""
    if flags.gears and "~" in text:
        raise _shape_error("E10040", help_=Text("write -1 where a gear decides"))
    entries = text.split(";")
    if len(entries) > 1 and not entries[-1].strip():
        del entries[-1]
    is_open = has_open_dims(flags)
    if is_open and ":" not in text:
        raise _by_position(text)
    return ";".join(
        _entry(each, text, is_open=is_open, gears=bool(flags.gears)) for each in entries
    )


def check_hint(flags: Flags) -> None:
    """Check the form of --input_hint_shape, which cannot stand beside gears."""
    hint = flags["input_hint_shape"]
    if not hint:
        return
    if flags.gears:
        reason = f"it cannot stand beside --{flags.gears[0]}"
        raise invalid_value("input_hint_shape", hint, reason)
    if _HINT.fullmatch(hint) is None:
        raise atc_error(
            "E10014", hint, "input_hint_shape", option="input_hint_shape",
            help=Text('write --input_hint_shape="0:[1,3,4,4];1:[1,8]", with the positions of inputs'),
        )  # fmt: skip


def _entry(entry: str, text: str, *, is_open: bool, gears: bool) -> str:
    name, colon, dims = (part.strip() for part in entry.rpartition(":"))
    if not colon or not name:
        raise _bad_form(text, f"{entry.strip()!r} has no name before its dims")
    if not dims:
        return f"{name}:"
    parts = [part.strip() for part in dims.split(",")]
    if is_open:
        return f"{name}:{','.join(_open_dim(part, text) for part in parts)}"
    for part in parts:
        _static_dim(part, text, gears=gears)
    return f"{name}:{','.join(parts)}"


def _open_dim(dim: str, text: str) -> str:
    """A dim where others are open: a number, a range, or -1 for any."""
    if dim.strip("0123456789~-"):
        raise _bad_form(text, f"{dim!r} has characters besides digits, `,`, `~` and `-`")
    if _RANGE.fullmatch(dim) is None:
        raise _bad_range(text, f"{dim!r} cannot be converted to a number or a range such as 1~8")
    return "-1" if dim.startswith("-") else dim


def _static_dim(dim: str, text: str, *, gears: bool) -> None:
    """Check a dim where none is open, but for the -1 of gears."""
    digits = dim.removeprefix("-")
    if "." in dim:
        raise _bad_form(text, Text("{dim} is not a whole number", dim=repr(dim)))
    if not (digits.isascii() and digits.isdigit()):
        raise _bad_form(text, f"{dim!r} is not a number")
    if len(digits.lstrip("0")) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise _shape_error("E10013", dim[:20], "input_shape")
    if int(dim) < 1 and not gears:
        raise _shape_error("E10011", text, dim)


def _from_range(text: str) -> str:
    if ":" not in text:
        raise _by_position(text)
    found = []
    for entry in text.split(";"):
        name, colon, value = (part.strip() for part in entry.rpartition(":"))
        if not colon or not name:
            raise _bad_range(text, f"{entry.strip()!r} has no name before its dims")
        brackets = value.count("[") == 1 == value.count("]")
        if not brackets or not (value.startswith("[") and value.endswith("]")):
            raise _bad_range(text, f"the dims of {name!r} must stand in one pair of brackets")
        inner = value[1:-1].strip()
        parts = [part.strip() for part in inner.split(",")] if inner else []
        for part in parts:
            if _RANGE.fullmatch(part) is None:
                raise _bad_range(
                    text, Text("{part} cannot be converted to a number or a range", part=repr(part))
                )
        found.append(f"{name}:{','.join('-1' if p.startswith('-') else p for p in parts)}")
    return ";".join(found)


def _by_position(text: str) -> AtcError:
    reason = f"shapes without names of inputs, {text!r}"
    return atc_error(
        "E10055", reason, code=NOT_MODELED, option="input_shape",
        help=Text("name the inputs: `atc-py check MODEL` shows them; ") + _FORM,
    )  # fmt: skip


def _bad_form(text: str, reason: str) -> AtcError:
    return _shape_error("E10002", text, reason, SAMPLE)


def _bad_range(text: str, reason: str) -> AtcError:
    return _shape_error("E10048", text, reason, RANGE_SAMPLE)


def _shape_error(code: str, *arguments: str, help_: Text = _FORM) -> AtcError:
    return atc_error(code, *arguments, code=BAD_INPUT_SHAPE, option="input_shape", help=help_)
