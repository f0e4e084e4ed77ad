"""A session on the simulated NPU with the surface of onnxruntime's `InferenceSession`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atc_py.adapters.session.session import InferenceSession

__all__ = ["InferenceSession"]


def __getattr__(name: str) -> Any:
    """Import the class when it is first used: parts of the package serve the documentation alone."""
    if name == "InferenceSession":
        from atc_py.adapters.session import session

        return session.InferenceSession
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
