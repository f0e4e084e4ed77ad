"""The surface of a session: members that onnxruntime's class has besides its constructor and `run`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Any

from atc_py.adapters.session.binding import SessionBinding
from atc_py.adapters.session.errors import NOT_IMPLEMENTED, session_error
from atc_py.adapters.session.options import PROVIDERS, check_providers
from atc_py.adapters.session.values import ModelMetadata, NodeArg, value_of
from atc_py.diag import BAD_RUN_INPUT, SESSION_UNSUPPORTED, AtcError
from atc_py.text import Text

REFUSALS = {
    "run_with_ortvaluevector": "takes vectors of onnxruntime's own runtime",
    "create_ortvalue_from_shape_and_type": "use `OrtValue.ortvalue_from_numpy`",
    "get_input_memory_infos": "describes onnxruntime's allocators",
    "get_output_memory_infos": "describes onnxruntime's allocators",
    "get_input_epdevices": "describes onnxruntime's devices",
    "get_provider_graph_assignment_info": "describes onnxruntime's partitions",
    "get_tuning_results": "onnxruntime's kernels are tuned, the device's are not",
    "set_tuning_results": "onnxruntime's kernels are tuned, the device's are not",
}
"""Members of onnxruntime's class that sessions do not have, with the reason."""


class SessionSurface:
    """A session as programs look at it; subclasses say how it is made and run."""

    _inputs: list[NodeArg]
    _outputs: list[NodeArg]
    _overridable: list[NodeArg]
    _metadata: ModelMetadata
    _sess_options: Any

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Outputs in the order of their names."""
        raise NotImplementedError

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Run in another thread; `callback` gets the outputs, `user_data` and a message, or ""."""

        def work() -> None:
            try:
                results = self.run(output_names, input_feed, run_options)
            except AtcError as error:
                callback([], user_data, str(error))
            else:
                callback(results, user_data, "")

        Thread(target=work, name="session").start()

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Run as `run` does, and return OrtValues."""
        return [
            value_of(each) for each in self.run(output_names, input_dict_ort_values, run_options)
        ]

    def io_binding(self) -> SessionBinding:
        """An object that inputs and outputs can be bound to."""
        return SessionBinding(
            [each.name for each in self._inputs], [each.name for each in self._outputs]
        )

    def run_with_iobinding(self, iobinding: SessionBinding, run_options: Any = None) -> None:
        """Run on what is bound.

        Raises:
            AtcError: as `run` does; BAD_RUN_INPUT where no output is bound, also a RuntimeError.
        """
        if not iobinding.wanted:
            message = Text("no output is bound")
            hint = Text("call bind_output for each output that is wanted")
            raise session_error("RuntimeError", BAD_RUN_INPUT.diagnostic(message, help=hint))
        iobinding.take(self.run(iobinding.wanted, iobinding.feeds, run_options))

    def get_inputs(self) -> list[NodeArg]:
        """The inputs."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default; sessions keep the default."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        """The model's own metadata."""
        return self._metadata

    def get_session_options(self) -> Any:
        """The session options that the constructor was given."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """The names of the execution providers."""
        return list(PROVIDERS)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """No options for each provider."""
        return {name: {} for name in PROVIDERS}

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Check providers and warn of others than the session's; nothing changes."""
        check_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """Do nothing: there is no other provider."""

    def disable_fallback(self) -> None:
        """Do nothing: there is no other provider."""

    def end_profiling(self) -> str:
        """Empty: no profile is written."""
        return ""

    def get_profiling_start_time_ns(self) -> int:
        """0: no profile is written."""
        return 0

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Do nothing: there are no such options."""

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Do nothing: no graph is captured."""

    def __getattr__(self, name: str) -> Any:
        """A function that refuses, for members that onnxruntime has and sessions do not."""
        if name not in REFUSALS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(_refuse_member, name)


def _refuse_member(name: str, *_: object, **__: object) -> None:
    found = SESSION_UNSUPPORTED.diagnostic(
        Text("sessions have no {name}: {refusals}", name=name, refusals=REFUSALS[name])
    )
    raise session_error(NOT_IMPLEMENTED, found)
