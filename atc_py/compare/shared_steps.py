"""Proofs of steps, each made once: steps that differ in names alone share one."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.compare.node_group import constant_bytes
from atc_py.compare.region_proof import RegionProof, prove_step
from atc_py.fix.fixed import Applied
from atc_py.fix.step import RuleStep
from atc_py.frontend.reading.tensors import TensorReader
from atc_py.ir import ConstData

_MOST_READ = 1 << 16
"""Bytes of a constant up to which its data are looked at; a larger one is like itself alone."""


class SharedSteps:
    """Proofs of the steps of one model."""

    def __init__(
        self, tensors: TensorReader, seeds: Sequence[int], visible: Mapping[str, NDArray[Any]]
    ) -> None:
        """Take what `prove_step` takes."""
        self._tensors = tensors
        self._seeds = seeds
        self._visible = dict(visible)
        self._proofs: dict[Hashable, RegionProof] = {}

    def proof_of(self, applied: Applied) -> RegionProof:
        """Return the proof of a step."""
        key = (applied.rule.name, self._likeness(applied.step))
        if key not in self._proofs:
            self._proofs[key] = prove_step(applied, self._tensors, self._seeds, self._visible)
        return self._proofs[key]

    def _likeness(self, step: RuleStep) -> Hashable:
        """Return what the steps have in common that compute the same thing on the same data."""
        names = _Numbers()
        nodes = tuple(
            (_without_names(node.proto, names), tuple(map(names.of, node.reads)))
            for node in (*step.nodes, *step.written)
        )
        values = names.known
        return (
            nodes,
            tuple(sorted((values[n], each) for n, each in step.types.items() if n in values)),
            tuple(sorted((values[n], each) for n, each in step.ranges.items() if n in values)),
            tuple(sorted((values[n], _digest(each)) for n, each in step.consts.items())),
            tuple(name for name in step.reads if name in self._visible),
        )


class _Numbers:
    """Numbers in place of names, in the order in which they are first met."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}

    def of(self, name: str) -> int:
        """Return the number of a name."""
        return self.known.setdefault(name, len(self.known))


def _without_names(proto: onnx.NodeProto, names: _Numbers) -> Hashable:
    """Return a node without the names of its values; graphs inside keep theirs."""
    attributes = sorted(each.SerializeToString(deterministic=True) for each in proto.attribute)
    reads, writes = _numbers(proto.input, names), _numbers(proto.output, names)
    return proto.op_type, proto.domain, reads, writes, tuple(attributes)


def _numbers(several: Iterable[str], names: _Numbers) -> tuple[int, ...]:
    """Return the numbers of names."""
    return tuple(names.of(name) for name in several)


def _digest(const: ConstData) -> Hashable:
    """Return what tells a constant from others."""
    if constant_bytes(const) > _MOST_READ:
        return str(id(const))
    data = np.asarray(const.numpy()).tobytes()
    return f"{const.dtype.value}{const.shape}{hashlib.sha256(data).hexdigest()}"
