"""Descriptions of a model's inputs and outputs as aclruntime has them."""

import math
from collections.abc import Mapping

from atc_py.adapters.ais_bench.tensors import TensorDesc, dtype_of
from atc_py.package.schema import OmModel, OmPort
from atc_py.pipeline.running.model import Model, Port
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims

_OPEN = -1
_FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NCDHW": 30}


def describe_inputs(model: Model) -> list[TensorDesc]:
    """The inputs, those that gears decide with -1 in their dims.

    The inputs with settings of dynamic AIPP are not among them.
    """
    description = model.description
    hidden = {each.parameters for each in dynamic_pictures(description)}
    return [
        _described(description, stored, port.name, _input_dims(model, port))
        for port, stored in zip(model.inputs, description.inputs, strict=True)
        if port.name not in hidden
    ]


def dynamic_pictures(description: OmModel) -> list[PictureInput]:
    """The inputs with pictures whose settings come with each run."""
    return [each for each in picture_inputs(description) if each.is_dynamic]


def describe_outputs(model: Model) -> list[TensorDesc]:
    """The outputs; a dim that is not the same in all gears is -1."""
    names, stored = _output_names(model.description), model.description.outputs
    return [
        _described(model.description, each, name, port.shape)
        for port, each, name in zip(model.outputs, stored, names, strict=True)
    ]


def _described(description: OmModel, port: OmPort, name: str, dims: Dims) -> TensorDesc:
    """An input or output with these dims, its bytes those of the largest gear."""
    tensor = description.tensors[port.tensor]
    kind = DType(tensor.dtype)
    known = [dim for dim in tensor.shape if dim is not None]
    size = math.prod(known) * kind.itemsize if len(known) == len(tensor.shape) else 0
    shape = [_OPEN if dim is None else dim for dim in dims]
    return TensorDesc(
        name, dtype_of(kind), _FORMATS.get(tensor.format, _FORMATS["ND"]), shape, size, size
    )


def _input_dims(model: Model, port: Port) -> Dims:
    """The dims of an input as they were given, None where a gear decides.

    Pictures have other dims than the network's input, of which those that differ are open.
    """
    gears = model.gears
    if gears is None or gears.fed:
        return port.shape
    return gears.shapes.get(port.name, port.shape)


def _output_names(description: OmModel) -> list[str]:
    """`node:index:tensor` of each output; the node is that of the source model."""
    makers: Mapping[int, tuple[str, int]] = {
        tensor: (node.origins[-1].name if node.origins else node.name, index)
        for node in description.nodes
        for index, tensor in enumerate(node.outputs)
    }
    names = []
    for port in description.outputs:
        node, index = makers.get(port.tensor, (port.name, 0))
        names.append(f"{node or port.name}:{index}:{port.name}")
    return names
