"""An offline model as `diff` compares it, whoever wrote it: launches by the network's nodes."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.cost.reading import launches_of, roots_of
from atc_py.package.describe import weights_nbytes
from atc_py.package.ge.graph import GeGraph, GeOp
from atc_py.package.ge.launches import GeLaunch, model_launches
from atc_py.package.ge.messages import GeTensorDesc
from atc_py.package.ge.model import HuaweiFile, HuaweiModel
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel, OmNode, OmTensor
from atc_py.package.stored_types import storage_of
from atc_py.pipeline.huawei_facts import soc_of
from atc_py.results.memory_facts import memory_facts
from atc_py.results.model_diff import DiffLaunch, DiffTensor
from atc_py.target import Unit, find_operator, is_view
from atc_py.tensor.dtypes import DType, Format, UnknownDTypeError
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.storage import ImpossibleStorageError, Storage

Array = npt.NDArray[Any]

CONVERSIONS = frozenset({"Cast", "TransData"})
_AIPP = "Aipp"
"""Operator that stands between an input and the network, under other names in files of Huawei's atc."""


class SideConstant(msgspec.Struct, frozen=True):
    """A constant of one of the models."""

    name: str
    nodes: tuple[str, ...]  # of the network that read it
    dtype: str  # as stored
    format: str  # as stored
    stored: Callable[[], bytes | memoryview]  # its bytes as the device has them
    # its elements in the order of the network; None where they cannot be put so
    value: Callable[[], Array | None]


class SideLaunch(msgspec.Struct, frozen=True):
    """A launch of one of the models."""

    launch: DiffLaunch
    conversion: str  # for an inserted Cast, TransData or Aipp what it changes; empty for others
    source: str  # of a conversion, the node that makes its operand, or the model's input


class Side(msgspec.Struct, frozen=True):
    """One of the models that are compared; JSON has no constants."""

    producer: str
    soc: str
    launches: list[SideLaunch]
    constants: list[SideConstant]
    memory: dict[str, int]
    has_constants: bool = True


def huawei_side(file: HuaweiFile) -> Side:
    """A file of Huawei's atc; nodes of several models in it begin with the name of theirs."""
    models = [model for model in file.all_models() if model.graphs]
    sides = [
        _model_side(model, _prefix(models, model), has_constants=not file.is_json)
        for model in models
    ]
    return Side(
        producer=sides[0].producer,
        soc=sides[0].soc,
        launches=[launch for side in sides for launch in side.launches],
        constants=[constant for side in sides for constant in side.constants],
        memory={key: sum(side.memory[key] for side in sides) for key in sides[0].memory},
        has_constants=not file.is_json,
    )


def _prefix(models: list[HuaweiModel], model: HuaweiModel) -> str:
    """A mark of the nodes of one of several models: its name, or its position if others have that."""
    if len(models) == 1:
        return ""
    names = [each.graphs[0].name for each in models]
    name, at = model.graphs[0].name, models.index(model)
    return f"{name if names.count(name) == 1 else at}:"


def _model_side(model: HuaweiModel, prefix: str, *, has_constants: bool) -> Side:
    launches = model_launches(model)
    attributes = model.attributes
    memory = attributes.number("memory_size")
    owners = {op: graph for graph in model.run_graphs() for op in graph.ops}
    return Side(
        producer=f"atc {attributes.text('atc_version')}".strip(),
        soc=soc_of(model)[0],
        launches=[_huawei_launch(owners[each.op], each, prefix) for each in launches],
        constants=[
            constant
            for launch in (launches if has_constants else ())
            for constant in _huawei_constants(model, owners[launch.op], launch, prefix)
        ],
        memory={
            "arena": max(memory - attributes.number("zero_copy_memory_size"), 0),
            "weights": attributes.number("weight_size"),
            "workspace": max((sum(launch.op.workspace) for launch in launches), default=0),
        },
    )


