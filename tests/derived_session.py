"""The page of `InferenceSession`, derived from the tables of its members."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from atc_py.adapters.session.surface import REFUSALS

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
    *(MemberRow(name, REFUSED, words) for name, words in REFUSALS.items()),
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

_HEAD = """# InferenceSession

```console
$ python -c 'import numpy, atc_py as ort; print(ort.InferenceSession("loud.onnx").run(None, {"x": numpy.load("x.npy")}))'
[array([[inf, inf, inf, inf, inf, inf, inf, inf]], dtype=float32)]
```

With `import onnxruntime as ort` the same line prints 12: y = Log(Exp(12)), and Exp(12) is beyond float16, which the NPU computes in.
(`loud.onnx` and `x.npy` are those of the [README](../README.md).)

`atc_py.InferenceSession` runs a model on the simulated NPU for programs that are written for onnxruntime. A program changes one
line:

```python
from atc_py import InferenceSession  # instead of: from onnxruntime import InferenceSession

session = InferenceSession("model.onnx", providers=["CPUExecutionProvider"], soc="Ascend310P3")
scores, boxes = session.run(None, {"images": batch})
```

## Shapes

The device runs models whose dims are all fixed. A model that leaves none open compiles in the constructor. Any other
model is compiled for the shapes that a program feeds, when it feeds them for the first time; the constructor checks it with
open dims and refuses it if no dims would compile. No model compiles with open dims here. Dims of 0 do not compile either.
An .om with gears or ranges ([gears.md](gears.md)) runs the shapes that it was converted for and refuses others;
gears of `auto_gears` take smaller data, padded. With that option an .onnx compiles for gears instead of what is fed.

The file is read once, its weights stay where they are in the file, and a file that is written again afterwards is refused. The
last `keep` sets of shapes stay compiled (4 by default), as long as they need at most `keep_memory` together: for each, the weights
and all values of the memory plan ([memory.md](memory.md)); by default a quarter of what `--max-memory` limits. The one used
longest ago is dropped first, and the newest always stays. These are bytes of the device. The simulator computes float16 in
float32, beside scratch memory of its own, and takes up to five times as much; that is why the share is a quarter.
Shapes that do not compile fail again at once.

`session.compilations` has a record of each compilation: shapes, seconds, bytes, warnings of the compiler. `session.kept` names the
shapes that are compiled now; `session.runs` and `session.run_seconds` count runs and their time without compilation. `session.close()`,
or the end of a `with` block, releases everything. Nothing stays on disk: what is compiled is mapped, and its file removed at once.

Any number of threads may share a session; one compiles while others run. In a forked process a session loads its models again, and
a pickled session opens its model again. Bytes of a model are pickled with it.

## Data

Inputs are arrays, lists or OrtValues; types and shapes must be those of the model, as in onnxruntime. Outputs have the types that
the model declares, whatever `--output-type` makes of them inside. An array of one element may be fed to a scalar input. Inputs that
`fix` binds to a value accept that value alone.

`get_inputs`, `get_outputs` and `get_modelmeta` describe an .onnx as onnxruntime does. Dims of outputs that the compiler knows are
numbers; one that it does not know has the name that the file declares for it, or None. An .om has the shapes that it was
converted for; its metadata are the graph's name, the producer and, in `custom_metadata_map`, the SoC and the options.

## Errors and warnings

Every error is an `AtcError` with codes, and all findings come at once. It also is of the class that onnxruntime raises, where a
program has imported onnxruntime: `InvalidArgument` for data, `NoSuchFile`, `InvalidProtobuf` and `InvalidGraph` for models
that cannot be read, `NotImplemented` for those that do not compile; a missing input is a `ValueError`. A `SessionWarning` says
that an option has no effect.
"""

_MIDDLE = """
onnxruntime's own object does not tell which dims, libraries and initializers it was given. Dims are found by a session of
onnxruntime's on a model that has nothing but inputs of the same names. Libraries and initializers are known where the options
record them: `atc_py.adapters.session.options.recorded_options(onnxruntime.SessionOptions)` is a class that does. A model that uses
operators of a library is refused in any case.
"""


def session_page() -> Iterator[str]:
    """Yield every member with what it does."""
    yield from _HEAD.splitlines()
    yield ""
    yield "## Arguments of the constructor"
    yield from _table("argument", ARGUMENTS)
    yield "## Members"
    yield ""
    yield "A call of a refused member raises ATC1040."
    yield from _table("member", MEMBERS)
    yield "## What `io_binding()` returns"
    yield from _table("member", BINDING)
    yield "## Session options"
    yield from _table("option", OPTIONS)
    yield from _MIDDLE.strip().splitlines()


def _table(title: str, rows: Sequence[MemberRow]) -> Iterator[str]:
    """Yield rows as a table."""
    yield ""
    yield f"| {title} | | here |"
    yield "| --- | --- | --- |"
    for row in rows:
        yield f"| `{row.name}` | {row.standing} | {row.words} |"
    yield ""
