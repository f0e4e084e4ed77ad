"""The surface of a session: members that onnxruntime's class has besides its constructor and `run`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Any, NamedTuple

from atc_py.adapters.session.binding import SessionBinding
from atc_py.adapters.session.errors import NOT_IMPLEMENTED, session_error
from atc_py.adapters.session.options import PROVIDERS, check_providers
from atc_py.adapters.session.values import ModelMetadata, NodeArg, value_of
from atc_py.diag import BAD_RUN_INPUT, SESSION_UNSUPPORTED, AtcError
from atc_py.text import Text

SUPPORTED, IGNORED, REFUSED, WARNED = "supported", "ignored", "refused", "warned of"


class MemberRow(NamedTuple):
    """A member or an option: its name, how it is treated, and what it does here."""

    name: str
    standing: str
    words: str


MEMBERS = (
    MemberRow("run", SUPPORTED, "outputs in the order of the names, all of them for None or []"),
    MemberRow("run_async", SUPPORTED, "the run has a thread of its own, which calls back"),
    MemberRow("run_with_iobinding", SUPPORTED, "with what `io_binding()` returns"),
    MemberRow("run_with_ort_values", SUPPORTED, "takes and returns OrtValues"),
    MemberRow("io_binding", SUPPORTED, "memory of the host alone"),
    MemberRow("get_inputs", SUPPORTED, "name, type and shape as the model declares them"),
    MemberRow("get_outputs", SUPPORTED, "likewise, with the dims that can be inferred"),
    MemberRow("get_overridable_initializers", SUPPORTED, "listed; feeding one is refused"),
    MemberRow(
        "get_modelmeta", SUPPORTED, "the model's own metadata, `custom_metadata_map` included"
    ),
    MemberRow("get_providers", SUPPORTED, "`['CPUExecutionProvider']`"),
    MemberRow("get_provider_options", SUPPORTED, "no options for that provider"),
    MemberRow(
        "get_session_options", SUPPORTED, "the object that the constructor was given, or None"
    ),
    MemberRow("set_providers", IGNORED, "checked, and warned of like those of the constructor"),
    MemberRow("enable_fallback", IGNORED, "there is no other provider"),
    MemberRow("disable_fallback", IGNORED, "there is no other provider"),
    MemberRow("end_profiling", IGNORED, 'returns ""; no profile is written'),
    MemberRow("get_profiling_start_time_ns", IGNORED, "returns 0"),
    MemberRow("set_ep_dynamic_options", IGNORED, "there are none"),
    MemberRow("release_captured_graph", IGNORED, "no graph is captured"),
    MemberRow("run_with_ortvaluevector", REFUSED, "takes vectors of onnxruntime's own runtime"),
    MemberRow("create_ortvalue_from_shape_and_type", REFUSED, "use `OrtValue.ortvalue_from_numpy`"),
    MemberRow("get_input_memory_infos", REFUSED, "describes onnxruntime's allocators"),
    MemberRow("get_output_memory_infos", REFUSED, "describes onnxruntime's allocators"),
    MemberRow("get_input_epdevices", REFUSED, "describes onnxruntime's devices"),
    MemberRow("get_provider_graph_assignment_info", REFUSED, "describes onnxruntime's partitions"),
    MemberRow(
        "get_tuning_results", REFUSED, "onnxruntime's kernels are tuned, the device's are not"
    ),
    MemberRow(
        "set_tuning_results", REFUSED, "onnxruntime's kernels are tuned, the device's are not"
    ),
)
"""Members of onnxruntime's class."""

BINDING = (
    MemberRow("bind_cpu_input", SUPPORTED, "whatever `run` takes"),
    MemberRow("bind_input", SUPPORTED, "memory of the host; of another device it is refused"),
    MemberRow("bind_ortvalue_input", SUPPORTED, "an OrtValue of onnxruntime's or of a session"),
    MemberRow("bind_output", SUPPORTED, "memory of the host, given or taken by the session"),
    MemberRow("bind_ortvalue_output", SUPPORTED, "an OrtValue of the output's type and shape"),
    MemberRow(
        "get_outputs", SUPPORTED, "onnxruntime's OrtValues where the program has imported it"
    ),
    MemberRow("copy_outputs_to_cpu", SUPPORTED, "arrays"),
    MemberRow("clear_binding_inputs", SUPPORTED, ""),
    MemberRow("clear_binding_outputs", SUPPORTED, ""),
    MemberRow("synchronize_inputs", IGNORED, "nothing is late"),
    MemberRow("synchronize_outputs", IGNORED, "nothing is late"),
    MemberRow(
        "get_outputs_as_ortvaluevector", REFUSED, "returns a vector of onnxruntime's own runtime"
    ),
)
"""Members of onnxruntime's IOBinding."""

