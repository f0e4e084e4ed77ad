"""YAML text to documents: the parser's events, of which a small subset is taken."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

from atc_py.diag import AtcError
from atc_py.spec.document import MAX_BYTES, DataPath, Document, Mark, spec_error
from atc_py.text import Text

_MAX_DEPTH = 12
_MAX_DIGITS = 24
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?|[-+]?\.inf")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BOOLS = {"true": True, "false": False}
_EMPTY = {"", "~", "null"}


def read_document(text: str, file: str) -> Document:
    """The data of one YAML document; BAD_SPEC for whatever is not in the subset."""
    if len(text) > MAX_BYTES:
        message = Text(
            "a specification has at most {max_bytes} characters, found {count}",
            max_bytes=MAX_BYTES,
            count=len(text),
        )
        raise spec_error(file, Mark(1, 1), message, Text("write one operator per file"))
    match = _UNPRINTABLE.search(text)
    if match is not None:
        before = text[: match.start()]
        mark = Mark(before.count("\n") + 1, match.start() - before.rfind("\n"))
        message = Text("character U+{ord} is not allowed in YAML", ord=f"{ord(match.group()):04X}")
        raise spec_error(file, mark, message, Text("delete the character; files are UTF-8 text"))
    return _Reader(text, file).read()


class _Reader:
    """Builds a document from the parser's events, which still show anchors and tags."""

    def __init__(self, text: str, file: str) -> None:
        self._document = Document(file)
        self._text = text
        self._events: Iterator[yaml.Event] = iter(yaml.parse(text, Loader=_LOADER))

    def read(self) -> Document:
        self._next_event()
        event = self._next_event()
        if not isinstance(event, yaml.DocumentStartEvent):
            raise self._error(
                Mark(1, 1), Text("the file is empty"), Text("it must be a mapping: op, opsets")
            )
        self._document.data = self._value(self._next_event(), ())
        self._next_event()
        event = self._next_event()
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._fault(
                event, Text("a second document starts here"), Text("write one operator per file")
            )
        return self._document

    def _next_event(self) -> yaml.Event:
        try:
            return next(self._events)
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            self._refuse_depth(self._text[: at.index] if at is not None else "")
            mark = Mark(at.line + 1, at.column + 1) if at is not None else Mark(1, 1)
            message = ", ".join(part for part in (error.context, error.problem) if part)
            raise self._error(
                mark, Text("not YAML: {message}", message=message), Text("correct the YAML here")
            ) from error
        except yaml.YAMLError as error:
            message = Text("not YAML: {message}", message=str(error).replace("\n", " "))
            raise self._error(Mark(1, 1), message, Text("files are UTF-8 text")) from error

    def _value(self, event: yaml.Event, path: DataPath) -> Any:
        self._refuse_references(event)
        self._document.values[path] = _mark(event)
        if len(path) > _MAX_DEPTH:
            raise self._too_deep(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := self._next_event(), yaml.SequenceEndEvent):
                items.append(self._value(event, (*path, len(items))))
            return items
        return self._scalar(event)

    def _mapping(self, path: DataPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := self._next_event(), yaml.MappingEndEvent):
            self._refuse_references(event)
            if not isinstance(event, yaml.ScalarEvent) or not _NAME.fullmatch(event.value):
                help_ = Text("keys are names of letters, digits and underscores")
                raise self._fault(event, Text("this key is not a name"), help_)
            key = str(event.value)
            inner = (*path, key)
            if key in mapping:
                first = self._document.keys[inner]
                message = Text(
                    "key {key} occurs here and in line {line}", key=repr(key), line=first.line
                )
                raise self._fault(event, message, Text("keep one of the two"))
            self._document.keys[inner] = _mark(event)
            mapping[key] = self._value(self._next_event(), inner)
        return mapping

    def _scalar(self, event: Any) -> bool | int | float | str:
        text = str(event.value)
        if _UNPRINTABLE.search(text):
            help_ = Text("write the text without escapes of control characters")
            raise self._fault(event, Text("the text has a character that is not printable"), help_)
        if event.style is not None and event.style != "":
            return text  # quoted or a block: text, whatever it looks like
        if text.lower() in _EMPTY:
            raise self._fault(
                event, Text("the value is empty"), Text("write a value, or delete the key")
            )
        if text in _BOOLS:
            return _BOOLS[text]
        if not _NUMBER.fullmatch(text):
            return text
        if len(text) > _MAX_DIGITS:
            raise self._fault(
                event, Text("the number has too many digits"), Text("write a shorter number")
            )
        return int(text) if _INT.fullmatch(text) else float(text.replace(".inf", "inf"))

    def _refuse_references(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._fault(
                event,
                Text("alias *{anchor} is refused", anchor=event.anchor),
                Text("write the value out"),
            )
        if event.anchor is not None:
            raise self._fault(
                event,
                Text("anchor &{anchor} is refused", anchor=event.anchor),
                Text("delete the anchor"),
            )
        if event.tag is not None:
            raise self._fault(
                event, Text("tag {tag} is refused", tag=event.tag), Text("delete the tag")
            )

    def _refuse_depth(self, before: str) -> None:
        """Refuse nesting in the text before a parser's error.

        Parsers read ahead of the events that they give, up to a kilobyte, and have limits of their
        own; what they meet there comes after the place from which this reader refuses depth.
        """
        depth = 0
        with suppress(yaml.YAMLError):
            for event in yaml.parse(before, Loader=_LOADER):
                if isinstance(event, yaml.CollectionEndEvent):
                    depth -= 1
                elif isinstance(event, yaml.NodeEvent):
                    if depth > _MAX_DEPTH:
                        raise self._too_deep(event)
                    depth += isinstance(event, yaml.CollectionStartEvent)

    def _too_deep(self, event: yaml.Event) -> AtcError:
        return self._fault(
            event,
            Text("nested deeper than {max_depth}", max_depth=_MAX_DEPTH),
            Text("write it flatter"),
        )

    def _fault(self, event: yaml.Event, message: Text, help_: Text) -> AtcError:
        return self._error(_mark(event), message, help_)

    def _error(self, mark: Mark, message: Text, help_: Text) -> AtcError:
        return spec_error(self._document.file, mark, message, help_)


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)
