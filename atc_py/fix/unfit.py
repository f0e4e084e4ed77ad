"""Conditions of rules: one that does not hold ends the rule at a node, in words."""

import functools
import json
from pathlib import Path

import atc_py.diag.chinese
from atc_py.diag import Words


class UnfitError(Exception):
    """A node that a rule does not fit.

    Attributes:
        reason: the condition that does not hold, as a clause without a final period.
    """

    def __init__(self, template: str, **values: object) -> None:
        self.reason = words(template, **values)
        super().__init__(self.reason.en)


def require(condition: object, template: str, **values: object) -> None:
    """Refuse the node unless `condition` is true.

    Raises:
        UnfitError: with the condition in words, such as `W is constant`; `values` fill its places.
    """
    if not condition:
        raise UnfitError(template, **values)


def skip_unless(condition: object) -> None:
    """Pass the node by, without a reason, unless the rule is meant for nodes of its kind.

    Raises:
        UnfitError: without words; reports leave it out.
    """
    if not condition:
        raise UnfitError("")


def words(template: str, **values: object) -> Words:
    """English and Chinese of a template of this package, with `values` at its places `{name}`."""
    chinese = _catalog().get(template, template)
    return Words(template.format(**values), chinese.format(**values))


@functools.cache
def _catalog() -> dict[str, str]:
    """Chinese by template; a template that reads the same in both languages has no entry."""
    path = Path(atc_py.diag.chinese.__file__).with_name("fix_rules.po")
    rows = (line.partition(" ") for line in path.read_text(encoding="utf-8").splitlines())
    texts = [json.loads(text) for key, _, text in rows if key in {"msgid", "msgstr"}]
    return dict(zip(texts[::2], texts[1::2], strict=True))
