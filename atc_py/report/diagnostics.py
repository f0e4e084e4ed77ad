"""Diagnostics as text."""

from dataclasses import replace

from atc_py.diag import Diagnostic, Place, Severity
from atc_py.report.tables import clipped
from atc_py.text import COLON, COMMA, LANGUAGES, Text
from atc_py.text.language import language, spoken

SEVERITY_TEXTS = {
    Severity.ERROR: Text("error", context="level"),
    Severity.WARNING: Text("warning"),
    Severity.NOTE: Text("note"),
}
_NODE = Text("node")
_RULE, _HELP = Text("rule"), Text("help")

_NAMED = {"input", "output", "device", "tensor"}
"""Words before the name of a field."""


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """The finding as text for people: headline, place, rule, hint.

    A finding without a help of its own shows what its code's page says.

    Control characters that a model's names may carry are shown as escapes, and of what is too long
    to read the ends.
    """
    code, said, diagnostic = diagnostic.code, language(), diagnostic.in_language(language())
    level = level_text(code.severity)
    lines = [f"{level}[{code.id} {code.name}]: {clipped(diagnostic.message)}"]
    if diagnostic.place is not None and str(diagnostic.place):
        lines.append(f"  --> {clipped(place_text(diagnostic.place))}")
    if diagnostic.rule is not None:
        lines.append(f"  {(_RULE + COLON).in_language(said)}{clipped(diagnostic.rule)}")
    lines.append(f"  {help_text(clipped(diagnostic.help or ''))}")
    return "\n".join(lines)


def help_text(text: str) -> str:
    return (_HELP + COLON).in_language(language()) + text


def level_text(severity: Severity) -> str:
    return SEVERITY_TEXTS[severity].in_language(language())


def _field_text(field: str) -> str:
    word, _, name = field.partition(" ")
    return spoken(Text(f"{word} {{at}}", at=name) if word in _NAMED else field)


def place_text(place: Place) -> str:
    if language() == LANGUAGES[0]:
        return str(place)
    field = None if place.field is None else _field_text(place.field)
    if place.node is None:
        return str(replace(place, field=field))
    file = str(replace(place, node=None, node_name=None, op_type=None, field=None))
    named = str(Place(node_name=place.node_name, op_type=place.op_type))
    node = f"{_NODE.in_language(language())} {place.node} {named}".rstrip()
    parts = (each for each in (": ".join(filter(None, (file, node))), field) if each)
    return spoken(COMMA).join(parts)
