"""The check of a model as the page shows it: counts, and findings in both languages."""

from collections.abc import Callable

from atc_py.report.check.document import CheckDocument, Found
from atc_py.report.check.words import (
    CERTAINTIES,
    LEVELS,
    baseline_text,
    fix_call,
    hint_text,
    lists_text,
    observed_text,
    shape_option,
    verdict_text,
)
from atc_py.report.page.words import Both, both, in_both, name_text
from atc_py.spec.deviations import Certainty


class BothChecks:
    """One check in English and in Chinese, as the same findings in the same order.

    Attributes:
        documents: the check in English, then in Chinese.
        known: the one of them that was compared with a baseline, if any was.
    """

    def __init__(
        self, english: CheckDocument, chinese: CheckDocument, known: CheckDocument | None = None
    ) -> None:
        self.documents = (english, chinese)
        self.known = known or english


def check_json(checks: BothChecks, at: int) -> dict[str, object]:
    english, chinese = checks.documents
    first, second = english.models[at], chinese.models[at]
    return {
        "verdict": first.verdict,
        "headline": in_both(verdict_text(first, english.cann)),
        "list": name_text(english.operator_list),
        "cann": english.cann,
        "lists": in_both(lists_text(english, first)),
        "soc_note": both(english.soc_note, chinese.soc_note),
        "baseline": in_both(baseline_text(checks.known.baseline)),
        "levels": {each.value: in_both(words) for each, words in LEVELS.items()},
        "counts": dict(first.counts),
        "node_counts": dict(first.node_counts),
        "hint": in_both(hint_text(first)) if first.shape_hint else "",
        "shape_option": name_text(shape_option(first.shape_hint)) if first.shape_hint else "",
        "shape_fits": first.shape_hint_fits,
        "fix": "" if first.fix is None else name_text(first.fix.command),
        "removed": 0 if first.fix is None else first.fix.removed,
        "notes": [
            both(one.text, two.text) for one, two in zip(first.notes, second.notes, strict=True)
        ],
        "biases": None
        if first.quant_bias is None or second.quant_bias is None
        else both(first.quant_bias.text, second.quant_bias.text),
        "operators": [
            [name_text(row.op), row.listed, row.nodes, dict(row.counts)] for row in first.operators
        ],
        "findings": [
            _finding(one, two, known=three.known)
            for one, two, three in zip(
                first.all_findings,
                second.all_findings,
                checks.known.models[at].all_findings,
                strict=True,
            )
        ],
        "verdicts": [
            [row.index, row.verdict] for row in first.network if row.verdict != "supported"
        ],
    }


def _finding(english: Found, chinese: Found, *, known: bool) -> dict[str, object]:

    def pair(text: Callable[[Found], str]) -> Both:
        return both(text(english), text(chinese))

    document: dict[str, object] = {
        "code": english.code,
        "name": english.name,
        "level": english.level,
        "rule": name_text(english.rule),
        "source": name_text(english.source),
        "node": english.node,
        "node_name": name_text(english.node_name),
        "op": name_text(english.op),
        "field": name_text(english.field),
        "scope": name_text(english.scope),
        "message": pair(lambda each: each.message),
        "help": pair(lambda each: each.help),
        "observed": both(observed_text(english), observed_text(chinese).zh),
        "when": pair(lambda each: each.when),
    }
    extras = {
        "known": known,
        "taken_by": [*english.taken_by],
        "fixed_by": [*map(name_text, english.fixed_by)],
        "fix_call": fix_call(english) if english.fixed_by else "",
        "certainty": (
            in_both(CERTAINTIES[Certainty(english.certainty)]) if english.certainty else None
        ),
    }
    return document | {name: value for name, value in extras.items() if value}
