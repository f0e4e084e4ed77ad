"""The classes that a program gets in place of onnxruntime's.

Each derives from onnxruntime's: checks of types hold, programs derive from it, and what the simulated
session does not have is onnxruntime's own, opened when it is first used.
"""

import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import FrameType, ModuleType
from typing import Any

from atc_py.adapters.exec.hybrid import Hybrid
from atc_py.adapters.exec.recorder import Recorder
from atc_py.adapters.exec.simulated import is_own_work


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


_OWN = "_atc_py_hybrid"
"""Attribute of a session with its two sides."""

_ARGUMENTS = ("path_or_bytes", "sess_options", "providers", "provider_options")


def _answering(name: str) -> Callable[[Any], Any]:
    """A method without arguments: the simulated session's, or onnxruntime's where that has none."""

    def answer(self: Any) -> Any:
        made = sides_of(self)
        ours = None if made is None else getattr(made.npu, name, None)
        return getattr(self.atc_py_real, name)(self) if ours is None else ours()

    answer.__name__ = answer.__qualname__ = name
    return answer


class SimulatedMembers:
    """Members of a session on the simulated NPU; the class after it is onnxruntime's."""

    atc_py_real: Any  # onnxruntime's class
    atc_py_recorder: Recorder  # of this process

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        real, model = self.atc_py_real, _model(args, kwargs)
        if model is None or _asked_by_atc_py():
            real.__init__(self, *args, **kwargs)
            return
        made = Hybrid(real, args, kwargs, self.atc_py_recorder)
        made.open(self, model, _others(args, kwargs))
        self.__dict__[_OWN] = made
        with suppress(Exception):
            made.name(str(SimulatedMembers.get_modelmeta(self).graph_name))

    def __getattr__(self, name: str) -> Any:
        """An attribute of onnxruntime's side, which is opened for it."""
        made = sides_of(self)
        if made is None or name.startswith("__") or not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        made.open_onnxruntime(self)
        return object.__getattribute__(self, name)

    def __getstate__(self) -> Any:
        """Refuse to be pickled, as onnxruntime's sessions do."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> Any:
        """Outputs in the order of their names."""
        made, given = sides_of(self), (output_names, input_feed, run_options)
        return self.atc_py_real.run(self, *given) if made is None else made.run(self, *given)

    def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
        """Run with inputs and outputs that are bound."""
        made = sides_of(self)
        if made is None:
            self.atc_py_real.run_with_iobinding(self, iobinding, run_options)
        else:
            made.run_bound(self, iobinding, run_options)

    def run_with_ort_values(
        self, output_names: Any, input_dict_ort_values: Any, run_options: Any = None
    ) -> Any:
        """Outputs as OrtValues."""
        real, made = self.atc_py_real, sides_of(self)
        given = output_names, input_dict_ort_values, run_options
        if made is None:
            return real.run_with_ort_values(self, *given)
        if made.npu is None:
            return made.run_in_onnxruntime(self, real.run_with_ort_values, *given)
        value: Any = sys.modules[real.__module__].__dict__["OrtValue"]
        return [value.ortvalue_from_numpy(each) for each in made.run(self, *given)]

    def run_async(
        self,
        output_names: Any,
        input_feed: Any,
        callback: Any,
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Run in a thread of its own, which calls back."""
        made = sides_of(self)
        if made is None or made.npu is None:
            self.atc_py_real.run_async(
                self, output_names, input_feed, callback, user_data, run_options
            )
            return
        given = output_names, input_feed, run_options
        Thread(target=_call_back, args=(self, given, callback, user_data)).start()

    io_binding = _answering("io_binding")
    get_inputs = _answering("get_inputs")
    get_outputs = _answering("get_outputs")
    get_overridable_initializers = _answering("get_overridable_initializers")
    get_modelmeta = _answering("get_modelmeta")
    get_providers = _answering("get_providers")
    get_provider_options = _answering("get_provider_options")


def sides_of(session: object) -> Hybrid | None:
    """The two sides of a session; None for one that is onnxruntime's alone."""
    return getattr(session, "__dict__", {}).get(_OWN)


def _call_back(session: Any, given: tuple[Any, ...], callback: Any, user_data: Any) -> None:
    try:
        found = SimulatedMembers.run(session, *given)
    except Exception as error:  # noqa: BLE001  (the callback gets its text)
        callback([], user_data, str(error))
    else:
        callback(found, user_data, "")


def _model(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | bytes | None:
    given = args[0] if args else kwargs.get(_ARGUMENTS[0])
    if isinstance(given, str | os.PathLike):
        given = os.fspath(given)
    return given if isinstance(given, str | bytes) else None


def _others(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    given = dict(zip(_ARGUMENTS, args, strict=False)) | kwargs
    return {name: given[name] for name in _ARGUMENTS[1:] if name in given}


def _asked_by_atc_py() -> bool:
    """True if atc_py's own code makes the session: its reference is onnxruntime itself."""
    if is_own_work():
        return True
    caller: FrameType | None = sys._getframe(2)  # noqa: SLF001  (the caller of the constructor)
    return caller is not None and str(caller.f_globals.get("__name__")).startswith("atc_py.")
