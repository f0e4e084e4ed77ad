"""Diagnostics as text."""

from atc_py.diag import Diagnostic, Place, Severity
from atc_py.report.tables import clipped
from atc_py.text import COLON, COMMA, LANGUAGES, Text
from atc_py.text.language import language, spoken

SEVERITY_TEXTS = {
    Severity.ERROR: Text("error", context="level"),
    Severity.WARNING: Text("warning"),
    Severity.NOTE: Text("note"),
}
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
        lines.append(f"  {(Text('rule') + COLON).in_language(said)}{clipped(diagnostic.rule)}")
    lines.append(f"  {help_text(clipped(diagnostic.help or ''))}")
    return "\n".join(lines)


def help_text(text: str) -> str:
    return spoken(Text("help") + COLON) + text


def level_text(severity: Severity) -> str:
    return spoken(SEVERITY_TEXTS[severity])


def place_text(place: Place) -> str:
    if language() == LANGUAGES[0]:
        return str(place)
    field = place.field
    if field is not None:
        word, _, name = field.partition(" ")
        field = spoken(Text(f"{word} {{at}}", at=name) if word in _NAMED else field)
    if place.node is None:
        return str(place._replace(field=field))
    file = str(place._replace(node=None, node_name=None, op_type=None, field=None))
    named = str(Place(node_name=place.node_name, op_type=place.op_type))
    node = f"{spoken(Text('node'))} {place.node} {named}".rstrip()
    return spoken(COMMA).join(filter(None, (": ".join(filter(None, (file, node))), field)))
