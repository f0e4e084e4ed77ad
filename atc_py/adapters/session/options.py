"""Session options of onnxruntime, read: what has no meaning here, what is honored, what is refused.

onnxruntime's own object does not tell which dims, libraries and initializers it was given. Dims are
found by a session of onnxruntime's on a model of nothing but inputs of those names; libraries and
initializers only where the class of the options records them, as that of `recorded_options` does. A
model that needs a library does not compile in any case, for its operators are on no list.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from atc_py.adapters.session.errors import (
    NOT_IMPLEMENTED,
    SessionWarning,
    session_error,
    session_warning,
)
from atc_py.diag import BAD_OPTION, SESSION_UNSUPPORTED, AtcError, Diagnostic
from atc_py.onnx_graph.reading.interface import DeclaredDims, DeclaredValue, inputs_alone
from atc_py.text import Text

_BINDINGS = "onnxruntime.capi.onnxruntime_pybind11_state"

_CHANGES_NUMBERS = (
    "session.set_denormal_as_zero",
    "session.disable_quant_qdq",
    "session.disable_double_qdq_remover",
    "session.enable_quant_qdq_cleanup",
    "session.qdqisint8allowed",
    "session.x64quantprecision",
    "optimization.enable_gelu_approximation",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
)
"""Entries of the configuration that let onnxruntime compute something else."""

_FROM_BYTES = (False, False)
"""Of the bindings' constructor: the model is no path, and does not configure the session."""

_REASON = 300
"""Characters of a reason of onnxruntime's that are shown."""

_OFF = {"", "0"}

_FORMAT = "session.load_model_format"
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"

_RECORDED = "_atc_py_calls"
"""Attribute in which recorded options keep the calls of their methods."""

_BY_NAME = "add_free_dimension_override_by_name"
_BY_DENOTATION = "add_free_dimension_override_by_denotation"
_REFUSED = {
    "register_custom_ops_library": "the session options have a library of custom operators{shown}",
    "add_initializer": "the session options replace initializers{shown}",
    "add_external_initializers": "the session options replace initializers{shown}",
    "add_external_initializers_from_files_in_memory": "the session options replace initializers{shown}",
}
"""Methods that give a session what the device cannot have, and what is said of them."""


@lru_cache(maxsize=8)
def recorded_options(base: type) -> type:
    """A class of session options that records what `base`, onnxruntime's, does not tell."""

    def recording(name: str) -> Any:
        inner = getattr(base, name)

        def method(self: Any, *given: Any) -> Any:
            result = inner(self, *given)
            self.__dict__.setdefault(_RECORDED, []).append((name, given))
            return result

        method.__name__, method.__doc__ = name, inner.__doc__
        return method

    names = [each for each in (_BY_NAME, _BY_DENOTATION, *_REFUSED) if hasattr(base, each)]
    return type(base.__name__, (base,), {name: recording(name) for name in names})


def use_options(options: Any) -> None:
    """Refuse options that ask for what the device does not have; warn of those without effect.

    Raises:
        AtcError: SESSION_UNSUPPORTED with every finding.
    """
    found = [*_refusals(options)]
    if found:
        raise session_error(NOT_IMPLEMENTED, *found)
    for warning in _warnings(options):
        warnings.warn(warning, stacklevel=3)


def _refusals(options: Any) -> Iterator[Diagnostic]:
    for name, given in _calls(options):
        if name in _REFUSED:
            shown = f" {given[0]!r}" if given and isinstance(given[0], str) else ""
            message = Text(_REFUSED[name], shown=shown)
            yield SESSION_UNSUPPORTED.diagnostic(message, help=Text("leave out {name}", name=name))
    if _entry(options, _FORMAT).upper() == "ORT":
        message = Text(
            "the session options set {format} to ORT, onnxruntime's own format", format=_FORMAT
        )
        yield SESSION_UNSUPPORTED.diagnostic(message, help=Text("give the ONNX model"))


def _warnings(options: Any) -> Iterator[SessionWarning]:
    """Yield a warning for each option that has no effect, and would have one in onnxruntime."""
    for key in _CHANGES_NUMBERS:
        value = _entry(options, key)
        if value not in _OFF:
            yield session_warning(f"the session option {key} = {value} has no effect")
    has_providers = getattr(options, "has_providers", None)
    if has_providers is not None and has_providers():
        yield session_warning("execution providers that session options choose have no effect")
    if getattr(options, "enable_profiling", False):
        yield session_warning(
            "no profile is written", "`atc-py profile` shows the time of each node"
        )
    if getattr(options, "optimized_model_filepath", ""):
        yield session_warning("no optimized model is written", "`atc-py convert` writes a package")


def weights_folder(options: Any) -> str | None:
    """The folder of the weights beside a model that comes as bytes, if options name one."""
    return _entry(options, _WEIGHTS_FOLDER) or None


