"""The target IR: a small SSA graph of CANN graph operators."""

from atc_py.ir.constants import (
    CLIP_LIMITS,
    CastConst,
    DeferredConst,
    DenseConst,
    OpaqueConst,
    RowwiseConst,
    SplatConst,
    moved_const,
    narrows,
)
from atc_py.ir.graph import CycleError, Graph, launch_positions, launches_in, producers_first
from atc_py.ir.memory_plan import (
    Home,
    MemoryPlan,
    PlacedNode,
    PlacedTensor,
    Placement,
    Proof,
    Spot,
    size_in_arena,
    size_of_weights,
)
from atc_py.ir.nodes import AttrValue, Engine, Node, Origin, Return, Value
from atc_py.ir.placement_proof import prove
from atc_py.ir.printer import integer_range, print_graph
from atc_py.ir.signature import ATTRIBUTE_TYPES, Signature
from atc_py.ir.types import Phase, TensorType
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.tensor.const_data import ConstData

__all__ = [
    "ATTRIBUTE_TYPES",
    "CLIP_LIMITS",
    "AttrValue",
    "CastConst",
    "ConstData",
    "CycleError",
    "DeferredConst",
    "DenseConst",
    "Engine",
    "Graph",
    "Home",
    "MemoryPlan",
    "Node",
    "OpaqueConst",
    "Origin",
    "Phase",
    "PlacedNode",
    "PlacedTensor",
    "Placement",
    "Proof",
    "Return",
    "RowwiseConst",
    "Rules",
    "Signature",
    "SplatConst",
    "Spot",
    "TensorType",
    "Value",
    "integer_range",
    "launch_positions",
    "launches_in",
    "moved_const",
    "narrows",
    "print_graph",
    "producers_first",
    "prove",
    "size_in_arena",
    "size_of_weights",
    "verify_graph",
]
