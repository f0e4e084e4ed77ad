"""Borders that a Pad adds become padding of the pool after it."""

import ml_dtypes

from atc_py.ir import AttrValue
from atc_py.passes.fusion.borders import added_pads, borders
from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType


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
