"""Tokens of the text form, each with its offset, and the literals that they make.

Literals are dtypes, numbers, values of attributes and data of constants; errors have a place.
"""

import json
import math
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from atc_py.diag import BAD_IR_TEXT, AtcError, Place
from atc_py.ir.constants import DenseConst, OpaqueConst, SplatConst
from atc_py.ir.nodes import AttrValue
from atc_py.ir.printer import BARE_NAME, STRING, WORD, array_of, integer_range
from atc_py.ir.types import TensorType
from atc_py.tensor.const_data import ConstData
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.shapes import element_count
from atc_py.text import Text, error_text

# Every alternative starts at another character and the last two take whatever is left, so the
# expression never fails after blanks and comments and never tries to divide them differently.
_TOKEN = re.compile(
    rf"""(?:[ \t\r\n]|\#[^\n]*)*(?:
        (?P<value>%(?:{BARE_NAME}|{STRING}))
      | (?P<label>@(?:{BARE_NAME}|{STRING}))
      | (?P<string>{STRING})
      | (?P<number>-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|-inf\b)
      | (?P<word>{WORD})
      | (?P<mark>[{{}}()\[\],:=?])
      | (?P<end>\Z)
      | (?P<unknown>.)
    )""",
    re.VERBOSE | re.DOTALL,
)

_Item = TypeVar("_Item")

_LONGEST_QUOTE = 40
"""Messages quote at most this many characters of a token."""


class Token(NamedTuple):
    """A token."""

    kind: str  # value (`%x`), label (`@x`), string, number, word, mark, end or unknown
    text: str  # as written in the source
    offset: int  # of its first character

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        if self.text == '"':
            return "an unterminated string"
        cut = self.text if len(self.text) <= _LONGEST_QUOTE else f"{self.text[:_LONGEST_QUOTE]}..."
        return f"`{cut}`"


class Cursor:
    """A place in the text.

    Attributes:
        token: the token there, not yet taken.
    """

    def __init__(self, text: str, file: str | None) -> None:
        self._text = text
        self._file = file
        self._next = 0
        self.token = self._scan()

    def _scan(self) -> Token:
        match = _TOKEN.match(self._text, self._next)
        if match is None or match.lastgroup is None:
            return Token("end", "", len(self._text))
        self._next = match.end()
        kind = match.lastgroup
        return Token(kind, match.group(kind), match.start(kind))

    def take(self) -> Token:
        token = self.token
        self.token = self._scan()
        return token

    def accept(self, text: str) -> bool:
        """Take the current token if it is the mark or keyword `text`."""
        found = self.token.text == text
        if found:
            self.take()
        return found

    def expect(self, text: str) -> Token:
        if self.token.text != text:
            raise self.expected(f"`{text}`")
        return self.take()

    def expect_kind(self, kind: str, what: str) -> Token:
        """Take a token of `kind`; `what` describes it for the message."""
        if self.token.kind != kind:
            raise self.expected(what)
        return self.take()

    def series(self, closing: str, item: Callable[[], _Item]) -> list[_Item]:
        """Items with commas between them up to the mark `closing`, which is taken, too."""
        items: list[_Item] = []
        while self.token.text != closing:
            if items:
                self.expect(",")
            items.append(item())
        self.expect(closing)
        return items

    def decode(self, token: Token, quoted: str) -> str:
        """The text that `quoted`, a part of `token`, stands for; quotes are optional.

        Raises:
            AtcError: BAD_IR_TEXT where it has quotes and is not a JSON string.
        """
        if not quoted.startswith('"'):
            return quoted
        try:
            text: str = json.loads(quoted)
        except ValueError:
            raise self.error(
                Text("expected a JSON string, found {token}", token=token), token
            ) from None
        return text

    def expected(self, what: str) -> AtcError:
        return self.error(
            Text("expected {expected}, found {line}", expected=what, line=self.token), self.token
        )

    def error(self, message: Text, token: Token, help: Text | None = None) -> AtcError:  # noqa: A002
        line = self._text.count("\n", 0, token.offset) + 1
        column = token.offset - self._text.rfind("\n", 0, token.offset)
        place = Place(file=self._file, line=line, column=column)
        return BAD_IR_TEXT.error(message, place=place, help=help)


_INTEGER = re.compile(r"-?[0-9]+")
_INT64 = integer_range(DType.INT64)
_BOOLS = {"true": True, "false": False}
_FLOATS = {"nan": math.nan, "inf": math.inf}

_MAX_DIGITS = 20
"""No integer of 64 bits is longer, sign included; longer ones are not even converted."""

