"""Whether a description agrees with itself and with the archive that it describes."""

from collections import Counter
from collections.abc import Iterable

from atc_py.diag import OM_CONTENT, AtcError, Place, Sink
from atc_py.ir import Engine
from atc_py.options.ranges import parse_ranges
from atc_py.package.archive import MODEL, REPORT, WEIGHTS, is_safe_member
from atc_py.package.records import Entry
from atc_py.package.schema import INPUT_RANGES, OmIndex, OmModel, OmNode, OmPort, OmTensor
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import MAX_RANK, element_count, format_shape
from atc_py.text import Text

_MOST_BYTES = 2**62
"""Beyond this numpy cannot make an array, not even an empty one."""

_LARGEST_TEXT = 256 << 20
"""Bytes of a member that is not a weight; model.json has some 500 for each node."""

_LARGEST_LAUNCH = 256
"""Nodes of one scope; the compiler makes launches of 17, and proofs grow with their square."""

_DTYPES = [dtype.value for dtype in DType]
_FORMATS = [fmt.value for fmt in Format]
_ENGINES = [engine.value for engine in Engine]


class Reporter:
    """Adds findings about one file to a sink."""

    def __init__(self, file: str, sink: Sink) -> None:
        self._file = file
        self.sink = sink

    def add(self, field: str, message: Text) -> None:
        place = Place(file=self._file, field=field)
        advice = Text("convert the ONNX model again; if that does not help, report it as a bug")
        self.sink.add(OM_CONTENT.diagnostic(message, place=place, help=advice))

    def unknown(self, field: str, kind: str, found: str, known: Iterable[str]) -> None:
        self.add(
            field,
            Text(
                "{kind} must be one of {known}; found {actual}",
                kind=kind,
                known=", ".join(known),
                actual=repr(found),
            ),
        )


def check_names(entries: Iterable[Entry], file: str, sink: Sink) -> None:
    """Hold the members' names (each once, harmless, both documents among them) and their sizes."""
    report = Reporter(file, sink)
    entries = list(entries)
    for entry in entries:
        if entry.size > _LARGEST_TEXT and not entry.name.startswith(WEIGHTS):
            message = Text(
                "{entry} must have at most {largest_text} bytes, found {size}",
                entry=repr(entry.name),
                largest_text=_LARGEST_TEXT,
                size=entry.size,
            )
            report.add(entry.name, message)
    counts = Counter(entry.name for entry in entries)
    for name, count in counts.items():
        if count > 1:
            report.add(
                name,
                Text(
                    "a member's name must occur once; {name} occurs {count} times",
                    name=repr(name),
                    count=count,
                ),
            )
        if not is_safe_member(name):
            report.add(
                name,
                Text(
                    "a member's name must be a plain relative path; found {name}", name=repr(name)
                ),
            )
    for name in (MODEL, REPORT):
        if name not in counts:
            report.add(name, Text("the archive must have a member {name}; it has none", name=name))


def check_members(
    model: OmModel | OmIndex, entries: Iterable[Entry], file: str, sink: Sink
) -> None:
    report = Reporter(file, sink)
    present = {entry.name: entry.size for entry in entries if entry.name != MODEL}
    for name in sorted(present.keys() | model.members.keys()):
        if name not in present:
            report.add(
                name,
                Text(
                    "{model} lists a member {name} that the archive does not have",
                    model=MODEL,
                    name=repr(name),
                ),
            )
        elif name not in model.members:
            report.add(
                name,
                Text(
                    "the archive has a member {name} that {model} does not list",
                    name=repr(name),
                    model=MODEL,
                ),
            )
        elif present[name] != model.members[name].size:
            listed = model.members[name].size
            report.add(
                name,
                Text(
                    "{name} must have {listed} bytes, found {present}",
                    name=name,
                    listed=listed,
                    present=present[name],
                ),
            )


def check_description(model: OmModel, file: str, sink: Sink) -> None:
    """Hold names against the tables and positions against the tensors.

    Every tensor must have one source (a constant's member, a model input, or an output of one
    node) and that source must stand before its uses.
    """
    report = Reporter(file, sink)
    try:
        find_soc(model.soc)
    except AtcError as error:
        report.add("soc", error.diagnostics[0].message)
    for position, tensor in enumerate(model.tensors):
        _check_tensor(f"tensors[{position}]", tensor, model, report)
    made = {position for position, tensor in enumerate(model.tensors) if tensor.member is not None}
    count = len(model.tensors)
    for position, port in enumerate(model.inputs):
        field = f"inputs[{position}]"
        if _check_position(field, port.tensor, range(count), report):
            _note_source(field, port.tensor, made, report)
            _check_input(field, port, model, report)
    _check_names_of_ports(model, report)
    _check_scopes(model, report)
    for position, node in enumerate(model.nodes):
        _check_node(f"nodes[{position}]", node, (made, count), report)
    for position, port in enumerate(model.outputs):
        field = f"outputs[{position}]"
        if _check_position(field, port.tensor, range(count), report):
            _note_use(field, port.tensor, made, report)
    for position in sorted(set(range(count)) - made):
        report.add(f"tensors[{position}]", Text("a tensor must have a source; found none"))


