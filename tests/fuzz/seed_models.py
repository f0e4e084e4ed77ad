"""The sound models that mutation starts from: one of each listed operator, and real ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from atc_py.spec import OpSpec, library
from tests.spec.one_node import build

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
"""Conformance cases and networks; mutation does without them where they are not there."""

_LARGE = 2**20
"""Bytes of a network that is kept in memory only while it is mutated."""


@dataclass(frozen=True)
class SeedModel:
    """A sound model.

    Attributes:
        name: what it is called, the same on every machine.
        source: its file, or the specification of the operator that it consists of.
    """

    name: str
    source: Path | OpSpec

    @property
    def data(self) -> bytes:
        """The bytes of its file."""
        if isinstance(self.source, Path) and self.source.stat().st_size > _LARGE:
            return self.source.read_bytes()
        return self._kept

    @cached_property
    def _kept(self) -> bytes:
        """The bytes, read or made once."""
        if isinstance(self.source, Path):
            return self.source.read_bytes()
        spec = self.source
        opset = 13 if spec.custom else max(spec.opsets)
        return bytes(build(spec, opset).SerializeToString())


@cache
def seed_models(*, shared: bool) -> Sequence[SeedModel]:
    """Return the models by name.

    Args:
        shared: also the conformance cases and networks beside the project, where they are.
    """
    found = [SeedModel(f"spec/{spec.op}", spec) for spec in library().all()]
    if shared:
        cases = sorted(SHARED.glob("onnx_suite/*/*/model.onnx"))
        found += [SeedModel(f"suite/{each.parent.name}", each) for each in cases]
        networks = sorted(SHARED.glob("models/*/model.onnx"))
        found += [SeedModel(f"models/{each.parent.name}", each) for each in networks] * 3
    return tuple(found)
