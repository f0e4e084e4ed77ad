"""Borders that a Pad adds around maps and that a window can add: shared by rules on padding."""

from atc_py.ir import AttrValue, Node
from atc_py.passes.fusion.matching import Match
from atc_py.target.stored_nodes import numbers_of

_LEAD = (0, 0, 0, 0)
"""Borders of batch and channels, and the padding that a window has if it says nothing."""

_RANKS = (4, 5)
"""Ranks of images and volumes."""

_MOST = 255


def borders(match: Match) -> tuple[int, ...]:
    """Top, bottom, left, right of a Pad that adds constants to maps alone.

    Those of volumes begin with front and back.
    """
    pad = match.anchor
    mode = pad.attributes.get("mode", "constant")
    match.require(mode == "constant", "the border must be constant, found {mode}", mode=mode)
    paddings = numbers_of(pad.attributes["paddings"])
    fits = len(paddings) // 2 in _RANKS and paddings[: len(_LEAD)] == _LEAD
    match.require(
        fits and min(paddings) >= 0,
        "only spatial axes may get borders, of 0 or more, found {paddings}",
        paddings=list(paddings),
    )
    return paddings[len(_LEAD) :]


def added_pads(match: Match, node: Node, more: tuple[int, ...]) -> dict[str, AttrValue]:
    """The padding of `node` with `more` added, within what a kernel takes."""
    mode = node.attributes.get("padding_mode", "CALCULATED")
    match.require(
        mode == "CALCULATED", "padding_mode must be CALCULATED, found {mode}", node, mode=mode
    )
    own = numbers_of(node.attributes.get("pads", _LEAD))
    pads = tuple(one + two for one, two in zip(own, more, strict=True))
    match.require(
        max(pads) <= _MOST,
        "padding must be at most {most}, found {pads}",
        node,
        most=_MOST,
        pads=list(pads),
    )
    return {"pads": pads}
