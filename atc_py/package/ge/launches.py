"""Launches of a model: what each computes of the network, where, by which kernel."""

from collections.abc import Mapping

import msgspec

from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.model import HuaweiModel
from atc_py.target import Unit, find_operator

_NODES, _TYPES = "_datadump_original_op_names", "_datadump_original_op_types"
VECTOR_FUSION = "AutomaticBufferFusionOp"
"""Type of an op that fuses others, where none of the cube is among them: it has no head."""

_NO_NODES = frozenset({"Aipp", "TransData"})
"""Operators that stand for no node of the network."""

_CORES_OF_MAGIC = {
    "RT_DEV_BINARY_MAGIC_ELF_AICUBE": "AIC",
    "RT_DEV_BINARY_MAGIC_ELF_AIVEC": "AIV",
}


class GeLaunch(msgspec.Struct, frozen=True):
    """A launch."""

    op: GeOp  # in the graph
    # of the network that it computes, in order; none of a Cast or TransData that atc inserted
    nodes: tuple[str, ...]
    # CANN's operators that it consists of, the op's own first where it has no list of all; the op's
    # own alone where the file does not say
    operators: tuple[str, ...]
    # of the graph and of the unified buffer that made it, in order; none before CANN 8
    passes: tuple[str, ...]
    engine: str  # that compiles it, as AIcoreEngine; empty before CANN 5.1
    core: str  # AIC for the cube core, AIV for the vector core, empty where they are one
    cores: int  # that it runs on
    kernel: str

    @property
    def is_fused(self) -> bool:
        """True if it computes several nodes of the network."""
        return len(self.nodes) > 1


def model_launches(model: HuaweiModel) -> tuple[GeLaunch, ...]:
    """The launches of a model in order.

    Raises:
        AtcError: BAD_HUAWEI_MODEL.
    """
    kernels = {task.op_index: task.kernel_name for task in model.tasks if task.op_index is not None}
    return tuple(_launch(op, kernels) for op in model.launches)


def launch_nodes(op: GeOp) -> tuple[str, ...]:
    """The nodes of the network that an op computes; its own name where it has no list of them."""
    if _NODES not in op.attributes:
        return (op.name,)
    return tuple(name for name in op.attributes.texts(_NODES) if name)


def launch_operators(op: GeOp) -> tuple[str, ...]:
    """CANN's operators that an op consists of.

    The list in the file leaves the head of a fused convolution or product out, which the op's type is.
    An operator may stand for several nodes.
    """
    types = op.attributes.texts(_TYPES)
    missing = len(launch_nodes(op)) - sum(each not in _NO_NODES for each in types)
    if not types or op.type in {VECTOR_FUSION, *types}:
        return types or (op.type,)
    has_head = not missing and (any(map(_is_of_cube, types)) or not _is_of_cube(op.type))
    return types if has_head else (op.type, *types)


def _is_of_cube(operator: str) -> bool:
    row = find_operator(operator) or find_operator(f"{operator}V2")
    return row is not None and row.unit is Unit.CUBE


def _launch(op: GeOp, kernels: Mapping[int, str]) -> GeLaunch:
    attributes = op.attributes
    core = attributes.text("_cube_vector_core_type")
    named = ("_kernelname", f"{op.name}_kernelname", "_tbe_kernel_name_for_load")
    own = (attributes.text(name) for name in named)
    return GeLaunch(
        op=op,
        nodes=launch_nodes(op),
        operators=launch_operators(op),
        passes=attributes.texts("pass_name"),
        engine=attributes.text("_ge_attr_op_kernel_lib_name"),
        core=core or _CORES_OF_MAGIC.get(attributes.text("tvm_magic"), ""),
        cores=attributes.number("tvm_blockdim", 1),
        kernel=kernels.get(op.id) or next(filter(None, own), ""),
    )
