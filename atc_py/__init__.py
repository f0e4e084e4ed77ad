"""atc-py: check, compile and simulate ONNX models for Ascend NPUs, without CANN.

>>> import atc_py
>>> done = atc_py.convert("model.onnx", "model.om")            # doctest: +SKIP
>>> with atc_py.load("model.om") as model:                     # doctest: +SKIP
...     outputs = model.run({"input": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atc_py.api import Model, check_models, convert, fix_model, load, quantize_model
    from atc_py.compare import compare_model
    from atc_py.diag import AtcError
    from atc_py.pipeline.export import export_model
    from atc_py.pipeline.profile import profile_model
    from atc_py.session.session import InferenceSession
    from atc_py.system.memory_limit import limited_memory

__all__ = [
    "AtcError",
    "InferenceSession",
    "Model",
    "__version__",
    "check_models",
    "compare_model",
    "convert",
    "export_model",
    "fix_model",
    "limited_memory",
    "load",
    "profile_model",
    "quantize_model",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """List what is public too, also before it is imported."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `import atc_py` is instant."""
    if name in {"Model", "check_models", "convert", "fix_model", "load", "quantize_model"}:
        from atc_py import api

        return getattr(api, name)
    if name == "compare_model":
        from atc_py import compare

        return compare.compare_model
    if name == "profile_model":
        from atc_py.pipeline import profile as profiling

        return profiling.profile_model
    if name == "export_model":
        from atc_py.pipeline import export as exporting

        return exporting.export_model
    if name == "limited_memory":
        from atc_py.system import memory_limit

        return memory_limit.limited_memory
    if name == "InferenceSession":
        from atc_py.session import session

        return session.InferenceSession
    if name == "AtcError":
        from atc_py import diag

        return diag.AtcError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
