"""The page of rules that fix refused models, derived from the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.registry import load_rules
from atc_py.fix.rule import Exactness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atc_py.fix.rule import FixRule

__all__ = ["rewrites_page"]

_HEAD = """# Rules of `atc-py fix`

`atc-py fix MODEL` writes a model that the operator list refuses in an equivalent form of listed operators, and runs both to
show it. `convert`, `compare`, `profile` and `quantize` do the same in memory with `--fix`; their reports name the nodes of the
original. `check` names the rules that would remove an error. A rule applies to refused nodes; what it writes may be
rewritten by the next rule. A node whose new form is still refused stays as it was. Where several rules fit, the form is chosen
that takes the least time: a launch for each node, and what it moves and multiplies at the rates of `--soc`; if it is refused in
the end, the next one is tried.

Rules of purpose *precision* apply to listed nodes: in float16 those overflow or lose accuracy, the new form does not. They apply
with `--for-precision`, which is on where `--precision-mode` is force_fp16; `--no-for-precision` leaves them out.

When no rule fits any more, the graph is tidied: what leads out of one form that rules wrote and into the next (Squeeze and
Unsqueeze, Cast to int64 and to int32, Transpose, Reshape) is left out, and listed nodes between them work on the form inside. So
a whole region of signals, or of narrowed integers, is entered once and left once. Nodes of the file change only on such a way.

Classes: *equal*, every bit is the same on one engine; *reordered*, sums are taken in another order, differences of up to
1e-5 of the largest result are allowed; *bounded*, with the bound of the rule; *approximate*, applied with
`--allow-approximate` alone. If a rewritten region differs by more, nothing is written (ATC7030).

What a rule needs of integers is proved from dims, constants and indices; bounds of the model's inputs are given with
`--range NAME=LOW:HIGH`. `--bind NAME=VALUE` makes an input a constant."""


def rewrites_page() -> Iterator[str]:
    """Yield every rule with its operators, forms, condition and class."""
    yield from _HEAD.splitlines()
    yield ""
    for _, rule in sorted(load_rules().items()):
        yield f"## {rule.name}"
        yield ""
        yield f"- operators: {', '.join(sorted(rule.operators))}"
        yield f"- before: {rule.text.before.en}"
        yield f"- after: {rule.text.after.en}"
        yield f"- condition: {rule.text.condition.en}"
        yield f"- class: {_class(rule)}"
        if rule.precision:
            yield "- purpose: precision"
        if rule.text.float16:
            yield f"- float16: {rule.text.float16.en}"
        yield ""


def _class(rule: FixRule) -> str:
    """Return the class of a rule, with its bound."""
    bound = f", {rule.bound:g} of the range" if rule.exactness is Exactness.BOUNDED else ""
    return rule.exactness.words.en + bound
