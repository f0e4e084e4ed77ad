"""From graph to description: tensors by number, dtypes by name, tuples as lists."""

from collections.abc import Mapping

from atc_py.ir import AttrValue, Graph, Node, Value
from atc_py.package.memory_check import describe_memory
from atc_py.package.schema import (
    FORMAT,
    FORMAT_VERSION,
    OmAttribute,
    OmModel,
    OmNode,
    OmOrigin,
    OmPort,
    OmStorage,
    OmTensor,
    PackageContents,
)
from atc_py.tensor.dtypes import DType
from atc_py.tensor.storage import Storage


def describe(graph: Graph, contents: PackageContents, members: Mapping[Value, str]) -> OmModel:
    """The description of a typed graph, without digests; tensors as in `graph.values()`.

    Args:
        graph: what to describe.
        contents: what goes with it.
        members: the archive member of each constant.

    Raises:
        ValueError: a node has no engine yet.
    """
    values = list(graph.values())
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
    """A value's type, and where its data is."""
    type_ = value.type
    return OmTensor(
        name=value.name,
        dtype=type_.dtype.value,
        shape=list(type_.dims),
        format=type_.format.value,
        member=member,
        storage=None if type_.storage is None else _storage(type_.storage),
        stands_for=value.stands_for,
    )


def _storage(storage: Storage) -> OmStorage:
    return OmStorage(storage.format.value, storage.groups, storage.c0)


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
