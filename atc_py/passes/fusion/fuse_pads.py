"""Borders that a Pad adds around maps become padding of the window after them."""

import ml_dtypes

from atc_py.ir import AttrValue, Node
from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType

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


class FusePadConvPass(RewritePass):
    """Conv2D(PadV3D(x; p, c); q) = Conv2D(x; p + q), c being what the convolution pads with: 0.

    Of int8 data it is the quantized zero, offset_x. Both paddings count top, bottom, left, right.
    Alike for Conv3D, with front and back before them; ATC has no rule for that one.
    """

    def rewrite(self, match: Match) -> None:
        pad = match.anchor
        deep = () if match.context.only_atc_passes else ("Conv3D",)
        conv = match.consumer(pad, "Conv2D", "DepthwiseConv2D", *deep)
        match.require(conv.input(0) is pad.output, "the data must be padded, found weights", conv)
        added = borders(match)
        zero = conv.attributes.get("offset_x", 0) if pad.output.type.dtype is DType.INT8 else 0
        found = pad.attributes.get("constant_values", 0.0)
        match.require(
            found == zero, "the border must be of {zero}, found {actual}", zero=zero, actual=found
        )
        pads = added_pads(match, conv, added)
        match.rule = "PadDepthwiseConv2dFusionPass" if conv.op == "DepthwiseConv2D" else ""
        match.become(conv, conv.op, [pad.input(0), *conv.inputs[1:]], {**conv.attributes, **pads})


class FusePadPoolPass(RewritePass):
    """MaxPoolV3(PadV3D(x; p, -infinity); q) = MaxPoolV3(x; p + q); AvgPoolV2 alike, with zeros.

    A mean must count the border, which it does with `exclusive` = false; with true it may only have
    no padding of its own, and becomes false. Every window must hold an element of x. ATC does so
    with AvgPoolV2 alone.
    """

    def rewrite(self, match: Match) -> None:
        pad = match.anchor
        pool = match.consumer(pad, "MaxPoolV3", "AvgPoolV2")
        known = not match.context.only_atc_passes or pool.op == "AvgPoolV2"
        match.require(known, "ATC moves borders only into AvgPoolV2, found {op}", pool)
        added = borders(match)
        found = float(pad.attributes.get("constant_values", 0.0))  # type: ignore[arg-type]  # verified: a float
        own = numbers_of(pool.attributes.get("pads", (0, 0, 0, 0)))
        for name in ("ceil_mode", "global_pooling"):
            value = pool.attributes.get(name, False)
            match.require(
                not value,
                "{name} must be {known}, found {node}",
                pool,
                name=name,
                known=False,
                node=value,
            )
        extra: dict[str, AttrValue] = {}
        if pool.op == "MaxPoolV3":
            match.require(
                _is_lowest(found, pad.output.type.dtype),
                "the border must be less than every number, found {actual}",
                actual=found,
            )
        else:
            match.require(found == 0, "the border must be of 0, found {actual}", actual=found)
            counted = not pool.attributes.get("exclusive", True) or not any(own)
            match.require(
                counted, "the mean does not count its own padding {own}", pool, own=list(own)
            )
            extra = {"exclusive": False}
        pads = added_pads(match, pool, added)
        size = numbers_of(pool.attributes["ksize"])[2:]
        total = numbers_of(pads["pads"])
        fits = max(total[:2]) < size[0] and max(total[2:]) < size[1]
        match.require(
            fits,
            "padding must be less than {size}, found {total}",
            pool,
            size=list(size),
            total=list(total),
        )
        match.become(pool, pool.op, [pad.input(0)], {**pool.attributes, **pads, **extra})


def _is_lowest(border: float, dtype: DType) -> bool:
    facts = ml_dtypes.finfo(dtype.numpy) if dtype.is_float else None  # type: ignore[no-untyped-call]
    return facts is not None and border <= float(facts.min)
