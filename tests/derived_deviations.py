"""The page of deviations of CANN from ONNX, derived from the specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.report.operators.deviations import generation_words, registered_words, same_when
from atc_py.spec import library
from atc_py.spec.generations import editions, generations
from atc_py.spec.lists import operator_lists
from atc_py.spec.model import compressed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atc_py.spec import OpSpec

__all__ = ["deviations_page"]

_HEAD = """# Where CANN departs from ONNX

A model can keep every rule of the operator list, compile without a message, and compute something else on the board, because
CANN's ONNX parser drops an attribute or reads an input otherwise. `atc-py check --cann GENERATION` reports such nodes at level
accuracy, and what the parser refuses without the list saying so at level parser. atc-py itself computes what ONNX means, unless
`--semantics cann` is given, which computes what CANN would. [deviations-in-networks.md](deviations-in-networks.md)
shows what they cost in whole networks.

All of this was read off published sources; nothing was run on a device. *Proven* means that the published sources of the edition
say it, *inferred* that it follows from another edition, or from a part of the sources only. Sources are published of two
editions; the generations between them are read by the nearest one, and all that is said of them is inferred."""


def deviations_page() -> Iterator[str]:
    """Yield editions, generations, and the deviations of every operator."""
    yield from _HEAD.splitlines()
    yield ""
    yield "| edition | sources | opsets of most operators |"
    yield "| --- | --- | --- |"
    for edition in editions():
        yield f"| {edition.year} | {edition.source.en} | {_runs(edition.opsets)} |"
    yield ""
    yield "| generation of CANN | read by the edition of | |"
    yield "| --- | --- | --- |"
    for each in generations():
        yield f"| {each.major} | {each.edition} | {each.certainty.value} |"
    specs: dict[str, OpSpec] = {}
    for listed in operator_lists():
        # The newest list has every row of the others, and its own.
        specs |= {spec.op: spec for spec in library(listed.name).all()}
    for spec in sorted(specs.values(), key=lambda each: each.op.lower()):
        if spec.deviations or spec.registered:
            yield from _operator(spec)


def _operator(spec: OpSpec) -> Iterator[str]:
    """Yield one operator."""
    yield ""
    yield f"## {spec.op}"
    yield ""
    for edition, words in registered_words(spec):
        yield f"- opsets of the parser of {edition}: {words.en}"
    for row in spec.deviations:
        kind = "refused" if row.refused else "undefined" if row.undefined else "computed otherwise"
        yield f"- **{row.name}** ({kind}), {generation_words(row).en}: {row.effect.en}."
        yield f"  The same as ONNX if: {same_when(spec, row).en}. Source: {row.source}."


def _runs(opsets: tuple[tuple[int, int], ...]) -> str:
    """Return runs of opsets as text."""
    return compressed(tuple(n for first, last in opsets for n in range(first, last + 1)))
