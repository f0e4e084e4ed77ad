"""A described graph as ATC's `GraphDef`: Data, Const, operators and NetOutput."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atc_py.adapters.atc.modes.launch_slots import all_inputs, launch_slots
from atc_py.ir import launch_positions
from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.package.ge.launches import VECTOR_FUSION
from atc_py.package.ge.schema import DATA_TYPES, LIST_TYPES
from atc_py.package.schema import OmModel, OmNode, OmTensor
from atc_py.package.stored_types import stored_dims
from atc_py.target import find_operator, is_view
from atc_py.target.row import Unit
from atc_py.tensor.dtypes import DType

_LISTS = {"ints": ("i", "VT_LIST_INT"), "floats": ("f", "VT_LIST_FLOAT")}
_TEXTS = ("s", "VT_LIST_STRING")


def set_attribute(message: Any, value: object, kind: str) -> None:
    """Fill an `AttrDef` with a bool, number or text, or a list of numbers or of texts.

    `kind` is what the operator's row declares: dtype for the name of one, ints or floats.
    """
    if isinstance(value, list | tuple):
        _set_list(message.list, value, kind)
    elif isinstance(value, bool):
        message.b = value
    elif isinstance(value, int):
        message.i = value
    elif isinstance(value, float):
        message.f = value
    elif kind == "dtype":
        message.dt = DType(str(value)).ge
    else:
        message.s = str(value).encode("utf-8", "surrogateescape")


def _set_list(message: Any, values: Sequence[Any], kind: str) -> None:
    """Fill a list, whose kind its elements say where the operator's row does not."""
    field, name = _LISTS.get(kind, _TEXTS)
    if kind not in _LISTS and values and not isinstance(values[0], str):
        is_float = any(isinstance(each, float) for each in values)
        field, name = _LISTS["floats" if is_float else "ints"]
    texts = field == _TEXTS[0]
    filled = [str(each).encode("utf-8", "surrogateescape") for each in values] if texts else values
    getattr(message, field).extend(filled)
    message.val_type = LIST_TYPES.index(name)


_OPEN = -1
_UNBOUNDED = (0, -1)
"""Range of a dim that only the run knows."""


def set_tensor(message: Any, tensor: OmTensor) -> None:
    """Fill a descriptor: the shape and layout that are stored, and what they were in the model."""
    message.dtype = DATA_TYPES.index(GE_DTYPE_NAMES[DType(tensor.dtype)])
    message.layout = tensor.format if tensor.storage is None else tensor.storage.format
    message.shape.dim.extend(_dims(stored_dims(tensor)))
    message.has_out_attr = True
    message.device_type = "NPU"
    message.real_dim_cnt = len(tensor.shape)
    set_attribute(message.attr["origin_shape"], _dims(tensor.shape), "ints")
    message.attr["origin_format"].s = tensor.format.encode()
    message.attr["origin_shape_initialized"].b = True
    number = format_number(message.layout)
    if number is not None:
        message.attr["format_for_int"].i = number | _c0_bits(tensor)
    if None in tensor.shape:
        ends = [_UNBOUNDED if dim is None else (dim, dim) for dim in tensor.shape]
        ranges = message.attr["shape_range"].list_list_int
        for pair in ends:
            ranges.list_list_i.add(list_i=pair)


_C0_SHIFT = 24
"""Where the number of a blocked format has log2(C0) + 1, since CANN 8."""


def _c0_bits(tensor: OmTensor) -> int:
    """The part of a format's number that has C0; 0 of one that has no blocks."""
    dims = [] if tensor.storage is None else stored_dims(tensor)
    c0 = dims[-1] if dims else None
    return 0 if not c0 else c0.bit_length() << _C0_SHIFT


def _dims(shape: tuple[int | None, ...] | list[int | None]) -> list[int]:
    """Dims, -1 for one that only the run knows."""
    return [_OPEN if dim is None else dim for dim in shape]


_NET_OUTPUT = "Node_Output"
_ORIGINS = "_datadump_original_op_names"
_ORIGIN_TYPES = "_datadump_original_op_types"
_ORIGIN_NAME, _ORIGIN_OUTPUT = "_datadump_origin_name", "_datadump_origin_output_index"
_NO_TASK = "_no_task"
_LOST = frozenset({"pads", "strides"})
"""Attributes that a convolution loses where others join it; `data_format` is the default then."""
_CONVERSIONS = {"Cast", "TransData"}
_STREAM = 0
"""The only stream; ATC's name of a group ends with its number."""


def add_graph(model: Any, description: OmModel, name: str) -> None:
    _Writer(model.graph.add(name=name), description).write()