def _computed(operators: tuple[str, ...]) -> tuple[str, ...]:
    """Operators of a launch, as both writers have them.

    A BatchNorm that a product took in is not computed, else BNInferenceD is. Aipp writes NC1HWC0 itself.
    """
    rows = map(find_operator, operators)
    if _AIPP in operators:
        operators = tuple(name for name in operators if name != "TransData")
    if any(row is not None and row.unit is Unit.CUBE for row in rows):
        return tuple(name for name in operators if name != "BatchNorm")
    return tuple("BNInferenceD" if name == "BatchNorm" else name for name in operators)


def _named(launch: GeLaunch, prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in launch.nodes)


def _huawei_launch(graph: GeGraph, launch: GeLaunch, prefix: str) -> SideLaunch:
    op = launch.op
    inputs = tuple(
        _tensor(row.desc) for row in op.operands() if row.edge is not None and not row.is_constant
    )
    outputs = tuple(map(_tensor, op.outputs))
    nodes = _named(launch, prefix)
    done = DiffLaunch(op.name, nodes, _computed(launch.operators), inputs, outputs)
    is_aipp = launch.operators == (_AIPP,)
    if not (is_aipp or (not launch.nodes and op.type in CONVERSIONS)):
        return SideLaunch(done, "", "")
    source = ""
    if op.outputs and not is_aipp:
        source = op.outputs[0].attributes.text("_datadump_origin_name")
    source = f"{prefix}{source or _maker(graph, op)}"
    return SideLaunch(done, _change(op.type, inputs, outputs), source)


def _maker(graph: GeGraph, op: GeOp) -> str:
    """The node that makes what a conversion reads, seen through conversions before it."""
    seen: set[str] = set()
    while op.name not in seen:
        seen.add(op.name)
        edge = next((edge for edge in op.edges if edge is not None), None)
        maker = None if edge is None else graph.by_name.get(edge.producer)
        if maker is None:
            break
        nodes = [name for name in maker.attributes.texts("_datadump_original_op_names") if name]
        if nodes:
            return nodes[-1]
        if maker.type not in {_AIPP, *CONVERSIONS}:
            return maker.name
        op = maker
    return ""


def _tensor(desc: GeTensorDesc) -> DiffTensor:
    return DiffTensor(desc.dtype, desc.layout)


def _huawei_constants(
    model: HuaweiModel, graph: GeGraph, launch: GeLaunch, prefix: str
) -> Iterator[SideConstant]:
    for row in launch.op.operands():
        op = None if row.edge is None else graph.by_name.get(row.edge.producer)
        found = None if op is None or op.type != "Const" else model.constant(op)
        if op is None or found is None:
            continue
        _, span = found
        yield SideConstant(
            name=op.name,
            nodes=_named(launch, prefix),
            dtype=row.desc.dtype,
            format=row.desc.layout,
            stored=lambda span=span: model.data(span),  # type: ignore[misc]
            value=lambda desc=row.desc, span=span: _logical(desc, model.data(span)),  # type: ignore[misc]
        )


def _logical(desc: GeTensorDesc, data: memoryview) -> Array | None:
    """The elements of a constant in the order of the network; None of an unknown storage."""
    try:
        dtype = DType.parse(desc.dtype)
        stored = np.frombuffer(data, dtype.numpy)
        origin = Format(desc.origin_layout)
        storage = None
        if desc.layout != desc.origin_layout and desc.layout in _BLOCKED:
            storage = Storage(Format(desc.layout))
        elif desc.layout != desc.origin_layout and desc.dims != desc.origin_dims:
            return None
        return unpack(stored, desc.origin_dims, origin, storage)
    except (UnknownDTypeError, ImpossibleStorageError, ValueError):
        return None


