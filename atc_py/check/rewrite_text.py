"""Sentences on forms that will be rewritten: information, not demands."""

from atc_py.text import Text

_ATTRIBUTE = "attribute "


def rewrite_text(op: str | None, field: str | None, observed: str, effect: str) -> Text:
    """`group 4 of Conv: will be split`.

    Args:
        op: the node's operator.
        field: the attribute, input or output concerned: `attribute group`, `input X`.
        observed: the value or form seen; empty where nodes of several are meant.
        effect: what becomes of it.
    """
    subject = (field or "").removeprefix(_ATTRIBUTE)
    if not subject:
        template = "{op}, {observed}: {effect}" if observed else "{op}: {effect}"
    elif not observed:
        template = "{subject} of {op}: {effect}"
    elif (field or "").startswith(_ATTRIBUTE):
        template = "{subject} {observed} of {op}: {effect}"
    else:
        template = "{subject} of {op}, {observed}: {effect}"
    return Text(template, op=op or "", subject=subject, observed=observed, effect=effect)