@dataclass
class _Writer:
    """Writes a graph, op by op in the order of execution."""

    graph: Any
    description: OmModel
    # name of the op that makes a tensor, and its output there, by the tensor's number
    source: dict[int, tuple[str, int]] = field(default_factory=dict)
    ops: dict[str, Any] = field(default_factory=dict)  # the messages by name
    # inputs of nodes and outputs of the model that each tensor is
    uses: Counter[int] = field(default_factory=Counter)
    # source node whose result a tensor is, and which of its results
    origins: dict[int, tuple[str, int]] = field(default_factory=dict)

    def write(self) -> None:
        self.uses.update(tensor for node in self.description.nodes for tensor in node.inputs)
        self.uses.update(port.tensor for port in self.description.outputs)
        names = self._names()
        taken = {*names, *(port.name for port in self.description.inputs), _NET_OUTPUT}
        for position, port in enumerate(self.description.inputs):
            self.origins[port.tensor] = port.name, 0
            op = self._add_op(port.name, "Data")
            op.attr["index"].i = position
            self._describe(op.input_desc, port.tensor)
            self._describe_output(op, port.tensor)
            self.graph.input.append(f"{port.name}:0")
        for number, row in enumerate(self.description.tensors):
            if row.member is not None:
                name = _unused(row.name, taken)
                taken.add(name)
                self._describe_output(self._add_op(name, "Const"), number)
        for members in launch_positions(self.description.nodes).values():
            rows = [(self.description.nodes[at], names[at]) for at in members]
            launched = [name for node, name in rows if not is_view(node.op)]
            if len(launched) > 1:
                name = _unused("".join(launched), taken)
                taken.add(name)
                self._add_fused([node for node, _ in rows], name)
            else:
                for node, name in rows:
                    self._add_node(node, name)
        self._add_net_output()
        self._add_destinations()

    def _names(self) -> list[str]:
        """The name of each node: that of the source node that it ends, where it has one.

        Of several nodes from one source node the last has its name, conversions left out where
        something else came of it.
        """
        ends: dict[str, int] = {}
        for converts in (True, False):
            for position, node in enumerate(self.description.nodes):
                if node.origins and (node.op in _CONVERSIONS) is converts:
                    ends[node.origins[-1].name] = position
        ends.pop("", None)
        taken = {port.name for port in self.description.inputs} | {_NET_OUTPUT}
        by_position = {position: name for name, position in ends.items() if name not in taken}
        taken |= set(by_position.values())
        names = []
        for position, node in enumerate(self.description.nodes):
            name = by_position.get(position) or _unused(node.name.replace(":", "_"), taken)
            taken.add(name)
            names.append(name)
        return names

    def _add_op(self, name: str, kind: str) -> Any:
        op = self.graph.op.add(name=name, type=kind, id=len(self.graph.op), has_out_attr=True)
        op.stream_id = _STREAM
        self.ops[name] = op
        return op

    def _add_node(self, node: OmNode, name: str) -> None:
        op = self._add_op(name, node.op)
        labels = list(self._labels(node))
        for tensor in all_inputs(node):
            self._connect(op, tensor)
        op.input_name.extend(op.src_name)
        _set_input_names(op, labels)
        self._note_origins(node)
        for tensor in node.outputs:
            self._describe_output(op, tensor)
        self._set_attributes(op, node)
        self._set_origins(op, [node])
        if is_view(node.op):
            op.attr[_NO_TASK].b = True

    def _labels(self, node: OmNode) -> Iterator[str]:
        """Names of the inputs of a node, those of absent ones included."""
        row = find_operator(node.op)
        for position in range(len(all_inputs(node))):
            operand = None if row is None else row.input_at(position)
            label = "" if operand is None else operand.name
            if operand is not None and row is not None and operand.variadic:
                label = f"{label}{position - len(row.inputs) + 1}"
            yield label

    def _set_attributes(self, op: Any, node: OmNode) -> None:
        row = find_operator(node.op)
        for key, value in node.attributes.items():
            kind = None if row is None else row.attribute(key)
            set_attribute(op.attr[key], value, "" if kind is None else kind.type)

    def _set_origins(self, op: Any, nodes: Sequence[OmNode]) -> None:
        if len(nodes) == 1 and _is_inserted(nodes[0]):
            set_attribute(op.attr[_ORIGINS], [], "strings")
            return
        origins = [each.name for node in nodes for each in node.origins if each.name]
        if origins:
            set_attribute(op.attr[_ORIGINS], list(dict.fromkeys(origins)), "strings")

    def _note_origins(self, node: OmNode) -> None:
        """Note whose results a node makes, but for steps; an inserted conversion passes on what it reads."""
        for position, tensor in enumerate(node.outputs):
            if _is_inserted(node):
                origin = self.origins.get(node.inputs[0])
            else:
                is_step = not self.description.tensors[tensor].stands_for
                origin = None if is_step else (node.origins[-1].name, position)
            if origin is not None and origin[0]:
                self.origins[tensor] = origin

    def _add_fused(self, nodes: Sequence[OmNode], name: str) -> None:
        """Add nodes of one launch as the one op that atc makes of them.

        It is of the type of its head, the operator of the cube, and has that one's attributes but
        those that atc loses.
        """
        launched = [node for node in nodes if not is_view(node.op)]
        head = next(filter(_is_of_cube, launched), None)
        op = self._add_op(name, VECTOR_FUSION if head is None else head.op)
        slots = launch_slots(self.description, nodes, head)
        for tensor in slots:
            self._connect(op, tensor)
        _set_input_names(op, [f"__input{at}" for at in range(len(slots))])
        for node in nodes:
            self._note_origins(node)
        uses = Counter(tensor for node in nodes for tensor in node.inputs)
        for tensor in (tensor for node in nodes for tensor in node.outputs):
            if self.uses[tensor] > uses[tensor]:
                self._describe_output(op, tensor)
        if head is not None:
            self._set_attributes(op, head)
            for key in _LOST & set(op.attr):
                del op.attr[key]
            if _LOST & set(head.attributes):
                op.attr["data_format"].s = b"NHWC"
        self._set_origins(op, nodes)
        types = [node.op for node in launched if node is not head]
        set_attribute(op.attr[_ORIGIN_TYPES], types, "strings")

    def _connect(self, op: Any, tensor: int) -> None:
        """Add an input of an op; ABSENT stands for one that is not there."""
        if tensor < 0:
            op.input.append("")
            op.is_input_const.append(False)
            _describe_absent(op.input_desc.add())
            return
        name, output = self.source[tensor]
        op.input.append(f"{name}:{output}")
        op.src_name.append(name)
        op.src_index.append(output)
        op.is_input_const.append(self.description.tensors[tensor].member is not None)
        op.input_i.append(self._place(tensor))
        self._describe(op.input_desc, tensor)

    def _add_net_output(self) -> None:
        """Add the op that takes the model's outputs; their names are the model's own."""
        op = self._add_op(_NET_OUTPUT, "NetOutput")
        for port in self.description.outputs:
            self._connect(op, port.tensor)
            name = op.input_desc[-1].attr["_origin_output_tensor_name"]
            name.s = port.name.encode("utf-8", "surrogateescape")
        op.input_name.extend(op.src_name)
        _set_input_names(op, [f"__input{at}" for at in range(len(self.description.outputs))])

    def _describe_output(self, op: Any, tensor: int) -> None:
        self.source[tensor] = op.name, len(op.output_desc)
        self._describe(op.output_desc, tensor)
        if tensor in self.origins:
            name, position = self.origins[tensor]
            attributes = op.output_desc[-1].attr
            attributes[_ORIGIN_NAME].s = name.encode("utf-8", "surrogateescape")
            attributes[_ORIGIN_OUTPUT].i = position
        op.output_i.append(self._place(tensor))

    def _describe(self, rows: Any, tensor: int) -> None:
        set_tensor(rows.add(), self.description.tensors[tensor])

    def _place(self, tensor: int) -> int:
        """The offset of a tensor in the arena; 0 for one that is not in it."""
        plan = self.description.memory
        place = 0 if plan is None else plan.places[tensor]
        return place if isinstance(place, int) else 0

    def _add_destinations(self) -> None:
        users: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for op in self.graph.op:
            at = [position for position, text in enumerate(op.input) if text]
            for position, name in zip(at, op.src_name, strict=True):
                users[name].append((op.name, position))
        for op in self.graph.op:
            for name, position in users[op.name]:
                op.dst_name.append(name)
                op.dst_index.append(position)