_BLOCKED = {"NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "NDC1HWC0", "FRACTAL_Z_3D"}


def own_side(model: OfflineModel) -> Side:
    """An offline model of atc-py; of one with gears that of its gear."""
    description = model.description
    groups = [launch.nodes for launch in launches_of(description)]
    facts = memory_facts(description)
    reader = _OwnLaunches(model)
    return Side(
        producer=description.producer,
        soc=description.soc,
        launches=[reader.launch(positions) for positions in groups],
        constants=[each for positions in groups for each in reader.constants(positions)],
        memory={
            "arena": 0 if facts is None else facts.arena,
            "weights": weights_nbytes(description),
            "workspace": 0 if facts is None else facts.workspace,
        },
    )


class _OwnLaunches:
    """Launches of an offline model of atc-py."""

    def __init__(self, model: OfflineModel) -> None:
        self._model = model
        description: OmModel = model.description
        self._nodes, self._tensors = description.nodes, description.tensors
        self._maker = {out: node for node in self._nodes for out in node.outputs}
        self._roots = roots_of(description)
        self._fed = {port.tensor: port.name for port in description.inputs}

    def launch(self, positions: tuple[int, ...]) -> SideLaunch:
        nodes = [self._nodes[at] for at in positions if not is_view(self._nodes[at].op)]
        made = {out for at in positions for out in self._nodes[at].outputs}
        used_inside = {
            tensor for at in positions for tensor in self._nodes[at].inputs if tensor in made
        }
        read = dict.fromkeys(t for node in nodes for t in node.inputs if t >= 0 and t not in made)
        inputs = tuple(
            self._type(root)
            for root in (self._roots[tensor] for tensor in read)
            if self._tensors[root].member is None
        )
        outputs = tuple(
            self._type(out) for node in nodes for out in node.outputs if out not in used_inside
        )
        operators = _computed(tuple(node.op for node in nodes))
        inserted = len(nodes) == 1 and self._is_conversion(nodes[0])
        origins = () if inserted else _origins(nodes)
        launch = DiffLaunch(nodes[-1].name, origins, operators, inputs, outputs)
        if not inserted:
            return SideLaunch(launch, "", "")
        before = tuple(map(self._type, read))
        return SideLaunch(
            launch, _change(nodes[0].op, before, outputs), self._source(nodes[0].inputs[0])
        )

    def constants(self, positions: tuple[int, ...]) -> Iterator[SideConstant]:
        nodes = [self._nodes[at] for at in positions if not is_view(self._nodes[at].op)]
        names = _origins(nodes)
        for node in nodes:
            for tensor in node.inputs:
                row = self._tensors[self._roots[tensor]] if tensor >= 0 else None
                if row is not None and row.member is not None:
                    yield self._constant(row, row.member, names)

    def _constant(self, row: OmTensor, member: str, nodes: tuple[str, ...]) -> SideConstant:
        array = self._model.array

        def stored() -> bytes:
            return pack(array(member), Format(row.format), storage_of(row)).tobytes()

        return SideConstant(
            name=row.name,
            nodes=nodes,
            dtype=row.dtype,
            format=row.format if row.storage is None else row.storage.format,
            stored=stored,
            value=lambda: array(member),
        )

    def _is_conversion(self, node: OmNode) -> bool:
        if node.op not in CONVERSIONS:
            return node.op == _AIPP
        return not any(origin.op_type in {"Cast", "CastLike"} for origin in node.origins)

    def _source(self, tensor: int) -> str:
        """The node that makes a tensor, seen through conversions, or the model's input."""
        while tensor in self._maker and self._is_conversion(self._maker[tensor]):
            tensor = self._maker[tensor].inputs[0]
        if tensor in self._fed:
            return self._fed[tensor]
        maker = self._maker.get(tensor)
        names = () if maker is None else _origins([maker])
        return names[-1] if names else self._tensors[tensor].name

    def _type(self, tensor: int) -> DiffTensor:
        row = self._tensors[tensor]
        return DiffTensor(row.dtype, row.format if row.storage is None else row.storage.format)


def _origins(nodes: list[OmNode]) -> tuple[str, ...]:
    """The network's nodes that nodes stand for, each once."""
    return tuple(
        dict.fromkeys(origin.name for node in nodes for origin in node.origins if origin.name)
    )


def _change(operator: str, inputs: tuple[DiffTensor, ...], outputs: tuple[DiffTensor, ...]) -> str:
    """`float32 > float16` of a Cast or Aipp, formats of a TransData."""
    if not inputs or not outputs:
        return operator
    if operator in {"Cast", _AIPP}:
        return f"{inputs[0].dtype} > {outputs[0].dtype}"
    return f"{inputs[0].format} > {outputs[0].format}"
