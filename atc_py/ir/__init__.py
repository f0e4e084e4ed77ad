"""The target IR: a small SSA graph of CANN graph operators."""

from atc_py.ir.constants import (
    CastConst,
    DeferredConst,
    DenseConst,
    OpaqueConst,
    RowwiseConst,
    SplatConst,
)
from atc_py.ir.graph import Graph
from atc_py.ir.nodes import AttrValue, Engine, Node, Origin, Return, Value
from atc_py.ir.phases import Phase
from atc_py.ir.types import TensorType
from atc_py.tensor.const_data import ConstData

__all__ = [
    "AttrValue",
    "CastConst",
    "ConstData",
    "DeferredConst",
    "DenseConst",
    "Engine",
    "Graph",
    "Node",
    "OpaqueConst",
    "Origin",
    "Phase",
    "Return",
    "RowwiseConst",
    "SplatConst",
    "TensorType",
    "Value",
]
