"""Facts about the target: operators, one row each, and SoCs, one row each."""

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.operator_table import (
    JOINED_IN_PLACE,
    VIEWS,
    find_operator,
    is_view,
    operators,
    unit_of,
)
from atc_py.target.row import Attribute, Column, Limit, Operand, TargetOp, Unit, Values
from atc_py.target.soc import Resource, Soc, SocFamily
from atc_py.target.socs import find_soc, is_former_name, socs

__all__ = [
    "JOINED_IN_PLACE",
    "VIEWS",
    "Attribute",
    "Column",
    "Kernels",
    "Layout",
    "Limit",
    "Operand",
    "Resource",
    "Soc",
    "SocFamily",
    "TargetOp",
    "Unit",
    "Values",
    "find_operator",
    "find_soc",
    "is_former_name",
    "is_view",
    "operators",
    "socs",
    "unit_of",
]
