"""Reasons in an offline model's record, where they are English sentences.

A file keeps no templates. What this process has written, it knows; a reason of dtypes or storage in
another file is read by the templates that the passes write it with.
"""

import functools
import re

from atc_py.text import Text, written_text

_TEMPLATES = (
    "output {name} is {dtype}: {reason}",
    "{node} ({op}) takes {dtype} on {engine}: {rule}",
    "{given}; {taken}",
    "input {name} is fed as {format}",
    "{node} gives {format}",
    "{names} takes {format}",
    "{names} take {format}",
    "{where}, as in the model",
    "{where}, but with integers, as in the model",
    "{where}, but without a kernel for {narrow}",
    "{where}, nothing before it, as in the model",
    "{where}, nothing before it",
    "{where}, {dtype} as {op} before it",
    "{where}, {dtype}",
    "{op} of {name}",
    "{mode}: {place} list of {of}",
    "{mode}: {place} list",
    "{mode}: as in the model, else bfloat16",
    "{mode}: as in the model, else float16",
    "{mode}: float16 on the cube",
    "{mode}: 16 bits into the cube, float32 out",
    "{mode}: floats become float32",
)


def recorded_text(sentence: str) -> Text:
    """A reason as the text that it was written from, or as a text of its own."""
    written = written_text(sentence)
    if written is not None:
        return written
    for template in _TEMPLATES:
        found = _pattern(template).fullmatch(sentence)
        if found is not None:
            values = {name: _value(value) for name, value in found.groupdict().items()}
            return Text(template).with_values(**values)
    return Text(sentence)


def _value(value: str) -> str:
    return recorded_text(value) if " " in value else value


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)),
        re.DOTALL,
    )
