"""Whether the description of a model with gears agrees with itself and with its graphs."""

from collections.abc import Mapping, Sequence

from atc_py.diag import AtcError, Sink
from atc_py.options.gears import FEWEST_GEARS, MOST_GEARS, SHAPE_DATA, GearKind, Gears, format_gear
from atc_py.package.archive import GEARS, KERNELS, MODEL, REPORT, is_safe_member
from atc_py.package.content import Reporter
from atc_py.package.schema import (
    GEARS_VERSION,
    OmGear,
    OmIndex,
    OmModel,
    OmPort,
    record_of_gears,
    shape_data_of,
)
from atc_py.tensor.shapes import MAX_RANK, Dims, Shape, closed_shape, format_shape
from atc_py.text import Text

_LARGEST = 2**31 - 1
_TO_NHWC = (0, 2, 3, 1)


def checked_gears(index: OmIndex, file: str) -> Gears:
    report = Reporter(file, Sink())
    found = index.gears
    if found.kind not in {each.value for each in GearKind}:
        text = Text("the kind of gears must be known, found {found}")
        report.add("gears.kind", text.with_values(found=repr(found.kind)))
    _check_inputs(index, report)
    report.sink.raise_errors()
    gears = record_of_gears(found)
    if (index.format_version == GEARS_VERSION) != (gears.padding is not None):
        report.add("gears.padding", Text("names of dims must agree with every gear"))
    _check_values(gears, report)
    report.sink.raise_errors()
    if found.shape_data != shape_data_of(gears):
        text = Text("the input that chooses a gear must be int32 {shape} called {name}")
        shape = format_shape(shape_data_of(gears).shape)
        report.add("gears.shape_data", text.with_values(shape=shape, name=SHAPE_DATA))
    for position, gear in enumerate(found.gears):
        _check_members(f"gears.gears[{position}]", gear, index, report)
    used = {
        name for gear in found.gears for name in (gear.model, gear.report, *gear.kernels.values())
    }
    for name in sorted(index.members):
        if name.startswith(GEARS) and name not in used:
            text = Text("{name} must belong to a gear; none lists it")
            report.add(name, text.with_values(name=repr(name)))
    report.sink.raise_errors()
    return gears


def _check_inputs(index: OmIndex, report: Reporter) -> None:
    inputs = index.gears.inputs
    names = [each.name for each in inputs]
    if len(set(names)) < len(names):
        report.add("gears.inputs", Text("the inputs must have different names"))
    if not any(None in each.dims for each in inputs):
        report.add("gears.inputs", Text("gears need an input with an open dim"))
    for position, each in enumerate(inputs):
        known = [dim for dim in each.dims if dim is not None]
        if len(each.dims) > MAX_RANK or any(not 0 <= dim <= _LARGEST for dim in known):
            report.add(f"gears.inputs[{position}]", Text("no input can have these dims"))


def _check_values(gears: Gears, report: Reporter) -> None:
    count = len(gears.gears)
    if not FEWEST_GEARS <= count <= MOST_GEARS:
        text = Text("a model has {fewest} to {most} gears, this one has {n}")
        report.add("gears.gears", text.with_values(fewest=FEWEST_GEARS, most=MOST_GEARS, n=count))
    if len(set(gears.gears)) < count:
        report.add("gears.gears", Text("the gears must differ"))
    opened = sum(dims.count(None) for dims in gears.shapes.values())
    length = {GearKind.BATCH: 1, GearKind.IMAGE: 2, GearKind.DIMS: opened}[gears.kind]
    for position, gear in enumerate(gears.gears):
        field = f"gears.gears[{position}].values"
        if len(gear) != length or opened % length:
            text = Text("a gear must have {length} numbers, found {found}")
            report.add(field, text.with_values(length=length, found=len(gear)))
        if any(not 1 <= number <= _LARGEST for number in gear):
            report.add(field, Text("numbers of gears must be in [1, {largest}]", largest=_LARGEST))


def _check_members(field: str, gear: OmGear, index: OmIndex, report: Reporter) -> None:
    if gear.model not in index.members or not gear.model.startswith(GEARS):
        text = Text("the graph must be a member below {gears}, found {found}")
        report.add(field, text.with_values(gears=GEARS, found=repr(gear.model)))
    below = gear.report == REPORT or gear.report.startswith(GEARS)
    if gear.report not in index.members or not below:
        text = Text("the report must be {report} or below {gears}, found {found}")
        report.add(field, text.with_values(report=REPORT, gears=GEARS, found=repr(gear.report)))
    for name, member in gear.kernels.items():
        if not is_safe_member(KERNELS + name):
            text = Text("a kernel's path must be a plain relative one, found {found}")
            report.add(field, text.with_values(found=repr(name)))
        if member not in index.members or not member.startswith((GEARS, KERNELS)):
            report.add(field, Text("a kernel must be a member, found {found}", found=repr(member)))


