"""atc-py: check, compile and simulate ONNX models for Ascend NPUs, without CANN.

>>> import atc_py
>>> done = atc_py.convert("model.onnx", "model.om")            # doctest: +SKIP
>>> with atc_py.load("model.om") as model:                     # doctest: +SKIP
...     outputs = model.run({"input": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atc_py.api import (
        Model,
        check_models,
        convert,
        fix_model,
        load,
        quantize,
        quantize_model,
    )
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
    "quantize",
    "quantize_model",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """List what is public too, also before it is imported."""
    return sorted({*globals(), *__all__})


_MODULES = {
    "AtcError": "diag",
    "InferenceSession": "session.session",
    "Model": "api",
    "check_models": "api",
    "compare_model": "compare",
    "convert": "api",
    "export_model": "pipeline.export",
    "fix_model": "api",
    "limited_memory": "system.memory_limit",
    "load": "api",
    "profile_model": "pipeline.profile",
    "quantize": "api",
    "quantize_model": "api",
}
"""The modules that define the public names."""


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `import atc_py` is instant."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
