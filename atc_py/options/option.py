"""Fields of options structs as options of commands, of the Python interface and of `atc`.

The annotation of a field says all of it:
`verify: Annotated[bool, Option("--verify", "Check the graph after every pass.")] = False`.
Commands add it by `cli.options.options_of`, and a configuration file has what commands have;
`parse_options` reads its keyword, `keywords.py` names that for type checkers, and atc's table has its
spelling in ATC.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from atc_py.diag import BAD_OPTION, nearest
from atc_py.system.structs import replace
from atc_py.text import Text

MOST_RANDOM = 1_000_000
"""The most random samples; more are a slip."""

MOST_JOBS = 1024
"""The most processes."""

_K = TypeVar("_K", bound=msgspec.Struct)


class Option(msgspec.Struct, frozen=True):
    """An option of users that decides a field.

    Attributes:
        flags: spellings on the command line, joined by blanks; empty for none there.
        old: former spellings, joined by blanks, which commands take and the help leaves out.
        help: of commands.
        keyword: the name in Python; empty for the field's.
        atc: the name in ATC, which is a spelling on the command line, too.
        metavar: what stands for the value in the help.
        values: texts for it on command lines with the keyword's values, where there are few.
        numbers: the least and the largest number; None for no limit.
        parse: makes the field's value of the keyword's.
        read: makes the keyword's value of the texts of an option that may be repeated.
        default: what commands take where it is not given; by default the field's own.
        shown: the default in the help where that is not a choice: True, or what stands for it.
        reads: whether the value names a file whose contents the field holds.
        variable: of the environment, which has the value where it is not given.
        doc: what Python's documentation says of the keyword, where the help does not do.
        takes: the keyword's type as type checkers read it, where the field's does not do.
    """

    flags: str = ""
    help: str = ""
    old: str = ""
    keyword: str = ""
    atc: str = ""
    metavar: str | None = None
    values: Mapping[str, Any] | None = None
    numbers: tuple[int, int | None] | None = None
    parse: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None
    default: Any = msgspec.UNSET
    shown: str | bool = False
    reads: bool = False
    variable: str = ""
    doc: str = ""
    takes: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The spellings on the command line, that of ATC last, without former ones."""
        own = self.flags.split()
        return (*own, f"--{self.atc}") if own and self.atc else tuple(own)


class Joint(NamedTuple):
    """Mark of a field whose value several keywords decide together; `parse` takes all keywords."""

    parse: Callable[[Mapping[str, Any]], Any]


class OptionField(NamedTuple):
    """A field of an options struct.

    Attributes:
        type: what it holds, without None.
        default: its value where no option is given.
        options: those that decide it, by keyword; of a struct without options its own ones do.
        joint: makes its value of all keywords; None where its own one does.
    """

    name: str
    type: Any
    default: Any
    options: Mapping[str, Option]
    joint: Joint | None

    @property
    def parts(self) -> "type[msgspec.Struct] | None":
        """The struct that the field holds, if that has options of its own."""
        kind = self.type
        is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        return kind if is_struct and any(field.options for field in fields_of(kind)) else None


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[OptionField, ...]:
    """The fields of an options struct, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(info, hints[info.name]) for info in msgspec.structs.fields(kind))


def _field(info: Any, hint: Any) -> OptionField:
    marks = getattr(hint, "__metadata__", ())
    kind = get_args(hint)[0] if marks else hint
    if get_origin(kind) is UnionType:
        kind = next(part for part in get_args(kind) if part is not type(None))
    has_factory = info.default_factory is not msgspec.NODEFAULT
    default = info.default_factory() if has_factory else info.default
    options = {
        mark.keyword or info.name: mark if mark.keyword else replace(mark, keyword=info.name)
        for mark in marks
        if isinstance(mark, Option)
    }
    joint = next((mark for mark in marks if isinstance(mark, Joint)), None)
    return OptionField(info.name, kind, default, options, joint)


def options_in(kind: type[msgspec.Struct]) -> Iterator[tuple[OptionField, Option]]:
    """Yield the options of a struct and of structs that are parts of it, by their fields."""
    for field in fields_of(kind):
        for option in field.options.values():
            yield field, option
        if not field.options and field.parts is not None:
            yield from options_in(field.parts)


@cache
def keywords_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(option.keyword for _, option in options_in(kind))


def parse_options(function: str, kind: type[_K], keywords: Mapping[str, Any], **named: Any) -> _K:
    """The options struct that keywords say, which may have others; messages name the function.

    Raises:
        TypeError: a mapping of rules has an unknown key.
        AtcError: a value has no meaning, or is of a type that its keyword does not take.
    """
    given = {**keywords, **named}
    for field in fields_of(kind):
        # An option with a parser refuses values by itself.
        options = {name: option for name, option in field.options.items() if option.parse is None}
        _refuse_types(function, field, options, given)
    values: dict[str, Any] = {}
    for field in fields_of(kind):
        values |= _parsed(function, field, given)
    return kind(**values)


def _parsed(function: str, field: OptionField, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of a field by its name; none where no option is given."""
    try:
        return _made(function, field, given)
    except (AttributeError, TypeError):  # of a value that is of another type, for one
        _refuse_types(function, field, field.options, given)
        raise