def names_of_gear(index: OmIndex, model: OmModel, gear: int) -> dict[str, str]:
    """The members of a gear: the name in a model of its shape alone, and the real one."""
    row = index.gears.gears[gear]
    names = {tensor.member: tensor.member for tensor in model.tensors if tensor.member}
    names = {name: name for name in names if name in index.members}
    used = {node.kernel for node in model.nodes if node.kernel is not None}
    for member in index.members if used else ():
        folder, slash, _ = member.removeprefix(KERNELS).partition("/")
        if member.startswith(KERNELS) and (not slash or folder in used):
            names[member] = member
    names.update({KERNELS + name: member for name, member in row.kernels.items()})
    return {**names, REPORT: row.report, MODEL: row.model}


def check_agreement(gears: Gears, models: Sequence[OmModel], index: OmIndex, file: str) -> None:
    """Compare the graphs of all gears with the table, and with each other."""
    report = Reporter(file, Sink())
    first = models[0]
    for position, model in enumerate(models):
        field = index.gears.gears[position].model
        said = (index.producer, index.name, index.soc, index.options)
        if (model.producer, model.name, model.soc, model.options) != said:
            report.add(field, Text("a gear must have the name, SoC and options of the whole model"))
        for ports, others in ((model.inputs, first.inputs), (model.outputs, first.outputs)):
            if [_kind(model, port) for port in ports] != [_kind(first, port) for port in others]:
                report.add(field, Text("all gears must have the same inputs and outputs"))
        wanted = gears.shapes_of(position)
        if network_shapes(model, wanted) != wanted:
            text = ", ".join(f"{name} {format_shape(shape)}" for name, shape in wanted.items())
            gear = format_gear(gears.gears[position])
            reason = Text("gear {gear} must have the inputs {inputs}; its graph has others")
            report.add(field, reason.with_values(gear=gear, inputs=text))
        elif not _is_named(gears, wanted, model):
            report.add("gears.padding", Text("names of dims must agree with every gear"))
    report.sink.raise_errors()


def _is_named(gears: Gears, shapes: Mapping[str, Shape], model: OmModel) -> bool:
    """True if the sums of named dims, where there are any, are the dims of inputs and outputs."""
    padding = gears.padding
    if padding is None:
        return True
    try:
        sizes = padding.sizes(shapes)
        outputs = {
            name: tuple(dim.value(sizes) for dim in dims) for name, dims in padding.outputs.items()
        }
    except (AtcError, KeyError):
        return False
    own = {port.name: tuple(model.tensors[port.tensor].shape) for port in model.outputs}
    known = {name for dims in padding.inputs.values() for dim in dims for name in dim.names}
    whole = bool(padding.leaks) or outputs.keys() == own.keys()
    return (
        whole
        and padding.inputs.keys() == shapes.keys()
        and known == sizes.keys() >= {*padding.front, *padding.empty}
        and all(own.get(name) == dims for name, dims in outputs.items())
    )


def network_shapes(model: OmModel, wanted: Mapping[str, Shape]) -> dict[str, Dims]:
    """The shapes of a network's inputs, which AIPP makes of what is fed.

    Those that it makes are in the order NCHW; a network that has them in another is asked for by
    its `wanted` shapes. Settings of a run are no inputs of the network.
    """
    made: dict[int, Dims] = {}
    settings = set()
    for node in model.nodes:
        if node.op == "Aipp":
            made[node.inputs[0]] = tuple(model.tensors[node.outputs[0]].shape)
            settings.update(node.inputs[1:])
    found: dict[str, Dims] = {}
    for port in model.inputs:
        dims = made.get(port.tensor, tuple(model.tensors[port.tensor].shape))
        if port.tensor in made and len(dims) == len(_TO_NHWC):
            last = tuple(dims[axis] for axis in _TO_NHWC)
            dims = last if last == wanted.get(port.name) else dims
        if port.tensor not in settings:
            found[port.name] = dims
    return found


def fed_shapes(models: Sequence[OmModel]) -> tuple[dict[str, Shape], ...]:
    """The shapes of all inputs in each gear, none where they are the network's."""
    if not any(node.op == "Aipp" for node in models[0].nodes):
        return ()
    return tuple(
        {port.name: closed_shape(tuple(model.tensors[port.tensor].shape)) for port in model.inputs}
        for model in models
    )


def _kind(model: OmModel, port: OmPort) -> tuple[str, str, str, int]:
    """Facts that ports of all gears share: name, dtype, format, rank."""
    tensor = model.tensors[port.tensor]
    return port.name, tensor.dtype, tensor.format, len(tensor.shape)
