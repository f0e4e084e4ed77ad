"""The page of `InferenceSession`, derived from the tables of its members."""

from collections.abc import Iterator, Sequence

from atc_py.adapters.session.surface import ARGUMENTS, BINDING, MEMBERS, OPTIONS, MemberRow

_HEAD = """# InferenceSession

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
