"""Data to `OpSpec`: msgspec validates it by the structs, and faults are put into plain words.

msgspec stops at the first fault, so a document with faults is validated part by part:
one fault is reported for each row, and every unknown key. msgspec names the path of a
fault; the help line lists the keys or values that the struct allows there, read from the
struct itself.
"""

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import inspect

from atc_py.diag import AtcError, Diagnostic
from atc_py.spec.document import DataPath, Document, place_order, spec_error
from atc_py.spec.model import OpSpec
from atc_py.system.structs import ready_for_threads
from atc_py.text import Text, verbatim

ready_for_threads(OpSpec)

_AT = re.compile(r"^(.*?)(?: - at (`key` in )?`\$(.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[A-Za-z_@][A-Za-z0-9_]*)|\[(?P<index>[0-9]+)\]")
_IN_MAPPING = re.compile(r"^\.([A-Za-z_]+)(?:\[\.\.\.\])?")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(.*)`$", re.DOTALL)
_INVALID = re.compile(r"^Invalid (?:enum )?value '?(.*?)'?$", re.DOTALL)


class _Message(NamedTuple):
    """Message of msgspec: the fault, its path, and whether it is about that path's key."""

    what: str
    where: str = ""
    key: bool = False


_WORDS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.StrType: "text",
    inspect.NoneType: "",
    inspect.AnyType: "anything",
}


def convert(document: Document) -> OpSpec:
    """The specification that the document holds; BAD_SPEC for what the structs do not have."""
    try:
        return msgspec.convert(document.data, OpSpec)
    except msgspec.ValidationError as error:
        faults = list(_faults(document)) or [_diagnostic_of(document, _message(error))]
        raise AtcError(*sorted(faults, key=place_order)) from error


def _faults(document: Document) -> Iterator[Diagnostic]:
    data = document.data
    if not isinstance(data, dict):
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(OpSpec)}
    unknown = data.keys() - fields.keys()
    for name in unknown:
        yield _diagnostic_of(document, _Message(f"Object contains unknown field `{name}`"))
    for name, field in fields.items():
        if name not in data and field.required and not unknown:
            yield _diagnostic_of(document, _Message(f"Object missing required field `{name}`"))
    for name in data.keys() & fields.keys():
        yield from _faults_of_part(document, f".{name}", data[name], fields[name].type)


def _faults_of_part(document: Document, path: str, value: Any, type_: Any) -> Iterator[Diagnostic]:
    kind = inspect.type_info(type_)
    if isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        (item_type, _) = get_args(type_)
        for position, item in enumerate(value):
            yield from _faults_of_row(document, f"{path}[{position}]", item, item_type)
        return
    yield from _faults_of_row(document, path, value, type_)


def _faults_of_row(document: Document, path: str, value: Any, type_: Any) -> Iterator[Diagnostic]:
    """Yield the unknown keys of the value at `path`, and its first other fault.

    Beside an unknown key, which may be a misspelled one, no key is reported as missing.
    """
    misspelled = False
    while (message := _refusal(value, type_)) is not None:
        what, where, key = message
        if misspelled and not where and _MISSING.match(what):
            return
        yield _diagnostic_of(
            document, _Message(what, path + _failing_path(message, value, type_), key)
        )
        unknown = _UNKNOWN.match(what)
        if unknown is None or where or unknown[1] not in value:
            return
        misspelled = True
        value = {key: item for key, item in value.items() if key != unknown[1]}


def _refusal(value: Any, type_: Any) -> _Message | None:
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        return _message(error)
    return None


def _message(error: msgspec.ValidationError) -> _Message:
    match = _AT.match(str(error))
    return _Message(match[1], match[3] or "", match[2] is not None) if match else _Message("")


def _failing_path(message: _Message, value: Any, type_: Any) -> str:
    """The path of a message about `value`, with the failing key for msgspec's `[...]`.

    That stands for any key of a free mapping, and no key at all is said where a key is at fault.
    The key is the one with which alone the mapping is refused in the same way.
    """
    match = _IN_MAPPING.match(message.where)
    if match is None or not (message.key or match[0].endswith("]")):
        return message.where
    for key, item in value[match[1]].items():
        if _refusal({**value, match[1]: {key: item}}, type_) == message:
            return f".{match[1]}.{key}{message.where[match.end() :]}"
    return message.where


def _diagnostic_of(document: Document, message: _Message) -> Diagnostic:
    what = message.what
    # `.inputs[0].name` in steps
    steps = _STEP.finditer(message.where)
    path: DataPath = tuple(step["key"] or int(step["index"]) for step in steps)
    allowed = _allowed_values(path, document.data)
    label = f"{_path_text(path)}: " if path else ""
    mark = document.mark(path, key=message.key)
    if unknown := _UNKNOWN.match(what):
        mark = document.mark((*path, unknown[1]), key=True)
        what = Text("unknown key {unknown}", unknown=repr(unknown[1]))
    elif missing := _MISSING.match(what):
        what = Text("key {missing} is missing", missing=repr(missing[1]))
    else:
        what = _in_words(what, reduce(_step, path, document.data))
    return spec_error(document.file, mark, verbatim(label) + Text(what), allowed).diagnostics[0]


def _in_words(what: str, value: Any) -> str:
    """A message of msgspec about `value`, in YAML terms."""
    if invalid := _INVALID.match(what):
        what = Text("unknown value {invalid}", invalid=repr(invalid[1]))
    if "matching regex" in what:
        what = Text("{value} has the wrong form", value=repr(value))
    return what[0].lower() + what[1:].replace("`array`", "list").replace("`object`", "mapping")


def _step(data: Any, step: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(step)
    return data[step] if isinstance(data, list) and isinstance(step, int) else None


def _path_text(path: DataPath) -> str:
    """`inputs[0].name`."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).lstrip(".")


def _allowed_values(path: DataPath, data: Any) -> Text:
    kinds: list[inspect.Type] = [inspect.type_info(OpSpec)]
    for step in path:
        tags = [
            str(k.tag) for k in kinds if isinstance(k, inspect.StructType) and k.tag_field == step
        ]
        if tags:
            return Text("allowed values: {tags}", tags=", ".join(tags))
        kinds = _types_at_step(kinds, step, data)
        data = _step(data, step)
    structs = [kind for kind in _tagged_kinds(kinds, data) if isinstance(kind, inspect.StructType)]
    if structs:
        return Text("allowed keys: {keys}", keys=", ".join(_keys(structs)))
    return Text(
        "allowed here: {filter}", filter=Text(" or ").join(filter(None, map(_words, kinds)))
    )


def _types_at_step(kinds: list[inspect.Type], step: str | int, data: Any) -> list[inspect.Type]:
    inner: list[inspect.Type] = []
    for kind in _tagged_kinds(kinds, data):
        if isinstance(kind, inspect.StructType):
            inner += [field.type for field in kind.fields if field.encode_name == step]
        elif isinstance(kind, inspect.DictType):
            inner.append(kind.value_type)
        elif isinstance(kind, inspect.VarTupleType):
            inner.append(kind.item_type)
        elif isinstance(kind, inspect.TupleType) and isinstance(step, int):
            inner += kind.item_types[step : step + 1]
    return _flattened_kinds(inner)


def _flattened_kinds(kinds: list[inspect.Type]) -> list[inspect.Type]:
    flat: list[inspect.Type] = []
    for kind in kinds:
        flat += kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return flat


def _tagged_kinds(kinds: list[inspect.Type], data: Any) -> list[inspect.Type]:
    """Those of `kinds` that the tag in `data` chooses; all of them where there is no tag."""
    chosen: list[inspect.Type] = [
        kind
        for kind in kinds
        if isinstance(kind, inspect.StructType)
        and kind.tag_field is not None
        and isinstance(data, dict)
        and data.get(kind.tag_field) == kind.tag
    ]
    return chosen or kinds


def _keys(structs: list[inspect.StructType]) -> list[str]:
    """The keys of the structs, each once, without those that the loader fills in."""
    keys: dict[str, None] = {}
    for struct in structs:
        names = [struct.tag_field or "", *(field.encode_name for field in struct.fields)]
        keys.update(dict.fromkeys(name for name in names if name and name[0] != "@"))
    return list(keys)


def _words(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.EnumType):
        return " | ".join(str(member.value) for member in kind.cls)
    if isinstance(kind, inspect.StrType) and kind.pattern:
        return f"text like {kind.pattern}"
    if isinstance(kind, inspect.VarTupleType):
        return f"list of ({_union_words(kind.item_type)})"
    if isinstance(kind, inspect.TupleType):
        return f"list of {len(kind.item_types)}: ({_union_words(kind.item_types[0])})"
    return _WORDS.get(type(kind), "a mapping")


def _union_words(kind: inspect.Type) -> str:
    return " or ".join(filter(None, map(_words, _flattened_kinds([kind]))))
