"""The classes that a program gets in place of onnxruntime's.

Each derives from onnxruntime's: checks of types hold, programs derive from it, and what the simulated
session does not have is onnxruntime's own, opened when it is first used.
"""

import inspect
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from atc_py.adapters.exec.members import SimulatedMembers, sides_of
from atc_py.adapters.exec.recorder import Recorder


def replace(module: ModuleType, run: str) -> None:
    """Replace the classes of onnxruntime's `onnxruntime_inference_collection` in that module."""
    real, binding = module.InferenceSession, module.IOBinding
    inside = {"atc_py_real": real, "atc_py_recorder": Recorder(Path(run))}
    made = _derived(real, SimulatedMembers, inside)
    bound = _derived(binding, _BindingMembers, {})
    module.InferenceSession, module.IOBinding = made, bound  # type: ignore[attr-defined]
    package: Any = sys.modules.get("onnxruntime")
    if getattr(package, "InferenceSession", None) is real:  # it was imported before the hook
        package.InferenceSession, package.IOBinding = made, bound


def record_options(package: Any) -> None:
    """Replace onnxruntime's session options by a class that a simulated session can look into."""
    real = package.SessionOptions
    with suppress(ImportError, AttributeError, TypeError):
        from atc_py.adapters.session.options import recorded_options

        class OptionsType(type(real)):  # type: ignore[misc]
            def __instancecheck__(cls, instance: object) -> bool:
                if cls is package.SessionOptions:
                    return isinstance(instance, real)
                return bool(super().__instancecheck__(instance))

        inside = {"__module__": real.__module__, "__doc__": real.__doc__}
        package.SessionOptions = OptionsType(real.__name__, (recorded_options(real),), inside)


class _BindingMembers:
    """Members of the class of bindings: for a simulated session it makes that one's."""

    def __new__(cls, session: Any) -> Any:
        made = sides_of(session)
        return super().__new__(cls) if made is None or made.npu is None else session.io_binding()


def _derived(real: Any, members: type, inside: dict[str, Any]) -> type:
    """A class that looks like onnxruntime's `real`, with members before those of `real`."""
    seen = {
        "__module__": real.__module__,
        "__qualname__": real.__qualname__,
        "__doc__": real.__doc__,
        "__signature__": inspect.signature(real),
    }
    return type(real.__name__, (members, real), {**seen, **inside})
