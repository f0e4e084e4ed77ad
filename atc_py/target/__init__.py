"""Facts about the target: operators, one row each, and SoCs, one row each."""

from atc_py.target.layouts import Layout
from atc_py.target.operators import find_operator, is_view, operators
from atc_py.target.row import Attribute, Column, Limit, Operand, Resource, TargetOp, Unit
from atc_py.target.socs import Soc, find_soc, socs

__all__ = [
    "Attribute",
    "Column",
    "Layout",
    "Limit",
    "Operand",
    "Resource",
    "Soc",
    "TargetOp",
    "Unit",
    "find_operator",
    "find_soc",
    "is_view",
    "operators",
    "socs",
]
