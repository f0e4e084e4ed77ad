"""From graph to description: tensors by number, dtypes by name, tuples as lists, the memory plan."""

from collections.abc import Iterator, Mapping

from atc_py.diag import OM_PLAN, Place, Sink
from atc_py.ir import (
    AttrValue,
    Engine,
    Graph,
    Home,
    Node,
    PlacedNode,
    PlacedTensor,
    Placement,
    Proof,
    Value,
    prove,
    size_of_weights,
)
from atc_py.package.archive import weight_member
from atc_py.package.schema import (
    FORMAT,
    FORMAT_VERSION,
    OmAttribute,
    OmMemory,
    OmModel,
    OmNode,
    OmOrigin,
    OmPort,
    OmStorage,
    OmTensor,
    PackageContents,
)
from atc_py.package.stored_types import storage_of, stored_dims, stored_nbytes
from atc_py.target import JOINED_IN_PLACE, find_operator, is_view
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims
from atc_py.text import Text


def weight_members(graph: Graph) -> dict[Value, str]:
    """The member of each constant, where the archive has that graph alone."""
    return {value: weight_member(at, value.name) for at, value in enumerate(graph.constants())}


def describe(
    graph: Graph, contents: PackageContents, members: Mapping[Value, str] | None = None
) -> OmModel:
    """The description of a typed graph, without digests; tensors as in `graph.values()`.

    `members` are those of the constants; by default `weight_members`.

    Raises:
        ValueError: a node has no engine yet.
    """
    values = graph.values()
    members = weight_members(graph) if members is None else members
    number = {value: position for position, value in enumerate(values)}
    return OmModel(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        producer=contents.producer,
        name=graph.name,
        soc=contents.soc,
        options=dict(contents.options),
        inputs=[OmPort(value.name, number[value]) for value in graph.inputs],
        outputs=[
            OmPort(name, number[value])
            for name, value in zip(graph.output_names, graph.outputs, strict=True)
        ],
        tensors=[_tensor(value, members.get(value)) for value in values],
        nodes=[_node(node, number, contents.kernel_of.get(node.name)) for node in graph.nodes],
        members={},
        memory=describe_memory(graph, values),
    )


def _tensor(value: Value, member: str | None) -> OmTensor:
    type_, storage = value.type, value.type.storage
    return OmTensor(
        name=value.name,
        dtype=type_.dtype.value,
        shape=list(type_.dims),
        format=type_.format.value,
        member=member,
        storage=None
        if storage is None
        else OmStorage(storage.format.value, storage.groups, storage.c0),
        stands_for=value.stands_for,
    )


def _node(node: Node, number: Mapping[Value, int], kernel: str | None) -> OmNode:
    if node.engine is None:
        raise ValueError(f"node {node.name!r} has no engine; a package takes a typed graph")
    return OmNode(
        op=node.op,
        name=node.name,
        engine=node.engine.value,
        inputs=[-1 if value is None else number[value] for value in node.inputs],
        outputs=[number[value] for value in node.outputs],
        attributes={name: _attribute(value) for name, value in node.attributes.items()},
        kernel=kernel,
        origins=[OmOrigin(origin.index, origin.name, origin.op_type) for origin in node.origins],
        scope=node.scope,
    )


def _attribute(value: AttrValue) -> OmAttribute:
    if isinstance(value, DType):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return value


_SPOTS: dict[str, Home] = {home.value: home for home in Home}
_SINCE = 2
"""Version of the format that brought the plan."""

_HELP = Text("convert the ONNX model again; if that does not help, report it as a bug")


def describe_memory(graph: Graph, values: list[Value]) -> OmMemory | None:
    """The plan of a graph, where it has one; `values` are its tensors by number."""
    plan = graph.memory
    if plan is None:
        return None
    spots = (plan.spots[value] for value in values)
    return OmMemory(
        alignment=plan.alignment,
        reuse=plan.reuse,
        arena=plan.arena,
        lower_bound=plan.bound,
        workspace=plan.workspace,
        places=[spot.value if isinstance(spot, Home) else spot for spot in spots],
        padding=plan.padding,
    )