def _check_names_of_ports(model: OmModel, report: Reporter) -> None:
    """Check that a name stands for one input, or one output; for both where one tensor is both."""
    known: dict[str, int] = {}
    for kind, ports in (("inputs", model.inputs), ("outputs", model.outputs)):
        own: set[str] = set()
        for position, port in enumerate(ports):
            field = f"{kind}[{position}]"
            if not port.name or port.name in own:
                report.add(
                    field,
                    Text(
                        "{kind} must have names of their own; found {name}",
                        kind=Text(kind),
                        name=repr(port.name),
                    ),
                )
            elif known.setdefault(port.name, port.tensor) != port.tensor:
                report.add(
                    field,
                    Text("an input and another output are called {name}", name=repr(port.name)),
                )
            own.add(port.name)


def _check_input(field: str, port: OmPort, model: OmModel, report: Reporter) -> None:
    """Check an input with open dims against the ranges that runs may choose from."""
    shape = model.tensors[port.tensor].shape
    if None not in shape:
        return
    try:
        ranges = parse_ranges(model.options.get(INPUT_RANGES, "")).get(port.name, ())
    except AtcError:
        ranges = ()
    if [None if dim.is_open else dim.low for dim in ranges] != shape:
        report.add(field, Text("an input must have known dims, or ranges for the others"))


def _check_scopes(model: OmModel, report: Reporter) -> None:
    counts = Counter(node.scope for node in model.nodes if node.scope)
    for scope, count in counts.items():
        if count > _LARGEST_LAUNCH:
            message = Text(
                "a launch has at most {largest_launch} nodes; {count} have the scope {scope}",
                largest_launch=_LARGEST_LAUNCH,
                count=count,
                scope=scope,
            )
            report.add("nodes", message)


def _check_tensor(field: str, tensor: OmTensor, model: OmModel, report: Reporter) -> None:
    if not tensor.name:
        report.add(field, Text("a tensor must have a name"))
    if tensor.format not in _FORMATS:
        report.unknown(field, "a format", tensor.format, _FORMATS)
    if tensor.dtype not in _DTYPES:
        report.unknown(field, "a dtype", tensor.dtype, _DTYPES)
    known = [dim for dim in tensor.shape if dim is not None]
    filled = element_count(max(dim, 1) for dim in known)
    if len(tensor.shape) > MAX_RANK or min(known, default=0) < 0 or filled > _MOST_BYTES:
        report.add(
            field, Text("no tensor can have the shape {shape}", shape=format_shape(tensor.shape))
        )
    member = tensor.member
    if member is not None and len(known) < len(tensor.shape):
        report.add(field, Text("a constant must have known dims"))
    if member is not None and not (member in model.members and member.startswith(WEIGHTS)):
        report.add(
            field,
            Text(
                "a constant's member must be one below {weights}; found {member}",
                weights=WEIGHTS,
                member=repr(member),
            ),
        )


def _check_node(field: str, node: OmNode, tensors: tuple[set[int], int], report: Reporter) -> None:
    made, count = tensors
    if node.engine not in _ENGINES:
        report.unknown(field, "an engine", node.engine, _ENGINES)
    for place, position in enumerate(node.inputs):
        operand = f"{field}.inputs[{place}]"
        if _check_position(operand, position, range(-1, count), report) and position >= 0:
            _note_use(operand, position, made, report)
    for place, position in enumerate(node.outputs):
        operand = f"{field}.outputs[{place}]"
        if _check_position(operand, position, range(count), report):
            _note_source(operand, position, made, report)


def _check_position(field: str, position: int, allowed: range, report: Reporter) -> bool:
    if position in allowed:
        return True
    bounds = f"[{allowed.start}, {allowed.stop - 1}]"
    report.add(
        field,
        Text(
            "a tensor's position must be in {bounds}, found {position}",
            bounds=bounds,
            position=position,
        ),
    )
    return False


def _note_use(field: str, position: int, made: set[int], report: Reporter) -> None:
    if position not in made:
        report.add(
            field,
            Text(
                "a tensor must be made before it is used; tensor {position} is not",
                position=position,
            ),
        )


def _note_source(field: str, position: int, made: set[int], report: Reporter) -> None:
    if position in made:
        report.add(
            field,
            Text("a tensor must have one source; tensor {position} has two", position=position),
        )
    made.add(position)