def _made(function: str, field: OptionField, given: Mapping[str, Any]) -> dict[str, Any]:
    if field.joint is not None:
        return {field.name: field.joint.parse(given)}
    if not field.options:
        parts = field.parts
        return {} if parts is None else {field.name: parse_options(function, parts, given)}
    ((name, option),) = field.options.items()
    if name not in given and not option.variable:
        return {}
    return {field.name: _value(function, field, option, given.get(name))}


def keyword_type(field: OptionField, option: Option) -> str:
    """The type of a keyword, as source."""
    if option.takes:
        return option.takes
    kind = get_origin(field.type) or field.type
    if kind is Path:
        return "str | os.PathLike[str] | None"
    if kind in {frozenset, tuple}:
        return "Iterable[str]"
    name = str(field.type).removeprefix("collections.abc.") if kind is Mapping else kind.__name__
    return f"{name} | None" if field.default is None else name


_SCALARS: Mapping[type, frozenset[str]] = {
    bool: frozenset({"bool"}),
    int: frozenset({"int", "float"}),
    float: frozenset({"float"}),
    str: frozenset({"str"}),
}
"""Names of types that take a scalar of Python's, the narrower type first."""


def _refuse_types(
    function: str, field: OptionField, options: Mapping[str, Option], given: Mapping[str, Any]
) -> None:
    """Refuse scalars where others or none are taken; what is no scalar is refused only for these."""
    for name, option in options.items():
        value = given.get(name)
        if value is None:
            continue
        takes = keyword_type(field, option)
        names = {part.split("[")[0].strip() for part in takes.split("|")} - {"None"}
        fitting = next((own for kind, own in _SCALARS.items() if isinstance(value, kind)), None)
        unfit = names <= {"bool", "str"} if fitting is None else names.isdisjoint(fitting)
        if unfit:
            keyword, found = f"{function}({name}=...)", type(value).__name__
            text = Text("{keyword} takes {takes}, found {found}")
            raise BAD_OPTION.error(text.with_values(keyword=keyword, takes=takes, found=found))


def _value(function: str, field: OptionField, option: Option, given: Any) -> Any:
    if option.variable:
        return given or os.environ.get(option.variable) or field.default
    if option.parse is not None:
        return option.parse(given)
    if given is None or field.parts is None:
        return _converted(field.type, given)
    names = [option.keyword for _, option in options_in(field.parts)]
    reject_unknown(f"{function}({option.keyword}=...)", given, names)
    return parse_options(function, field.parts, given)


def _converted(kind: Any, given: Any) -> Any:
    if given is None:
        return None
    if kind is Path:
        return Path(given)
    whole = get_origin(kind)
    return whole(given) if whole in {frozenset, tuple} else given


def reject_unknown(function: str, given: Mapping[str, object], known: Any) -> None:
    """Refuse keywords that a function, or a TypedDict, does not have, as Python itself does."""
    names = list(getattr(known, "__annotations__", known))
    for name in sorted(given.keys() - set(names)):
        hint = "".join(
            Text(". Did you mean {item}?", item=repr(near)) for near in nearest(name, names, 1)
        )
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def optional_path(file: str | os.PathLike[str] | None) -> Path | None:
    return None if file is None else Path(file)