_VALUE = "an attribute's value (a number, true, false, a string, a dtype or a list)"


def read_dtype(at: Cursor) -> DType:
    return _dtype(at, at.expect_kind("word", "a dtype"))


def read_integer(at: Cursor, what: str, limits: tuple[int, int] = _INT64) -> int:
    """The next number, an integer within `limits`."""
    if at.token.kind != "number" or not _INTEGER.fullmatch(at.token.text):
        raise at.expected(f"{what}, an integer")
    low, high = limits
    token = at.take()
    if len(token.text) > _MAX_DIGITS or not low <= int(token.text) <= high:
        raise at.error(
            Text(
                "{name} must be in [{least}, {most}], found {value}",
                name=what,
                least=low,
                most=high,
                value=token,
            ),
            token,
        )
    return int(token.text)


def read_attribute(at: Cursor) -> AttrValue:
    """The value of an attribute; its spelling says its type."""
    token = at.token
    if token.kind == "string":
        return at.decode(at.take(), token.text)
    if at.accept("["):
        return _number_list(at)
    if token.kind == "word" and token.text not in _FLOATS:
        at.take()
        return _BOOLS[token.text] if token.text in _BOOLS else _dtype(at, token)
    if token.kind not in {"number", "word"}:
        raise at.expected(_VALUE)
    return _number(at)


def read_data(at: Cursor, type_: TensorType) -> ConstData:
    if at.accept("splat"):
        return SplatConst(_element(at, type_.dtype), type_.dtype, type_.shape)
    if at.accept("opaque"):
        token = at.expect_kind("string", "a label in quotes")
        return OpaqueConst(type_.dtype, type_.shape, at.decode(token, token.text))
    if at.accept("dense"):
        return _dense_elements(at, type_)
    raise at.expected("`splat`, `dense` or `opaque`")


def _dense_elements(at: Cursor, type_: TensorType) -> DenseConst:
    opening = at.expect("[")
    elements = at.series("]", lambda: _element(at, type_.dtype))
    count = element_count(type_.shape)
    if count != len(elements):
        raise at.error(
            Text(
                "the number of elements of {type} is {count}, found {count_2}",
                type=type_,
                count=count,
                count_2=len(elements),
            ),
            opening,
        )
    try:
        array = array_of(elements, type_.dtype).reshape(type_.shape)
    except (ValueError, OverflowError):
        raise at.error(Text("no array can have the shape of {type}", type=type_), opening) from None
    return DenseConst(array)


def _element(at: Cursor, dtype: DType) -> float | bool:
    if dtype.is_integer:
        return read_integer(
            at, Text("an element of {dtype}", dtype=dtype.value), integer_range(dtype)
        )
    token = at.token
    if dtype is DType.BOOL:
        if token.text not in _BOOLS:
            raise at.expected("`true` or `false`")
        return _BOOLS[at.take().text]
    number = float(_number(at))
    if math.isfinite(number) and not math.isfinite(float(array_of([number], dtype)[0])):
        raise at.error(
            Text("{token} is out of range for {dtype}", token=token, dtype=dtype.value),
            token,
            Text("write inf"),
        )
    return number


def _number_list(at: Cursor) -> tuple[int, ...] | tuple[float, ...]:
    """The rest of a list after `[`: integers only, or floats only."""
    if at.accept("]"):
        return ()
    first = _number(at)
    if isinstance(first, int):
        integers = [first]
        while at.accept(","):
            integers.append(read_integer(at, Text("an element like the first")))
        at.expect("]")
        return tuple(integers)
    floats = [first]
    while at.accept(","):
        token, number = at.token, _number(at)
        if isinstance(number, int):
            raise at.error(
                Text("expected a float like the first element, found {token}", token=token),
                token,
                Text("write {text}.0", text=token.text),
            )
        floats.append(number)
    at.expect("]")
    return tuple(floats)


def _number(at: Cursor) -> int | float:
    """An integer, or a float: one with a point or an exponent, nan, inf or -inf."""
    token = at.token
    if token.kind == "word" and token.text in _FLOATS:
        return _FLOATS[at.take().text]
    if token.kind != "number":
        raise at.expected("a number")
    if _INTEGER.fullmatch(token.text):
        return read_integer(at, Text("an integer"))
    number = float(at.take().text)
    if math.isinf(number) and token.text != "-inf":
        raise at.error(
            Text("{token} is out of range for a float", token=token), token, Text("write inf")
        )
    return number


def _dtype(at: Cursor, token: Token) -> DType:
    try:
        return DType.parse(token.text)
    except UnknownDTypeError as error:
        raise at.error(error_text(error), token) from None
