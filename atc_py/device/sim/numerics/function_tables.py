"""Functions of one float16 as tables of all their results.

There are 65536 float16 numbers, so a function of one of them is worked out once for all and then
looked up, already rounded: two passes over memory in place of up to forty. Carriers are float32
whose last 13 bits are 0, and the 19 bits before them are the place in the table.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE, Workers
from atc_py.device.sim.kernel import Call, Kernel, Launch, Workspace, sequence
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.tensor.dtypes import DType

_CUT = np.uint32(13)
_PLACES = 1 << (32 - 13)
_NUMBERS = 1 << 16

_LEAST = 16 * 1024
"""Elements of a result below which working a table out costs more than it saves for long."""

_KEPT = 64
"""Tables that are kept, a third of a megabyte each."""


def table_of(node: NodeView, kernel: Kernel, worker: Workers) -> NDArray[np.float32] | None:
    """The table of a node that is a function of one float16, or None if not worth it."""
    facts = node.outputs[0]
    if facts.dtype is not DType.FLOAT16 or facts.elements < _LEAST:
        return None
    attributes = repr(sorted(node.attributes.items(), key=lambda item: item[0]))
    return _table(node.op, attributes, _Maker(node, kernel, worker))


class _Maker:
    """Works a table out; equal to all others, so that operator and attributes are the key."""

    def __init__(self, node: NodeView, kernel: Kernel, worker: Workers) -> None:
        self._node, self._worker = node, worker
        self._run: Callable[[Call], None] = kernel.run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Maker)

    def __hash__(self) -> int:
        return 0

    def table(self) -> NDArray[np.float32]:
        """The rounded result for every float16, at the place of its carrier."""
        numbers = np.arange(_NUMBERS, dtype=np.uint16).view(np.float16).astype(np.float32)
        results = np.empty_like(numbers)
        node = self._node
        facts = TensorFacts(DType.FLOAT16, numbers.shape)
        whole = NodeView(node.op, node.name, node.engine, (facts,), (facts,), node.attributes)
        with np.errstate(all="ignore"):
            self._run(Call(whole, (numbers,), (results,), Workspace(), self._worker))
            round_to_grid(results, DType.FLOAT16, results)
        table = np.zeros(_PLACES, np.float32)
        table[numbers.view(np.uint32) >> _CUT] = results
        table.flags.writeable = False
        return table


@lru_cache(maxsize=_KEPT)
def _table(_op: str, _attributes: str, maker: _Maker) -> NDArray[np.float32]:
    return maker.table()


def looking_up(
    table: NDArray[np.float32], values: NDArray[Any], out: NDArray[Any], workspace: Workspace
) -> Launch:
    """A launch that looks up C-ordered float16 in `table`; `out` may be `values`."""
    codes = workspace.take("codes", (ELEMENTS_AT_ONCE,), np.uint32)
    places = workspace.take("places", (ELEMENTS_AT_ONCE,), np.intp)
    bits, results = values.reshape(-1).view(np.uint32), out.reshape(-1)
    launches: list[Launch] = []
    for start in range(0, bits.size, ELEMENTS_AT_ONCE):
        block = results[start : start + ELEMENTS_AT_ONCE]
        code, place = codes[: block.size], places[: block.size]
        launches += (
            partial(np.right_shift, bits[start : start + ELEMENTS_AT_ONCE], _CUT, code),
            partial(np.copyto, place, code),
            partial(table.take, place, None, block, "wrap"),
        )
    return sequence(launches)
