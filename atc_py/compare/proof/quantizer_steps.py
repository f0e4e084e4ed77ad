"""Steps of quantizers: codes of a model that fall to the other side of a rounding, and what comes of it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxNode

_QUANTIZERS = frozenset({"AscendQuant", "DynamicQuantizeLinear", "QGemm", "QuantizeLinear"})
_CODES = (np.dtype(np.int8), np.dtype(np.uint8))
_FEW = 16
"""Codes of which one at most may fall to the other side of a rounding."""

_SHARE = 64
"""Codes of which one moves: far more than roundings reach, and few enough not to add up to a fault."""


def quantized_values(nodes: Iterable[OnnxNode]) -> tuple[str, ...]:
    """The values whose elements are codes that a node rounds to."""
    rounding = (
        node for node in nodes if node.op_type in _QUANTIZERS or node.op_type.startswith("QLinear")
    )
    return tuple(node.output_names[0] for node in rounding if node.output_names[0])


def is_step_apart(
    nodes: Iterable[OnnxNode], value: NDArray[Any], wanted: NDArray[Any], gap: float
) -> bool:
    """True if few codes of two results differ, by as many steps at most as `nodes` round to codes."""
    if wanted.dtype not in _CODES or not 0 < gap <= len(quantized_values(nodes)):
        return False
    return int(np.count_nonzero(value != wanted)) <= max(1, wanted.size // _FEW)


class MovedCodes:
    """Codes of a run of which some are a step off.

    Attributes:
        reads: the values whose codes move, each of which is computed from nothing else.
    """

    def __init__(self, names: Iterable[str], seed: int) -> None:
        self.reads: Mapping[str, Collection[str]] = dict.fromkeys(names, ())
        self._seed = seed

    def amended(
        self, name: str, value: NDArray[Any], feeds: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """The codes, one in `_SHARE` of them moved up or down by one."""
        del feeds
        if value.dtype.kind not in "iu" or not value.size:
            return value
        position = list(self.reads).index(name)
        rng = np.random.default_rng([self._seed, position])
        moved = value.reshape(-1).astype(np.int64)
        at = rng.choice(moved.size, max(1, moved.size // _SHARE), replace=False)
        moved[at] += rng.choice([-1, 1], at.size)
        limits = np.iinfo(value.dtype)
        return moved.clip(limits.min, limits.max).astype(value.dtype).reshape(value.shape)
