"""Descriptions of a model's inputs and outputs as aclruntime has them."""

import math
from collections.abc import Callable, Mapping, Sequence

from atc_py.adapters.ais_bench.loaded import GearedModel
from atc_py.adapters.ais_bench.tensors import TensorDesc, dtype_of
from atc_py.package.schema import OmModel, OmPort
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims

_OPEN = -1
_FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NCDHW": 30}


def describe_inputs(model: GearedModel) -> list[TensorDesc]:
    """The inputs, those that gears decide with -1 in their dims.

    The inputs with settings of dynamic AIPP are not among them.
    """
    description = model.description()
    hidden = {each.parameters for each in dynamic_pictures(description)}
    return [
        _described(description, port, port.name, _input_dims(model, at, port.name))
        for at, port in enumerate(description.inputs)
        if port.name not in hidden
    ]


def dynamic_pictures(description: OmModel) -> list[PictureInput]:
    """The inputs with pictures whose settings come with each run."""
    return [each for each in picture_inputs(description) if each.is_dynamic]


def describe_outputs(model: GearedModel) -> list[TensorDesc]:
    """The outputs; a dim that is not the same in all gears is -1."""
    description = model.description()
    names = _output_names(description)
    return [
        _described(description, port, names[at], _common_dims(model, at, _outputs))
        for at, port in enumerate(description.outputs)
    ]


def _described(
    description: OmModel, port: OmPort, name: str, dims: Dims | None = None
) -> TensorDesc:
    """An input or output of the largest gear, with other dims where they are given."""
    tensor = description.tensors[port.tensor]
    kind = DType(tensor.dtype)
    known = [dim for dim in tensor.shape if dim is not None]
    size = math.prod(known) * kind.itemsize if len(known) == len(tensor.shape) else 0
    shown = tensor.shape if dims is None else dims
    shape = [_OPEN if dim is None else dim for dim in shown]
    return TensorDesc(
        name, dtype_of(kind), _FORMATS.get(tensor.format, _FORMATS["ND"]), shape, size, size
    )


def _input_dims(model: GearedModel, at: int, name: str) -> Dims | None:
    """The dims of an input as they were given, None where a gear decides.

    Pictures have other dims than the network's input, of which those that differ are open.
    """
    if model.gears is None:
        return None
    if model.gears.fed or name not in model.gears.shapes:
        return _common_dims(model, at, _inputs)
    return model.gears.shapes[name]


def _common_dims(
    model: GearedModel, at: int, ports: Callable[[OmModel], Sequence[OmPort]]
) -> Dims | None:
    """The dims of an input or output that all gears share; None without gears."""
    if model.gears is None:
        return None
    shapes = []
    for gear in range(len(model.gears.gears)):
        description = model.description(gear)
        shapes.append(tuple(description.tensors[ports(description)[at].tensor].shape))
    if len({len(shape) for shape in shapes}) > 1:
        return shapes[0]
    return tuple(dims[0] if len(set(dims)) == 1 else None for dims in zip(*shapes, strict=True))


def _inputs(description: OmModel) -> Sequence[OmPort]:
    return description.inputs


def _outputs(description: OmModel) -> Sequence[OmPort]:
    return description.outputs


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