def weights_nbytes(model: OmModel) -> int:
    """Bytes of a model's constants on the device: those of the same bytes once, each aligned.

    Shapes that views read are not among them: CANN's graph has no views when it is written. On the
    generic device, and without a plan, they are the sum of all.
    """
    memory = model.memory
    if memory is None or not memory.padding:
        return sum(stored_nbytes(row) for row in model.tensors if row.member is not None)
    read = {port.tensor for port in model.outputs}
    for node in model.nodes:
        read.update(node.inputs[:1] if is_view(node.op) else node.inputs)
    digests = {name: member.sha256 for name, member in model.members.items()}
    sizes = {
        (digests.get(row.member, row.member), storage_of(row)): stored_nbytes(row)
        for at, row in enumerate(model.tensors)
        if row.member is not None and at in read
    }
    return size_of_weights(sizes.values(), memory.alignment, memory.padding)


def check_memory(model: OmModel, file: str, sink: Sink) -> None:
    """Check the memory plan of a description that is otherwise sound by its proof."""
    if model.memory is None:
        return
    for field, message in _faults(model, model.memory):
        sink.add(OM_PLAN.diagnostic(message, place=Place(file=file, field=field), help=_HELP))


def _faults(model: OmModel, memory: OmMemory) -> Iterator[tuple[str, Text]]:
    if model.format_version < _SINCE:
        yield (
            "memory",
            Text(
                "version {format_version} of the format has no memory plan",
                format_version=model.format_version,
            ),
        )
        return
    if len(memory.places) != len(model.tensors):
        count = len(model.tensors)
        text = Text("the plan must have a place for each of {count} tensors, found {found}")
        yield "memory.places", text.with_values(count=count, found=len(memory.places))
        return
    if memory.workspace < 0:
        text = Text("the workspace must be at least 0, found {found}")
        yield "memory.workspace", text.with_values(found=memory.workspace)
    unknown = False
    for position, place in enumerate(memory.places):
        if isinstance(place, str) and place not in _SPOTS:
            unknown = True
            known = ", ".join(_SPOTS)
            text = Text("a place must be an offset or one of {known}; found {place}")
            yield f"memory.places[{position}]", text.with_values(known=known, place=repr(place))
    if not unknown:
        for tensor, message in proof_of(model, memory).faults:
            yield "memory" if tensor is None else f"memory.places[{tensor}]", message


def proof_of(model: OmModel, memory: OmMemory) -> Proof:
    """The proof of a description's plan, whose places must be known ones."""
    return prove(_placement(model, memory))


def _placement(model: OmModel, memory: OmMemory) -> Placement:
    outputs = {port.tensor for port in model.outputs}
    fed = {port.tensor for port in model.inputs}
    known: dict[tuple[object, ...], tuple[Dims, int, str]] = {}
    tensors = []
    for position, tensor in enumerate(model.tensors):
        key = tensor.dtype, tensor.format, tuple(tensor.shape), tensor.storage
        stored = known.get(key)
        if stored is None:
            itemsize = DType(tensor.dtype).itemsize
            stored = known[key] = stored_dims(tensor), itemsize, str(storage_of(tensor) or "")
        dims, itemsize, storage = stored
        fixed = Home.INPUT if position in fed else None
        source = fixed if tensor.member is None else Home.WEIGHTS
        place, returned = memory.places[position], position in outputs
        spot = _SPOTS[place] if isinstance(place, str) else place
        tensors.append(PlacedTensor(tensor.name, dims, itemsize, spot, source, returned, storage))
    nodes = [_placed_node(node) for node in model.nodes]
    sizes = memory.alignment, memory.arena, memory.lower_bound, memory.padding
    return Placement(tensors, nodes, *sizes)


def _placed_node(node: OmNode) -> PlacedNode:
    """A node with the facts of its row; unknown operators have none."""
    row = find_operator(node.op)
    return PlacedNode(
        node.name,
        tuple(position for position in node.inputs if position >= 0),
        tuple(node.outputs),
        node.scope,
        is_view=is_view(node.op),
        is_join=node.op == JOINED_IN_PLACE,
        in_place=row is not None and row.in_place and node.engine == Engine.AICORE.value,
    )
