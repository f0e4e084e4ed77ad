"""Row of `convert` for a quantized model: which of its layers run on int8."""

from collections import Counter

from atc_py.check.findings import ModelCheck
from atc_py.report.tables import share_text
from atc_py.text import COMMA, Text
from atc_py.text.language import language


def quantized_rows(check: ModelCheck) -> list[tuple[str, str]]:
    """Return the line of the summary; none for models without quantization."""
    if not check.layers:
        return []
    said = language()
    reasons = Counter(each.reason.in_language(said) for each in check.layers if each.reason)
    done = len(check.layers) - sum(reasons.values())
    parts = [
        Text("{count} because {reason}", count=count, reason=reason)
        for reason, count in reasons.most_common()
    ]
    rest = Text("; on floats ") + COMMA.join(parts) if parts else Text("")
    return [("layers on int8", share_text(done, len(check.layers)) + rest.in_language(said))]
