"""Row of `convert` for a quantized model: which of its layers run on int8."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atc_py.check.findings import ModelCheck

__all__ = ["quantized_rows"]


def quantized_rows(check: ModelCheck) -> list[tuple[str, str]]:
    """Return the line of the summary; none for models without quantization."""
    if not check.layers:
        return []
    reasons = Counter(each.reason.en for each in check.layers if each.reason)
    done = len(check.layers) - sum(reasons.values())
    parts = [f"{count} because {reason}" for reason, count in reasons.most_common()]
    rest = f"; on floats {', '.join(parts)}" if parts else ""
    return [("layers on int8", f"{done} of {len(check.layers)}{rest}")]
