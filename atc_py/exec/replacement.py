"""The class that a program gets as `onnxruntime.InferenceSession`.

It derives from onnxruntime's: checks of types hold, programs derive from it, and what the simulated
session does not have is onnxruntime's own, opened when it is first used.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from atc_py.exec.hybrid import Hybrid
from atc_py.exec.recorder import Recorder
from atc_py.exec.simulated import is_own_work

if TYPE_CHECKING:
    from types import FrameType, ModuleType

__all__ = ["replace"]

_OWN = "_atc_py_hybrid"
"""Attribute of a session with its two sides."""

_ARGUMENTS = ("path_or_bytes", "sess_options", "providers", "provider_options")

_DESCRIBING = (
    "get_inputs", "get_outputs", "get_overridable_initializers", "get_modelmeta", "get_providers",
    "get_provider_options", "io_binding",
)  # fmt: skip
"""Methods that the simulated session answers, if it has them."""


def replace(module: ModuleType, run: str) -> None:
    """Replace the class in the module that defines it.

    Args:
        module: `onnxruntime.capi.onnxruntime_inference_collection`.
        run: folder of the run.
    """
    real = module.InferenceSession
    made = _derived(real, Recorder(Path(run)))
    bound = _binding(module.IOBinding)
    module.InferenceSession, module.IOBinding = made, bound  # type: ignore[attr-defined]
    package: Any = sys.modules.get("onnxruntime")
    if getattr(package, "InferenceSession", None) is real:  # it was imported before the hook
        package.InferenceSession, package.IOBinding = made, bound


def record_options(package: Any) -> None:
    """Replace onnxruntime's session options by a class that a simulated session can look into.

    Args:
        package: onnxruntime.
    """
    real = package.SessionOptions
    with suppress(ImportError, AttributeError, TypeError):
        from atc_py.session.options import recorded_options

        class OptionsType(type(real)):  # type: ignore[misc]
            def __instancecheck__(cls, instance: object) -> bool:
                if cls is package.SessionOptions:
                    return isinstance(instance, real)
                return super().__instancecheck__(instance)

        inside = {"__module__": real.__module__, "__doc__": real.__doc__}
        package.SessionOptions = OptionsType(real.__name__, (recorded_options(real),), inside)


def _binding(real: Any) -> type:
    """Return onnxruntime's class of bindings, which for a simulated session makes that one's."""

    class IOBinding(real):  # type: ignore[misc]
        def __new__(cls, session: Any) -> Any:
            made = getattr(session, "__dict__", {}).get(_OWN)
            if made is None or made.npu is None:
                return super().__new__(cls)
            return session.io_binding()

    IOBinding.__module__, IOBinding.__qualname__ = real.__module__, real.__qualname__
    IOBinding.__doc__ = real.__doc__
    return IOBinding


def _derived(real: Any, recorder: Recorder) -> type:
    """Return the class, derived from onnxruntime's `real`."""

    class InferenceSession(real):  # type: ignore[misc]
        @wraps(real.__init__)
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            model = _model(args, kwargs)
            if model is None or _asked_by_atc_py():
                real.__init__(self, *args, **kwargs)
                return
            made = Hybrid(real, args, kwargs, recorder)
            made.open(self, model, _others(args, kwargs))
            self.__dict__[_OWN] = made
            with suppress(Exception):
                made.name(str(InferenceSession.get_modelmeta(self).graph_name))

        def __getattr__(self, name: str) -> Any:
            made = self.__dict__.get(_OWN)
            if made is None or name.startswith("__") or not name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made.need_other(self)
            return object.__getattribute__(self, name)

        def __getstate__(self) -> Any:
            raise TypeError(f"cannot pickle {type(self).__name__!r} object")

        @wraps(real.run)
        def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> Any:
            made = self.__dict__.get(_OWN)
            if made is None:
                return real.run(self, output_names, input_feed, run_options)
            return made.run(self, output_names, input_feed, run_options)

        @wraps(real.run_with_iobinding)
        def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
            made = self.__dict__.get(_OWN)
            if made is None:
                real.run_with_iobinding(self, iobinding, run_options)
            else:
                made.run_bound(self, iobinding, run_options)

        @wraps(real.run_with_ort_values)
        def run_with_ort_values(
            self, output_names: Any, input_dict_ort_values: Any, run_options: Any = None
        ) -> Any:
            made = self.__dict__.get(_OWN)
            given = output_names, input_dict_ort_values, run_options
            if made is None:
                return real.run_with_ort_values(self, *given)
            if made.npu is None:
                return made.elsewhere(self, real.run_with_ort_values, *given)
            return [_value(real, each) for each in made.run(self, *given)]

        @wraps(real.run_async)
        def run_async(
            self,
            output_names: Any,
            input_feed: Any,
            callback: Any,
            user_data: Any,
            run_options: Any = None,
        ) -> None:
            made = self.__dict__.get(_OWN)
            if made is None or made.npu is None:
                real.run_async(self, output_names, input_feed, callback, user_data, run_options)
                return

            def work() -> None:
                try:
                    found = made.run(self, output_names, input_feed, run_options)
                except Exception as error:  # noqa: BLE001  (the callback gets its text)
                    callback([], user_data, str(error))
                else:
                    callback(found, user_data, "")

            Thread(target=work).start()

    for name in _DESCRIBING:
        if hasattr(real, name):
            setattr(InferenceSession, name, _delegating(real, name))
    InferenceSession.__module__, InferenceSession.__qualname__ = real.__module__, real.__qualname__
    InferenceSession.__doc__ = real.__doc__
    return InferenceSession


def _delegating(real: Any, name: str) -> Any:
    """Return a method that the simulated side answers if there is one, else onnxruntime's."""
    theirs = getattr(real, name)

    @wraps(theirs)
    def method(self: Any) -> Any:
        made = self.__dict__.get(_OWN)
        ours = None if made is None else getattr(made.npu, name, None)
        return theirs(self) if ours is None else ours()

    return method


def _value(real: Any, array: Any) -> Any:
    """Return an array as onnxruntime's OrtValue."""
    made = sys.modules[real.__module__].OrtValue  # type: ignore[attr-defined]
    return made.ortvalue_from_numpy(array)


def _model(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | bytes | None:
    """Return the model that a program gives; None for what onnxruntime's class is to refuse."""
    given = args[0] if args else kwargs.get(_ARGUMENTS[0])
    if isinstance(given, str | os.PathLike):
        given = os.fspath(given)
    return given if isinstance(given, str | bytes) else None


def _others(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the other arguments of a program that concern the simulated session, by name."""
    given = dict(zip(_ARGUMENTS, args, strict=False)) | kwargs
    return {name: given[name] for name in _ARGUMENTS[1:] if name in given}


def _asked_by_atc_py() -> bool:
    """Return True if atc_py's own code makes the session: its reference is onnxruntime itself."""
    if is_own_work():
        return True
    caller: FrameType | None = sys._getframe(2)  # noqa: SLF001  (the caller of the constructor)
    return caller is not None and str(caller.f_globals.get("__name__")).startswith("atc_py.")
