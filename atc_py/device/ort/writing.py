"""An exported model as bytes: head, nodes, and constants that are read one at a time."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from onnx import GraphProto, ModelProto, helper

from atc_py import __version__
from atc_py.device.ort.body import OPSET
from atc_py.device.ort.functions import DOMAIN
from atc_py.device.ort.model import Emulated
from atc_py.onnx_graph.rewriting.model_message import ModelMessage, data_path, new_tensor

IR_VERSION = 10
"""The first that has overloads of functions, and metadata of nodes."""

_ALIGNMENT = 4096
"""Alignment of constants in the file beside the model, so that they can be mapped."""


def model_bytes(emulated: Emulated, name: str, *, location: str | None = None) -> bytes:
    """A model as bytes.

    Args:
        emulated: its parts.
        name: name of its graph.
        location: where the constants of some size are said to be instead of in the model; the
            caller provides them, by name.
    """
    message = _message(emulated, name, {})
    if location is not None:
        message.move_weights(location)
    out = BytesIO()
    message.write(out)
    return out.getvalue()


def write_model(
    emulated: Emulated,
    name: str,
    output: Path,
    metadata: Mapping[str, str],
    *,
    external: bool = False,
) -> tuple[int, Path | None]:
    """Write a model to a file, which appears whole or not at all.

    With `external` constants are in a file beside the model, as those of 1.8 GB always are.

    Returns:
        Bytes of all that was written, and the file beside the model, None where there is none.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    message = _message(emulated, name, metadata)
    data = data_path(output) if external or message.is_large else None
    return message.save(output, data), data


def _message(emulated: Emulated, name: str, metadata: Mapping[str, str]) -> ModelMessage:
    model = ModelProto(ir_version=IR_VERSION, producer_name="atc-py", producer_version=__version__)
    model.opset_import.append(helper.make_opsetid("", OPSET))
    if emulated.functions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    model.functions.extend(emulated.functions)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    graph = GraphProto(name=name or "graph")
    graph.node.extend(emulated.nodes)
    graph.input.extend(emulated.inputs)
    graph.output.extend(emulated.outputs)
    graph.value_info.extend(emulated.values)
    weights = [new_tensor(each.name, each) for each in emulated.initializers]
    return ModelMessage.of(model, graph, (), weights, _ALIGNMENT)
