"""The gear that a program sets: by batch, by height and width, by dims or by shapes of inputs."""

from collections.abc import Iterator, Mapping, Sequence

from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, refused
from atc_py.adapters.ais_bench.tensors import TensorDesc
from atc_py.options.gears import GearKind, Gears
from atc_py.options.ranges import format_ranges, outside
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.gears import holding_gear
from atc_py.pipeline.running.model import Model
from atc_py.tensor.shapes import Dims, Shape


def gear_of_batch(gears: Gears | None, batch: int) -> int:
    """The gear of a batch."""
    found = _of_kind(gears, GearKind.BATCH)
    known = [gear[0] for gear in found.gears]
    if batch not in known:
        listed = "".join(f"[{each}]" for each in known)
        raise refused(
            "the dymBatch parameter is not correct",
            f"model has dynamic batch size:{{{listed}}}, please set correct dynamic batch size",
        )
    return known.index(batch)


def gear_of_image(gears: Gears | None, height: int, width: int) -> int:
    """The gear of an image size."""
    found = _of_kind(gears, GearKind.IMAGE)
    if (height, width) not in found.gears:
        listed = "".join(f"[{h},{w}]" for h, w in found.gears)
        raise refused(
            "the dymHW parameter is not correct",
            f"model has dynamic image size:{{{listed}}}, please set correct dynamic image size",
        )
    return found.gears.index((height, width))


def gear_of_dims(gears: Gears | None, dims: Mapping[str, Shape]) -> int:
    """The gear of the dims of all inputs; data of sizes between gears are padded to the next."""
    found = _of_kind(gears, GearKind.DIMS)
    known = bool(dims) and dims.keys() <= found.shapes.keys()
    fitting = found.matching(dims) if known else ()
    if known and not fitting and found.padding is not None:
        with as_runtime_errors("the dynamic_dims parameter is not correct"):
            return holding_gear(found, found.padding, dims)[0]
    if not fitting:
        raise refused(
            "the dynamic_dims parameter is not correct",
            f"model has {len(found.gears)} gear of dims",
            *_lines_of_dims(found),
            "check dynamic dims failed, please set correct dymDims paramenter",
        )
    return fitting[0]


def named_dims(text: str) -> dict[str, Shape]:
    """Dims by input of a text such as `data:1,600;info:1,3`."""
    found: dict[str, Shape] = {}
    for part in filter(None, text.split(";")):
        name, _, dims = part.rpartition(":")
        try:
            found[name] = tuple(int(dim) for dim in dims.split(",")) if dims else ()
        except ValueError:
            raise refused(f"the dims {part!r} are not name:1,600") from None
    return found


def check_names(dims: Mapping[str, Shape], inputs: Sequence[TensorDesc]) -> None:
    """Refuse shapes that are not one for each input."""
    if len(dims) != len(inputs):
        raise refused(f"om has {len(inputs)} input, but dymShape parametet give {len(dims)}")
    if any(each.name not in dims for each in inputs):
        raise refused("the dymShape parameter set error, please check input name")


def _of_kind(gears: Gears | None, kind: GearKind) -> Gears:
    if gears is None or gears.kind is not kind:
        raise refused(f"the {kind.parameter} parameter is not specified for model conversion")
    return gears


def _lines_of_dims(gears: Gears) -> Iterator[str]:
    """Yield a line for each gear: the dims of all inputs, one after another."""
    for gear in range(len(gears.gears)):
        dims = [dim for shape in gears.shapes_of(gear).values() for dim in shape]
        yield f"dims[{gear}]:{''.join(f'[{dim}]' for dim in dims)}"


def select_shapes(text: str, model: Model, inputs: Sequence[TensorDesc]) -> dict[str, Shape]:
    """The shapes of all inputs that a text such as `data:1,600;info:1,3` gives."""
    given = named_dims(text)
    check_names(given, inputs)
    if model.gears is not None:
        raise refused("model has gears, set one of them: it takes no other shapes")
    ports = {port.name: port for port in model.inputs}
    for name, shape in given.items():
        own = ports[name].shape
        ranges = {name: ports[name].ranges} if ports[name].ranges else {}
        if not _fits(shape, own) or outside(ranges, name, shape):
            known = format_ranges(ranges) or f"{name}:{','.join(map(str, own))}"
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
