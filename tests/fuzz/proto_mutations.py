"""Mutations of any protobuf message: fields cleared, repeated, exchanged, set to extremes."""

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import Message  # type: ignore[import-untyped]

_SMALL_INTS = (0, 1, -1, 2, 7, 63, 64, 255, 65536)
EXTREME_INTS = (*_SMALL_INTS, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
EXTREME_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan"))
HOSTILE_TEXTS = (
    "",
    "a\nb",
    "\x1b[2J\x1b[31mred",
    "nul\x00behind",
    "right\u202eto left",
    "a" * 5000,
    "../../etc/passwd",
    "*/ #include <x> /*\\",
    "</script><b>",
    "{{ 7 * 7 }}{% for x in y %}",
    "%s%n{0}",
    "\U0001f600 \u4e2d\u6587",
    '"quoted"; `tick` \'',
)
"""Names that break lines, terminals, comments, pages, templates and paths."""

_LARGE = 200
"""Of a repeated field only so many are walked: weights need no mutation one by one."""

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (0, 30),
}


def messages_of(message: Message) -> Iterator[Message]:
    """Yield `message` and all messages in it, as far as repeated fields are walked."""
    stack = [message]
    while stack:
        current = stack.pop()
        yield current
        for field, value in current.ListFields():
            if field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE:
                continue
            stack.extend(list(value[:_LARGE]) if _is_repeated(field) else [value])


def mutate_field(root: Message, rng: random.Random) -> None:
    """Change one field of one message in `root`."""
    messages = list(messages_of(root))
    message = rng.choice(messages)
    field = rng.choice(list(message.DESCRIPTOR.fields))
    if rng.random() < 0.7 and message.ListFields():
        field = rng.choice(message.ListFields())[0]
    if rng.random() < 0.15:
        message.ClearField(field.name)
    elif _is_repeated(field):
        _mutate_repeated(message, field, messages, rng)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        _exchange(getattr(message, field.name), messages, rng)
    else:
        setattr(message, field.name, extreme_value(field, rng))


def extreme_value(field: Any, rng: random.Random) -> Any:
    """Return a value at a limit of a scalar field's type."""
    kind = field.cpp_type
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice([each.number for each in field.enum_type.values])
        return min(max(rng.choice(EXTREME_INTS), low), high)
    if kind == FieldDescriptor.CPPTYPE_STRING and field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice(HOSTILE_TEXTS)
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return rng.randbytes(rng.choice((0, 1, 3, 4, 8, 64)))
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    return rng.choice(EXTREME_FLOATS)


def _mutate_repeated(
    message: Message, field: Any, messages: list[Message], rng: random.Random
) -> None:
    """Add to, take from or change a repeated field."""
    items = getattr(message, field.name)
    holds_messages = field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
    action = rng.choice(("add", "remove", "twice", "change", "swap", "cut"))
    if not items or action == "add":
        if holds_messages:
            _exchange(items.add(), messages, rng)
        else:
            items.append(extreme_value(field, rng))
        return
    at = rng.randrange(len(items))
    if action == "remove":
        del items[at]
    elif action == "cut":
        del items[at:]
    elif action == "swap" and holds_messages:
        other = rng.randrange(len(items))
        kept = type(items[at]).FromString(items[at].SerializeToString())
        items[at].CopyFrom(items[other])
        items[other].CopyFrom(kept)
    elif holds_messages:
        if action == "twice":
            items.add().CopyFrom(items[at])
        else:
            _exchange(items[at], messages, rng)
    elif action == "twice":
        items.append(items[at])
    else:
        items[at] = extreme_value(field, rng)


def _exchange(target: Message, messages: list[Message], rng: random.Random) -> None:
    """Put another message of the same type in place of `target`, or leave it empty but set."""
    alike = [each for each in messages if each.DESCRIPTOR is target.DESCRIPTOR]
    copy = type(target)()
    if alike:
        copy.CopyFrom(rng.choice(alike))
    if copy.ByteSize() > 2**20:  # a graph within itself again and again would only be large
        copy.Clear()
    target.CopyFrom(copy)
    target.SetInParent()


def _is_repeated(field: Any) -> bool:
    """Return True if a field is a list; the name of the property depends on protobuf's version."""
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if repeated is None else repeated)
