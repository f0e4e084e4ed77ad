"""click's own texts as texts of atc-py: click asks gettext for each of its templates."""

import re

import click
import click.core
import click.exceptions
import click.parser
import click.types

from atc_py.text import Text

_WITH_REPR = re.compile(r"\{(\w+)!r\}")


class _Template(str):
    """A template of click's; filled in, it is a text of one line."""

    __slots__ = ()

    def format(self, *args: object, **values: object) -> str:
        for name in _WITH_REPR.findall(self):
            values[name] = repr(values[name])
        if "number_type" in values:  # click names the range where the text is no number at all
            kind = str(values["number_type"]).removesuffix(" range")
            values["number_type"] = Text(kind, context="number")
        template = " ".join(_WITH_REPR.sub(r"{\1}", self).split())
        return Text(template).with_values(
            **{name: one_line(value) for name, value in values.items()}
        )


def one_line(value: object) -> str:
    """A text that click breaks into lines, in one line; a `Text` is in one."""
    if isinstance(value, Text) and value == " ".join(value.split()):
        return value
    return " ".join(str(value).split())


def missing_parameter(said: str) -> Text:
    """As a text what click says of a missing argument or option."""
    head, stop, rest = said.partition(".")
    words, _, name = head.partition(" '")
    text = Text(f"{words} {{name}}.", name=f"'{name}")
    return text + " " + Text(rest.strip()) if stop and rest.strip() else text


def speak_for_click() -> None:
    """Let click make its texts of templates that the catalogs have."""
    for module in (click.core, click.exceptions, click.parser, click.types):
        module.__dict__["_"] = _Template
        module.__dict__["ngettext"] = lambda one, many, n: _Template(one if n == 1 else many)
