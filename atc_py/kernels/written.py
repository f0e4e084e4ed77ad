"""A model as its kernels are written: none of them rounds steps between to float16.

SoCs have kernels that do, which the simulator follows. The stubs keep float32 between their steps,
and are compared with the simulator's computing likewise.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel, OmNode
from atc_py.target import find_operator
from atc_py.target.rows.parts import IMPL_MODE


@dataclass(frozen=True, slots=True)
class ModelAsWritten:
    """A model with the data of another one.

    Attributes:
        description: of this one.
        source: holds the constants.
    """

    description: OmModel
    source: OfflineModel

    def array(self, member: str) -> NDArray[Any]:
        """Return the data of a constant."""
        return self.source.array(member)


def as_written(model: OfflineModel) -> ModelAsWritten:
    """Return `model` with the implementations that its kernels have."""
    nodes = [_as_written(node) for node in model.description.nodes]
    return ModelAsWritten(msgspec.structs.replace(model.description, nodes=nodes), model)


def _as_written(node: OmNode) -> OmNode:
    """Return a node without the steps that it rounds."""
    row = find_operator(node.op)
    rounds = row is not None and row.attribute(IMPL_MODE.name) is IMPL_MODE
    if not rounds or IMPL_MODE.name not in node.attributes:
        return node
    left = {name: value for name, value in node.attributes.items() if name != IMPL_MODE.name}
    return msgspec.structs.replace(node, attributes=left)
