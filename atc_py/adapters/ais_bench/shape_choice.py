"""The shapes that a program sets for all inputs, of a model for which each run decides some dims."""

from collections.abc import Sequence

from atc_py.adapters.ais_bench.gear_choice import check_names, named_dims
from atc_py.adapters.ais_bench.loaded import GearedModel
from atc_py.adapters.ais_bench.refusal import refused
from atc_py.adapters.ais_bench.tensors import TensorDesc
from atc_py.options.ranges import format_ranges, outside
from atc_py.package.schema import OmModel
from atc_py.tensor.shapes import Dims, Shape


def select_shapes(text: str, model: GearedModel, inputs: Sequence[TensorDesc]) -> dict[str, Shape]:
    """The shapes of all inputs that a text such as `data:1,600;info:1,3` gives.

    Raises:
        RuntimeError: a name is wrong or missing, the model has gears, or it takes no such shape.
    """
    given = named_dims(text)
    check_names(given, inputs)
    if model.gears is not None:
        raise refused("model has gears, set one of them: it takes no other shapes")
    description = model.description()
    ports = {port.name: port.tensor for port in description.inputs}
    for name, shape in given.items():
        own = tuple(description.tensors[ports[name]].shape)
        if not _fits(shape, own) or outside(model.ranges, name, shape):
            taken = {key: dims for key, dims in model.ranges.items() if key == name}
            known = format_ranges(taken) or f"{name}:{','.join(map(str, own))}"
            raise refused(
                f"the dymShape parameter is not correct: {name} has the shape "
                f"{','.join(map(str, shape))}, but the model was converted for {known}"
            )
    return given


def _fits(shape: Shape, own: Dims) -> bool:
    pairs = zip(shape, own, strict=False)
    return len(shape) == len(own) and all(known in {None, dim} for dim, known in pairs)


def has_open_dims(description: OmModel) -> bool:
    """True if each run decides dims of inputs."""
    tensors = (description.tensors[port.tensor] for port in description.inputs)
    return any(None in tensor.shape for tensor in tensors)