def _set_input_names(op: Any, labels: Sequence[str]) -> None:
    """Say in two attributes which input has which position, sorted by name."""
    pairs = sorted((label, position) for position, label in enumerate(labels) if label)
    if pairs:
        names, positions = zip(*pairs, strict=True)
        set_attribute(op.attr["_input_name_key"], list(names), "strings")
        set_attribute(op.attr["_input_name_value"], list(positions), "ints")


def _describe_absent(message: Any) -> None:
    """Fill the descriptor of an optional input that is not there."""
    message.layout, message.device_type = "FORMAT_RESERVED", "NPU"
    message.shape.SetInParent()
    message.attr["origin_format"].s = b"ND"
    message.attr["origin_shape_initialized"].b = False
    message.attr["format_for_int"].i = FORMAT_NUMBERS["RESERVED"]


def _is_of_cube(node: OmNode) -> bool:
    row = find_operator(node.op)
    return row is not None and row.unit is Unit.CUBE


def _is_inserted(node: OmNode) -> bool:
    """True for a conversion that is no node of the network."""
    kinds = {origin.op_type for origin in node.origins}
    return node.op in _CONVERSIONS and kinds.isdisjoint({"Cast", "CastLike"})


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken."""
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


_OTHER_WORDS = {DType.BFLOAT16: "BF16", DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}

GE_DTYPE_NAMES: Mapping[DType, str] = {
    each: f"DT_{_OTHER_WORDS.get(each, each.name)}" for each in DType
}
"""Names of dtypes in files of ATC."""


def format_number(name: str) -> int | None:
    return FORMAT_NUMBERS.get(name)