OPTIONS = (
    MemberRow("intra_op_num_threads", IGNORED, "the simulator takes the cores of the process"),
    MemberRow("inter_op_num_threads", IGNORED, ""),
    MemberRow("use_per_session_threads", IGNORED, ""),
    MemberRow(
        "graph_optimization_level", IGNORED, "`disable_pass` switches passes of the compiler off"
    ),
    MemberRow("execution_mode", IGNORED, ""),
    MemberRow("execution_order", IGNORED, ""),
    MemberRow("enable_cpu_mem_arena", IGNORED, ""),
    MemberRow("enable_mem_pattern", IGNORED, ""),
    MemberRow("enable_mem_reuse", IGNORED, ""),
    MemberRow("use_deterministic_compute", IGNORED, "the simulator always is deterministic"),
    MemberRow("log_severity_level", IGNORED, ""),
    MemberRow("log_verbosity_level", IGNORED, ""),
    MemberRow("logid", IGNORED, ""),
    MemberRow("profile_file_prefix", IGNORED, ""),
    MemberRow("enable_profiling", WARNED, "no profile is written"),
    MemberRow("optimized_model_filepath", WARNED, "no model is written"),
    MemberRow("add_provider", WARNED, "the session has one provider"),
    MemberRow("add_provider_for_devices", WARNED, "the session has one provider"),
    MemberRow("set_provider_selection_policy", WARNED, "the session has one provider"),
    MemberRow("set_provider_selection_policy_delegate", WARNED, "the session has one provider"),
    MemberRow("has_providers", IGNORED, ""),
    MemberRow("set_ep_context_data_read_func", IGNORED, "for models that a provider compiled"),
    MemberRow("clear_ep_context_data_read_func", IGNORED, ""),
    MemberRow("set_load_cancellation_flag", IGNORED, ""),
    MemberRow("add_free_dimension_override_by_name", SUPPORTED, "chooses dims"),
    MemberRow("add_free_dimension_override_by_denotation", SUPPORTED, "chooses dims"),
    MemberRow("add_session_config_entry", IGNORED, "entries that change numbers are warned of"),
    MemberRow("get_session_config_entry", IGNORED, ""),
    MemberRow(
        "register_custom_ops_library", REFUSED, "a model that uses such operators does not compile"
    ),
    MemberRow("add_initializer", REFUSED, "where the options record it, see below"),
    MemberRow("add_external_initializers", REFUSED, "where the options record it, see below"),
    MemberRow(
        "add_external_initializers_from_files_in_memory",
        REFUSED,
        "where the options record it, see below",
    ),
)
"""Attributes and methods of onnxruntime's SessionOptions."""

ARGUMENTS = (
    MemberRow("path_or_bytes", SUPPORTED, "path of an .onnx or .om file, or the bytes of one"),
    MemberRow("sess_options", SUPPORTED, "see below"),
    MemberRow("providers", WARNED, "others than `CPUExecutionProvider`"),
    MemberRow("provider_options", IGNORED, ""),
    MemberRow(
        "enable_fallback", IGNORED, "so are `read_config_from_model` and `disabled_optimizers`"
    ),
    MemberRow("soc", SUPPORTED, "the SoC, as in `convert`"),
    MemberRow("device", SUPPORTED, "the device that runs the model, `sim` by default"),
    MemberRow("input_shape", SUPPORTED, "dims for inputs, as in `convert`; they compile at once"),
    MemberRow("op_specs", SUPPORTED, "as in `convert`"),
    MemberRow("keep", SUPPORTED, "how many sets of shapes stay compiled, 4 by default"),
    MemberRow(
        "keep_memory", SUPPORTED, "bytes that they may need; a quarter of the limit by default"
    ),
    MemberRow(
        "precision_mode, fix, ...",
        SUPPORTED,
        "all other options of `convert` but `aipp`, see `ConvertKeywords`",
    ),
)
"""Arguments of the constructor."""


_REFUSALS = {row.name: row.words for row in MEMBERS if row.standing == REFUSED}


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
        if name not in _REFUSALS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(_refuse_member, name)


def _refuse_member(name: str, *_: object, **__: object) -> None:
    found = SESSION_UNSUPPORTED.diagnostic(
        Text("sessions have no {name}: {refusals}", name=name, refusals=_REFUSALS[name])
    )
    raise session_error(NOT_IMPLEMENTED, found)
