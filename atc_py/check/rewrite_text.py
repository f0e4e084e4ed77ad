"""Sentences on forms that will be rewritten: information, not demands."""

from __future__ import annotations

__all__ = ["rewrite_text"]

_ATTRIBUTE = "attribute "


def rewrite_text(
    op: str | None, field: str | None, observed: str, effect: str, language: str
) -> str:
    """Return `group 4 of Conv: will be split`.

    Args:
        op: the node's operator.
        field: the attribute, input or output concerned: `attribute group`, `input X`.
        observed: the value or form seen; empty where nodes of several are meant.
        effect: what becomes of it.
        language: en or zh.
    """
    operator, subject = op or "", (field or "").removeprefix(_ATTRIBUTE)
    if language == "zh":
        name = f"{operator} 的 {subject}" if subject else operator
        return f"{name}（{observed}）：{effect}" if observed else f"{name}：{effect}"
    if not subject:
        head = f"{operator}, {observed}" if observed else operator
    elif not observed:
        head = f"{subject} of {operator}"
    elif (field or "").startswith(_ATTRIBUTE):
        head = f"{subject} {observed} of {operator}"
    else:
        head = f"{subject} of {operator}, {observed}"
    return f"{head}: {effect}"
