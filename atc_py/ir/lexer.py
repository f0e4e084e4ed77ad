"""Lexer of the text form: tokens one at a time, each with its offset, and errors with a place."""

import json
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from atc_py.diag import BAD_IR_TEXT, AtcError, Place
from atc_py.ir.printer import BARE_NAME, STRING, WORD
from atc_py.text import Text

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
        """The text that `quoted`, a part of `token`, stands for; quotes are optional."""
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
