"""A model whose inner values are outputs, for a run that looks at them."""

from collections.abc import Iterable
from pathlib import Path

import onnx

from atc_py.system.atomic_files import atomic_write


def write_watched(model: Path, output: Path, names: Iterable[str]) -> None:
    """Write the model in the file `model` with the values called `names` as its only outputs.

    Args:
        model: a file that atc-py wrote.
        output: the file to write, in the same folder, so that weights beside the model are found.
        names: values that nodes make.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    proto = onnx.load(model, load_external_data=False)
    types = {each.name: each for each in (*proto.graph.value_info, *proto.graph.output)}
    del proto.graph.output[:]
    proto.graph.output.extend(types.get(name, onnx.ValueInfoProto(name=name)) for name in names)
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())
