"""Findings of fusion passes: the `fusion_result` of an offline model's report."""

from collections.abc import Iterable
from typing import Protocol

from atc_py.system.structs import Result


class MissLike(Protocol):
    """A place where a rule almost applied."""

    @property
    def reason(self) -> str:
        """Reason why the rule does not apply."""
        ...

    @property
    def node(self) -> str:
        """The target node at fault."""
        ...

    @property
    def origins(self) -> tuple[str, ...]:
        """Names of the source nodes that it came from."""
        ...

    @property
    def depth(self) -> int:
        """Nodes of the pattern that were there."""
        ...

    @property
    def anchor(self) -> str:
        """The target node that the pattern begins at; empty for `node` itself."""
        ...


class RecordLike(Protocol):
    """Record of one pass."""

    @property
    def matched(self) -> int:
        """Places where the pattern was."""
        ...

    @property
    def effective(self) -> int:
        """Places that were rewritten."""
        ...

    @property
    def nearest(self) -> MissLike | None:
        """The miss that had most of the pattern."""
        ...


class FusionEffect(Result, frozen=True):
    """A pass that a user may switch off, with its record.

    Attributes:
        name: the pass.
        atc_names: ATC's names for it.
        is_ub: it is one of ATC's UB fusions.
        record: what it found.
    """

    name: str
    atc_names: tuple[str, ...]
    is_ub: bool
    record: RecordLike


def fusions_json(effects: Iterable[FusionEffect]) -> dict[str, object]:
    """All passes in the sections of ATC's fusion_result.json, with nearest misses."""
    sections: dict[bool, dict[str, object]] = {False: {}, True: {}}
    for effect in effects:
        sections[effect.is_ub][effect.name] = _effect_json(effect)
    return {"graph_fusion": sections[False], "ub_fusion": sections[True]}


def _effect_json(effect: FusionEffect) -> dict[str, object]:
    record, miss = effect.record, effect.record.nearest
    found: dict[str, object] = {
        "atc_names": list(effect.atc_names),
        "match_times": record.matched,
        "effect_times": record.effective,
    }
    if miss is not None:
        found["nearest_miss"] = {
            "reason": miss.reason,
            "node": miss.node,
            "from": list(miss.origins),
            "depth": miss.depth,
            "anchor": miss.anchor or miss.node,
        }
    return found
