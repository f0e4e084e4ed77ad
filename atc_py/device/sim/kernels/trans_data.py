"""Change of storage format: elements move, their values and their meaning stay."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import same_as_x
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.formats import Format
from atc_py.tensor.storage import BLOCKED_FORMATS
from atc_py.text import Text

_FORMATS = {form.value: form for form in Format}


def _trans_data_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The input's type; the formats differ, and at least one is a blocked one."""
    node.expect("src_subformat", 0)
    node.expect("dst_subformat", 0)
    names = [node.text(name) for name in ("src_format", "dst_format")]
    for name in names:
        if name not in _FORMATS:
            text = Text("formats are {known}, found {found}")
            raise NodeError(text.with_values(known=", ".join(_FORMATS), found=repr(name)))
    if names[0] == names[1] or not any(_FORMATS[name] in BLOCKED_FORMATS for name in names):
        text = Text("nothing is stored otherwise in {name} than in {other}")
        raise NodeError(text.with_values(name=names[1], other=names[0]))
    if node.integer("groups") < 1:
        text = Text("groups must be at least 1, found {found}")
        raise NodeError(text.with_values(found=node.integer("groups")))
    return same_as_x(node)


@kernel("TransData", _trans_data_types, rounding=Rounding.ON_GRID)
def trans_data(call: Call) -> None:
    """Copy: a carrier has its elements in their logical order whatever the format."""
    np.copyto(call.out, call.x)
