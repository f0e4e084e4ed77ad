"""What a page of rules is written with: cases, requirements, and the site on which a form is written."""

from atc_py.fix.case import (
    CaseGraph,
    CaseNode,
    ConstInput,
    Fed,
    MadeInput,
    RuleCase,
    case,
    case_after,
    contrib_case,
    data,
)
from atc_py.fix.facts import FLOATS
from atc_py.fix.registry import rule
from atc_py.fix.rule import Exactness
from atc_py.fix.site import Site
from atc_py.fix.unfit import UnfitError, require, skip_unless
from atc_py.tensor.dtypes import DType

__all__ = [
    "APPROXIMATE",
    "BOUNDED",
    "EQUAL",
    "FLOATS",
    "REORDERED",
    "CaseGraph",
    "CaseNode",
    "ConstInput",
    "DType",
    "Fed",
    "MadeInput",
    "RuleCase",
    "Site",
    "UnfitError",
    "case",
    "case_after",
    "contrib_case",
    "data",
    "require",
    "rule",
    "skip_unless",
]

EQUAL, REORDERED, BOUNDED, APPROXIMATE = Exactness
