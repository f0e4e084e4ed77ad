"""The form of a node: of the rules that fit it, the one whose nodes take the least time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.defined_dtypes import has_defined_dtypes
from atc_py.fix.form_cost import form_seconds
from atc_py.fix.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from atc_py.fix.rule import FixRule
    from atc_py.fix.site import Site
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.source import SourceNode
    from atc_py.target import Soc

__all__ = ["FittingForm", "Misfit", "cheapest", "fitting_forms"]

Misfit = tuple["FixRule", Words]
"""A rule and the condition that does not hold."""

_NO_SUCH_DTYPES = Words(
    "ONNX defines the operator for the dtypes of its inputs", "ONNX 为该输入类型定义了此算子"
)
_NOT_SOUND = Words("the node keeps to ONNX's definition", "节点符合 ONNX 定义")


@dataclass(frozen=True, slots=True, eq=False)
class FittingForm:
    """A form that a rule would give a node.

    Attributes:
        rule: the rule.
        site: what it writes.
        results: names of the values that become the node's outputs.
    """

    rule: FixRule
    site: Site
    results: Sequence[str]


def fitting_forms(
    node: SourceNode, rules: Iterable[FixRule], open_site: Callable[[], Site], misfits: list[Misfit]
) -> list[FittingForm]:
    """Return the forms of the rules that fit; rules that are `last` only where no other does.

    None fits a node that ONNX does not define: there is nothing that its form would be equal to.

    Args:
        node: the node.
        rules: those of its operator, in the order tried.
        open_site: returns the node's site, on which nothing is written yet.
        misfits: gains the rules that do not fit.
    """
    if not has_defined_dtypes(node):
        misfits += [(rule, _NO_SUCH_DTYPES) for rule in rules]
        return []
    found: list[FittingForm] = []
    for rule in rules:
        if rule.last and found:
            break
        site = open_site()
        try:
            found.append(FittingForm(rule, site, rule.apply(site)))
        except UnfitError as error:
            misfits.append((rule, error.reason))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # Lists of other lengths than the axes, strides of 0, scales that are infinite, shapes that
            # are numbers: the check has findings on them.
            misfits.append((rule, _NOT_SOUND))
        else:
            if rule.last:
                break
    return found


def cheapest(
    forms: Sequence[FittingForm], origin: WorkNode, graph: WorkGraph, soc: Soc
) -> FittingForm:
    """Return the form that takes the least time; of equal ones, the first."""
    if len(forms) == 1:
        return forms[0]
    return min(forms, key=lambda form: form_seconds(form.site, origin, graph, soc))
