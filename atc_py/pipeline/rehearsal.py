"""The last check of a compilation: does the device accept the model?

The simulated device checks every node by type rules of its own, which share no code with
lowering or passes. A model that it would refuse to load is refused here, before anything
is written, and in terms of the source model.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.loading import check_model
from atc_py.diag import BAD_NODE, AtcError, Diagnostic, Place
from atc_py.ir import Graph, Value
from atc_py.package.describe import weight_members
from atc_py.package.schema import OmModel
from atc_py.text import Text, verbatim

_READ = 1024
"""Constants of up to this many bytes are read: shapes and axes, on which types depend."""

_HELP = Text(
    "fix the model; `onnx.checker.check_model` and onnxruntime may say more about the node"
)


def rehearse(graph: Graph, description: OmModel, model: str) -> None:
    """Check the graph and its description as the simulated device does when it loads them.

    Raises:
        AtcError: BAD_NODE for every node that the device refuses, at its source node.
    """
    draft = _Draft(description, {member: value for value, member in weight_members(graph).items()})
    try:
        check_model(draft)
    except AtcError as error:
        found = (_source_finding(each, description, model) for each in error.diagnostics)
        raise AtcError(*found) from error


class _Draft(msgspec.Struct, frozen=True):
    """A model that is not written yet, as a device sees it; large weights are left unread."""

    description: OmModel
    values: Mapping[str, Value]

    def array(self, member: str) -> NDArray[Any]:
        """The data of a small constant, and zeros that take no memory for a large one."""
        value = self.values[member]
        if value.const is not None and value.type.nbytes <= _READ:
            return value.const.numpy()
        return np.broadcast_to(np.zeros((), value.type.dtype.numpy), value.type.shape)


def _source_finding(found: Diagnostic, description: OmModel, model: str) -> Diagnostic:
    place = found.place
    if place is None or place.node is None:
        return BAD_NODE.diagnostic(found.message, place=Place(model), help=_HELP)
    node = description.nodes[place.node]
    if not node.origins:
        return BAD_NODE.diagnostic(
            verbatim(f"{node.op}: ") + found.message, place=Place(model), help=_HELP
        )
    origin = node.origins[0]
    where = Place(model, origin.index, origin.name, origin.op_type)
    return BAD_NODE.diagnostic(
        Text("{op} of the device: {message}", op=node.op, message=found.message),
        place=where,
        help=_HELP,
    )
