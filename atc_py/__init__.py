"""atc-py: check, compile and simulate ONNX models for Ascend NPUs, without CANN.

What there is, each with a page of its own, such as `help(atc_py.convert)`:

    check_models     find what the operator list refuses in ONNX files, before anything is compiled
    fix_model        write an equivalent ONNX file that the list takes
    quantize         run a float ONNX model over samples, and write it with its layers on int8
    quantize_model   write a quantized ONNX file in the form of Ascend's toolkit, or in QDQ form
    convert          compile an ONNX file to an offline model, `.om`
    load             open an offline model on the simulated NPU
    Model            what `load` returns; `Model.run` takes and returns arrays by name
    compare_model    compile an ONNX file and compare each layer with the original
    plan_model       find the cheapest dtypes of nodes that reach a target
    profile_model    estimate time and memory on one SoC or several
    export_model     write a compiled model as ONNX, with the arithmetic of the NPU
    InferenceSession a drop-in for onnxruntime's class of that name
    limited_memory   hold work to so many bytes
    AtcError         what all of them raise: coded diagnostics, each with place and hint

Models are named by paths. Arrays are numpy's, of the dtypes and shapes of the model's inputs, which
`Model.inputs` lists; bfloat16, int4 and other dtypes that numpy lacks are those of `ml_dtypes`.
Options have the names and values of the command line: `--precision-mode force_fp16` is
`precision_mode="force_fp16"`. An unknown keyword is a TypeError, anything else that is wrong an
AtcError. Files are written whole or not at all. Notebooks show check reports, comparisons and
profiles as tables.

Example:
    >>> import atc_py, numpy as np
    >>> atc_py.check_models("model.onnx").standing.value
    'supported'
    >>> done = atc_py.convert("model.onnx", "model.om", soc="Ascend310P3")
    >>> with atc_py.load("model.om") as model:
    ...     (port,) = model.inputs
    ...     outputs = model.run({port.name: np.ones(port.shape, port.dtype.numpy)})
    >>> {name: (array.dtype.name, array.shape) for name, array in outputs.items()}
    {'y': ('float32', (1, 4, 8, 8))}
    >>> compared = atc_py.compare_model("model.onnx", soc="Ascend310P3", samples=2)
    >>> compared.layers[compared.outputs["y"]].dtype
    'float32'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.system.notebook import set_renderer

if TYPE_CHECKING:
    from atc_py.adapters.session.session import InferenceSession
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
    from atc_py.quantizing.plan.plan_model import plan_model
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
    "plan_model",
    "profile_model",
    "quantize",
    "quantize_model",
]

__version__ = "0.2.0"


def __dir__() -> list[str]:
    """List what is public too, also before it is imported."""
    return sorted({*globals(), *__all__})


_MODULES = {
    "AtcError": "diag",
    "InferenceSession": "adapters.session.session",
    "Model": "pipeline.running.model",
    "check_models": "api",
    "compare_model": "compare",
    "convert": "pipeline.convert",
    "export_model": "pipeline.export",
    "fix_model": "api",
    "limited_memory": "system.memory_limit",
    "load": "api",
    "plan_model": "quantizing.plan.plan_model",
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


def _rendered(result: object) -> str:
    """A result as HTML; what that takes is imported when a notebook shows one."""
    from atc_py.report.notebook import result_html

    return result_html(result)


set_renderer(_rendered)
