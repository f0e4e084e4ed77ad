"""Rule random-seed-whole: a seed below 1 becomes 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "random-seed-whole",
    (
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "random numbers with a seed between -1 and 1", "种子在 -1 与 1 之间的随机数算子"
        ),
        after=Words("the operator with seed 1 or -1", "种子为 1 或 -1 的该算子"),
        condition=Words(
            "ONNX leaves the numbers that a seed gives to the engine",
            "种子对应的随机数由引擎决定，ONNX 未规定",
        ),
    ),
    example=RuleCase("RandomUniformLike", (Fed((2, 3)),), {"seed": 0.7}, operator_list="cann-9.0"),
    near_miss=RuleCase(
        "RandomUniformLike", (Fed((2, 3)),), {"seed": 3.0}, operator_list="cann-9.0"
    ),
    deviations=(
        "RandomNormal/seed-cut-to-0",
        "RandomNormalLike/seed-cut-to-0",
        "RandomUniform/seed-cut-to-0",
        "RandomUniformLike/seed-cut-to-0",
    ),
)
def random_seed_whole(site: Site) -> Sequence[str]:
    """Write the operator with an integer that is not 0."""
    seed = site.number("seed", 0.0)
    meant_for("seed" in site.node.attributes and abs(seed) < 1)
    inputs = [site.name(at) for at in range(len(site.node.inputs))]
    return site.again(inputs, seed=-1.0 if seed < 0 else 1.0)
