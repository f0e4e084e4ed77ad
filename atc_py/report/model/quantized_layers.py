"""Row of `convert` for a quantized model: which of its layers run on int8."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from atc_py.diag import COMMA, Words
from atc_py.diag.language import language
from atc_py.report.tables import share_text

if TYPE_CHECKING:
    from atc_py.check.findings import ModelCheck

__all__ = ["quantized_rows"]


def quantized_rows(check: ModelCheck) -> list[tuple[str, str]]:
    """Return the line of the summary; none for models without quantization."""
    if not check.layers:
        return []
    said = language()
    reasons = Counter(each.reason.in_language(said) for each in check.layers if each.reason)
    done = len(check.layers) - sum(reasons.values())
    parts = [
        Words(f"{count} because {reason}", f"{count} 层，因为{reason}")
        for reason, count in reasons.most_common()
    ]
    rest = Words("; on floats ", "；保持浮点的有 ") + COMMA.join(parts) if parts else Words("", "")
    return [("layers on int8", share_text(done, len(check.layers)) + rest.in_language(said))]