def select_dims(options: Any, inputs: Sequence[DeclaredValue]) -> dict[str, DeclaredDims]:
    """The dims of the inputs with open dims that the options override, by input."""
    if options is None or all(isinstance(dim, int) for each in inputs for dim in each.dims or ()):
        return {}
    if hasattr(options, _RECORDED) or not _is_native(options):
        found = {each.name: _overridden(each, _calls(options)) for each in inputs}
    else:
        found = _probed(options, inputs)
    dims = {each.name: found.get(each.name) for each in inputs if each.dims is not None}
    return {name: each for name, each in dims.items() if each is not None}


def _overridden(
    value: DeclaredValue, calls: list[tuple[str, tuple[Any, ...]]]
) -> DeclaredDims | None:
    """The dims of an input after the recorded overrides."""
    names = {str(given[0]): int(given[1]) for name, given in calls if name == _BY_NAME}
    kinds = {str(given[0]): int(given[1]) for name, given in calls if name == _BY_DENOTATION}
    if value.dims is None:
        return None
    meant = (*value.denotations, *[""] * len(value.dims))
    return tuple(
        dim if isinstance(dim, int) else names.get(dim or "", kinds.get(meant[axis] or "", dim))
        for axis, dim in enumerate(value.dims)
    )


def _probed(options: Any, inputs: Sequence[DeclaredValue]) -> dict[str, DeclaredDims | None]:
    """The dims that a session of onnxruntime's gives inputs of these names and types."""
    bindings: Any = sys.modules[_BINDINGS]
    model = inputs_alone(inputs)
    try:
        with _writing_nothing(options):
            session = bindings.InferenceSession(options, model, *_FROM_BYTES)
            session.initialize_session([], [], set())
            found = {each.name: tuple(each.shape) for each in session.inputs_meta}
    except Exception as error:
        reason = " ".join(str(error).split())[:_REASON]
        message = Text(
            "onnxruntime does not take the session options with such inputs: {reason}",
            reason=reason,
        )
        hint = Text("leave out initializers and dims that the model does not have")
        refusal = SESSION_UNSUPPORTED.diagnostic(message, help=hint)
        raise session_error(NOT_IMPLEMENTED, refusal) from error
    return {
        each.name: found[each.name]
        for each in inputs
        if each.dims is not None and len(found.get(each.name, ())) == len(each.dims)
    }


@contextmanager
def _writing_nothing(options: Any) -> Iterator[None]:
    before = options.enable_profiling, options.optimized_model_filepath
    options.enable_profiling, options.optimized_model_filepath = False, ""
    try:
        yield
    finally:
        options.enable_profiling, options.optimized_model_filepath = before


def _is_native(options: Any) -> bool:
    known = getattr(sys.modules.get(_BINDINGS), "SessionOptions", None)
    return known is not None and isinstance(options, known)


def _calls(options: Any) -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = getattr(options, _RECORDED, [])
    return found


def _entry(options: Any, key: str) -> str:
    read = getattr(options, "get_session_config_entry", None)
    if read is None:
        return ""
    try:
        return str(read(key))
    except (RuntimeError, KeyError):
        return ""


PROVIDERS = ("CPUExecutionProvider",)
"""Providers of every session: outputs are in the memory of the host, and programs expect this one."""


def check_providers(providers: Any, options: Any = None) -> None:
    """Check providers as onnxruntime does, and warn of those that are not there.

    Args:
        providers: names, or pairs of a name and its options; None for the default.
        options: a mapping for each provider, where `providers` has names alone.

    Raises:
        AtcError: BAD_OPTION, and a ValueError, for anything else.
    """
    for name in _names(providers, options):
        if name not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            warnings.warn(
                session_warning(f"the execution provider {name!r} is not available here: {known}"),
                stacklevel=3,
            )


def _names(providers: Any, options: Any) -> Iterator[str]:
    if providers is None:
        return
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise _bad(
            Text("providers must be a list of names, found {providers}", providers=repr(providers))
        )
    if options is not None and (
        not isinstance(options, Sequence)
        or len(options) != len(providers)
        or not all(isinstance(each, dict) for each in options)
        or not all(isinstance(each, str) for each in providers)
    ):
        raise _bad(Text("provider_options must be a list with a dict for each name in providers"))
    for each in providers:
        if isinstance(each, str):
            yield each
        elif _is_pair(each):
            yield each[0]
        else:
            raise _bad(
                Text(
                    "a provider must be a name, or a name with a dict, found {item}",
                    item=repr(each),
                )
            )


def _is_pair(each: Any) -> bool:
    return (
        isinstance(each, tuple)
        and [*map(type, each)][:1] == [str]
        and len(each) == 2  # noqa: PLR2004  (a pair)
        and isinstance(each[1], dict)
    )


def _bad(message: Text) -> AtcError:
    return session_error("ValueError", BAD_OPTION.diagnostic(message))
