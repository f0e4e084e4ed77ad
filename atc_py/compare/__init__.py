"""Comparison of a compiled model with its original, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atc_py.compare.model import compare_model

__all__ = ["compare_model"]


def __dir__() -> list[str]:
    """List what is public too, also before it is imported."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import what is public when it is first used: it brings numpy."""
    if name == "compare_model":
        from atc_py.compare import model

        return model.compare_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
