"""The words of a check's reports about dims that the model leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.report.escape import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.report.check.document import CheckedModel, OpenAxis

__all__ = ["deciding_text", "hint_text"]


def hint_text(model: CheckedModel, language: str) -> str:
    """Return the sentence before the shapes for open dims."""
    if model.shape_hint_fits:
        words = Words(
            "Some dims are open. The model accepts these proposed dims; replace them with your own:",
            "部分维度未确定。以下取值经检查可用，仅为建议，请换成实际值：",
        )
    else:
        words = Words(
            f"Some dims are open. None of the {model.shape_hint_tries} choices that were tried "
            "fits the model; replace the names with numbers:",
            f"部分维度未确定。试过的 {model.shape_hint_tries} 种取值均不适用，请将名称换成数值：",
        )
    return words.in_language(language)


def deciding_text(model: CheckedModel, language: str) -> str:
    """Say which dims decide: `height and width of images decide`; mostly empty."""
    if not model.deciding:
        return ""
    dims = _dims(model.deciding)
    labels: dict[tuple[str, ...], list[Words]] = {}
    for axes in dims:
        inputs = tuple(dict.fromkeys(each.input for each in axes))
        labels.setdefault(inputs, []).append(_label(axes[0]))
    parts = [_of_inputs(inputs, named) for inputs, named in labels.items()]
    text = Words(_joined_texts([each.en for each in parts]), " 和 ".join(each.zh for each in parts))
    verb = "decide" if len(dims) > 1 else "decides"
    return Words(f"{text.en} {verb}", f"取决于 {text.zh}").in_language(language)


def _dims(axes: Sequence[OpenAxis]) -> list[list[OpenAxis]]:
    """Group the axes by the dims that they have; one without a name is a dim of its own."""
    dims: dict[str | tuple[str, int], list[OpenAxis]] = {}
    for each in axes:
        dims.setdefault(each.name or (each.input, each.axis), []).append(each)
    return list(dims.values())


def _label(axis: OpenAxis) -> Words:
    """Name a dim, or its axis where it has no name."""
    name = clipped(axis.name)
    return Words.same(name) if name else Words(f"axis {axis.axis}", f"轴 {axis.axis}")


def _of_inputs(inputs: Sequence[str], labels: Sequence[Words]) -> Words:
    """Name dims with their inputs: `height and width of images`."""
    shown = [clipped(each) for each in inputs]
    named, names = _joined_texts([each.en for each in labels]), _joined_texts(shown)
    chinese = "、".join(each.zh for each in labels)
    space = " " if chinese[:1].isascii() else ""  # Chinese sets a space before Latin text only
    return Words(f"{named} of {names}", f"{'、'.join(shown)} 的{space}{chinese}")


def _joined_texts(texts: Sequence[str]) -> str:
    """List texts: `a`, `a and b`, `a, b and c`."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last
