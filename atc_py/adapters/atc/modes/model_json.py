"""Mode 1 of an ONNX model, mode 5, and the file that both and the offline model's write."""

import os
from pathlib import Path

from atc_py.adapters.atc.modes.om_graph import add_graph
from atc_py.adapters.atc.modes.opening import with_fault
from atc_py.adapters.atc.modes.own_om import DROPPED_FIELDS
from atc_py.diag import BAD_OPTION, NOT_MODEL_TEXT, AtcError, AtcFault, Place
from atc_py.ir import Engine
from atc_py.onnx_graph.protos.message_json import json_text, message_json, onnx_graph_json
from atc_py.options.compile_options import CompileOptions
from atc_py.package.describe import describe
from atc_py.package.ge.protobuf_classes import model_class
from atc_py.package.schema import PackageContents
from atc_py.system.atomic_files import atomic_write
from atc_py.system.input_files import read_text
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

_OWNER_ALONE = 0o600
_MOST_TEXT = 256 << 20
"""Bytes that a text of a model may have."""

_TEXT_GROWTH = 16
"""Bytes of memory for each of its characters, as message, values and JSON text."""


def onnx_to_json(model: Path, options: CompileOptions | None = None) -> str:
    """The JSON of an ONNX model: of the file's own graph, or with options of that which is lowered.

    That one has inferred shapes and target operators (`--dump_mode=1`).
    """
    if options is None:
        return json_text(onnx_graph_json(model))
    from atc_py.pipeline.lowering import lowered_graph

    graph = lowered_graph(model, options)
    for node in graph.nodes:  # a description has engines, which only passes choose
        node.engine = Engine.AICORE
    message = model_class()()
    add_graph(message, describe(graph, PackageContents("", options.soc)), graph.name)
    return json_text(message_json(message, enum_names=False))


def text_to_json(text: Path) -> str:
    """The JSON of a model in protobuf's text form, as ATC's graph dumps are (mode 5).

    Raises:
        AtcError: with E10001 where the name does not end in .txt, with E10041 where the file
            cannot be read or is not such a text.
    """
    from google.protobuf import text_format  # type: ignore[import-untyped]

    if text.suffix != ".txt":
        raise BAD_OPTION.error(
            Text("mode 5 reads a file whose name ends in .txt, found {text}", text=text),
            help=Text("give a file such as ge_proto_00000000_graph_1_Build.txt"),
            atc=AtcFault("E10001", (str(text), "--om", "the file must end in .txt")),
        )
    fault = AtcFault("E10041", (str(text),))
    try:
        read = read_text(text, _MOST_TEXT)
    except AtcError as error:
        raise with_fault(error, fault) from error
    require_memory(len(read) * _TEXT_GROWTH, Text("the model of the text"), Place(str(text)))
    message = model_class()()
    try:
        text_format.Parse(read, message)
    except text_format.ParseError as error:
        place = Place(file=str(text), line=error.GetLine(), column=error.GetColumn())
        raise NOT_MODEL_TEXT.error(
            Text("{text} is not the text of a model: {error}", text=text, error=error),
            place=place,
            atc=fault,
        ) from error
    except RecursionError as error:
        raise NOT_MODEL_TEXT.error(
            Text("{text} is not the text of a model: messages are nested too deep", text=text),
            place=Place(file=str(text)),
            atc=fault,
        ) from error
    return json_text(message_json(message, DROPPED_FIELDS))


def save_json(text: str, path: Path) -> None:
    """Write JSON text to a file that only its owner may read.

    Raises:
        AtcError: CANNOT_WRITE with E13001; the file is then as it was.
    """
    try:
        with atomic_write(path) as file:
            os.fchmod(file.fileno(), _OWNER_ALONE)
            file.write(text.encode("utf-8", "ignore"))
    except AtcError as error:
        reason = str(error.__cause__ or error)
        raise with_fault(error, AtcFault("E13001", (str(path), reason))) from error
