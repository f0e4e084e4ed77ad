"""The interface of ais_bench on the simulated device: `InferSession`, and its command line.

A script needs another import and nothing else: `from atc_py.ais_bench.infer.interface import
InferSession`. Times are estimates of the time on the NPU, as `atc-py profile` has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atc_py.adapters.ais_bench.interface import InferSession, MemorySummary, MultiDeviceSession
    from atc_py.adapters.ais_bench.tensors import AclTensor as Tensor

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession", "Tensor"]


def __getattr__(name: str) -> Any:
    """A class of the interface, which is imported when it is first asked for."""
    if name == "Tensor":
        from atc_py.adapters.ais_bench import tensors

        return tensors.AclTensor
    if name in __all__:
        from atc_py.adapters.ais_bench import interface

        return getattr(interface, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
