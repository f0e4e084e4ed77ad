"""The fusion passes of a compilation: what each found, and where it nearly applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from atc_py.report.model.recorded_reasons import recorded_text
from atc_py.report.page.words import in_both, name_text

if TYPE_CHECKING:
    from atc_py.text import Text


class NearMiss(NamedTuple):
    """The place where a pass nearly applied.

    Attributes:
        name: the pass.
        node: the compiled node that the pass would have taken into another.
        reason: why it does not apply.
        depth: nodes of the pattern that were there.
    """

    name: str
    node: str
    reason: str
    depth: int


def record_of(report: Mapping[str, Any], *keys: str) -> Any:
    """A part of the record of a compilation; an empty dict where there is none."""
    found: Any = report
    for key in keys:
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def _passes(report: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for section in ("graph_fusion", "ub_fusion"):
        found = record_of(report, "fusion_result", section)
        for name, effect in found.items() if isinstance(found, dict) else ():
            if isinstance(effect, dict):  # an offline model may say anything here
                yield name, effect


def _miss_of(effect: Mapping[str, Any]) -> dict[str, Any]:
    """The nearest miss of a pass; an empty dict where there is none."""
    miss = effect.get("nearest_miss")
    return miss if isinstance(miss, dict) else {}


def _reason(miss: Mapping[str, Any]) -> Text:
    return recorded_text(str(miss.get("reason", "")))


def near_misses(report: Mapping[str, Any]) -> Iterator[NearMiss]:
    """Yield the nearest miss of each pass that has one, as `convert --why-not` tells it."""
    for name, effect in _passes(report):
        miss = _miss_of(effect)
        if miss.get("node"):
            reason, depth = _reason(miss), miss.get("depth", 0)
            joins = name.startswith("merge-")  # what follows joins the launch of the anchor
            node = miss["node"] if joins else miss.get("anchor") or miss["node"]
            yield NearMiss(name, str(node), reason, depth if isinstance(depth, int) else 0)


def fusions_json(report: Mapping[str, Any]) -> list[list[object]]:
    """The passes that found something.

    A row is [pass, ATC's names, places matched, places rewritten, node of the nearest miss, why].
    """
    rows: list[list[object]] = []
    for name, effect in _passes(report):
        miss = _miss_of(effect)
        if not miss and not effect.get("match_times"):
            continue
        names = effect.get("atc_names")
        why = in_both(_reason(miss)) if miss else ""
        rows.append([
            name_text(name),
            name_text(", ".join(map(str, names if isinstance(names, list) else ()))),
            effect.get("match_times", 0),
            effect.get("effect_times", 0),
            name_text(str(miss.get("node", ""))) if miss else "",
            why,
        ])  # fmt: skip
    return rows
