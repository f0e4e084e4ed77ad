"""A recurrent layer as a source node states it: sizes, operands, and results in its layout."""

from collections.abc import Sequence

import msgspec
import numpy as np

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.tensor.shapes import Dims
from atc_py.text import Text

_DEFAULTS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "elu": (1.0, None),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, None),
    "relu": (None, None),
    "scaledtanh": (1.0, 1.0),
    "sigmoid": (None, None),
    "softplus": (None, None),
    "softsign": (None, None),
    "tanh": (None, None),
    "thresholdedrelu": (1.0, None),
}
"""Alpha and beta where a node does not give them, None where an activation has none.

Those of ONNX's operators of these names, of which Affine is gone since; ScaledTanh never had any, so
it is Tanh without them. onnxruntime takes 0 for Affine, ScaledTanh and ThresholdedRelu.
"""


class Activations(msgspec.Struct, frozen=True):
    """The activations of all directions of a layer, one after the other."""

    names: tuple[str, ...]  # in lower case
    alphas: tuple[float, ...]  # one for each, 0 where it has none
    betas: tuple[float, ...]  # one for each, 0 where it has none
    usual: bool  # whether they are the ones that a node has by default


def read_activations(b: Builder, usual: tuple[str, ...], directions: int) -> Activations:
    """Read the activations of the builder's node; `usual` are one direction's defaults.

    Alphas and betas are consumed in the order of the activations that have one.

    Raises:
        AtcError: BAD_NODE when there are too few or too many, or one is unknown.
    """
    default = usual * directions
    names = tuple(name.lower() for name in _strings(b)) or default
    if len(names) != len(default):
        text = Text("needs {n} activations, found {found}")
        raise b.bad(text.with_values(n=len(default), found=len(names)), "activations")
    unknown = [name for name in names if name not in _DEFAULTS]
    if unknown:
        known = ", ".join(_DEFAULTS)
        text = Text("knows the activations {known}, found {found}")
        raise b.bad(text.with_values(known=known, found=repr(unknown[0])), "activations")
    alphas = _consumed(b, names, "activation_alpha", 0)
    betas = _consumed(b, names, "activation_beta", 1)
    return Activations(names, alphas, betas, names == default)


def _strings(b: Builder) -> tuple[str, ...]:
    value = b.node.attributes.get("activations", ())
    names = value if isinstance(value, tuple) else (value,)
    found = tuple(name for name in names if isinstance(name, str))
    if len(found) != len(names):
        raise b.bad(Text("takes a list of strings as activations"), "attribute activations")
    return found


def _consumed(b: Builder, names: tuple[str, ...], attribute: str, which: int) -> tuple[float, ...]:
    """The alphas (`which` 0) or betas (1) of the activations: given, else by default."""
    value = b.node.attributes.get(attribute, ())
    numbers = (
        [item for item in value if isinstance(item, int | float)]
        if isinstance(value, tuple)
        else []
    )
    if not isinstance(value, tuple) or len(numbers) != len(value):
        text = Text("takes a list of numbers as {attribute}")
        raise b.bad(text.with_values(attribute=attribute), f"attribute {attribute}")
    given = iter(numbers)
    found = []
    for name in names:
        default = _DEFAULTS[name][which]
        found.append(0.0 if default is None else float(next(given, default)))
    return tuple(found)


DIRECTIONS = {
    "forward": ("UNIDIRECTIONAL",),
    "reverse": ("REDIRECTIONAL",),
    "bidirectional": ("UNIDIRECTIONAL", "REDIRECTIONAL"),
}
"""CANN's names of the directions of a layer, by ONNX's name of all."""

_END = 2**31 - 1
"""The end of a slice that goes on to the last element."""

_NAMES = {
    "LSTM": ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"),
    "GRU": ("X", "W", "R", "B", "sequence_lens", "initial_h"),
}


class RecurrentLayer:
    """One source node: its operands by name with the sequence first, its sizes and attributes."""

    def __init__(self, b: Builder, gates: int, usual: tuple[str, ...]) -> None:
        self.b = b
        self.gates = gates
        self.direction = b.string("direction", "forward")
        if self.direction not in DIRECTIONS:
            known = ", ".join(DIRECTIONS)
            text = Text("takes {known} as direction, found {found}")
            raise b.bad(text.with_values(known=known, found=repr(self.direction)), "direction")
        self.directions = len(DIRECTIONS[self.direction])
        self.batch_first = b.flag("layout")
        self.clip = b.number("clip", 0.0)
        self.activations: Activations = read_activations(b, usual, self.directions)
        self._check_shapes()
        self.x = self._sequence_first(b.input(0), (1, 0, 2))

    def _check_shapes(self) -> None:
        b = self.b
        for position in range(3):
            if b.source(position).rank != 3:  # noqa: PLR2004  (the definition's rank)
                raise b.bad(
                    Text("needs rank 3, input {position} has another", position=position),
                    Text("input {at}", at=position),
                )
        self.steps, self.batch, width = self._turned(b.source(0).required_dims)
        if not self.is_usual:
            self.steps, self.batch, width = self._turned(b.source(0).shape)
        self.width = b.source(1).shape[2]
        self.hidden = b.integer("hidden_size", b.source(2).shape[2])
        count, wide = self.directions, self.gates * self.hidden
        state = self._turned((count, self.batch, self.hidden))
        wanted: list[Dims] = [
            (count, wide, width), (count, wide, self.hidden), (count, 2 * wide), (self.batch,), state,
            state, (count, 3 * self.hidden),
        ]  # fmt: skip
        names = _NAMES[b.node.op_type]
        for position, shape in enumerate(wanted[: len(names) - 1], start=1):
            source = b.optional_source(position)
            if source is not None and not _may_be(source.required_dims, shape):
                name = names[position]
                found = Text("{shape} where {other} fits the others")
                found = found.with_values(shape=list(source.required_dims), other=list(shape))
                raise b.bad(
                    Text("has {name} of shape {found}", name=name, found=found),
                    Text("input {at}", at=name),
                )

    def _turned(self, shape: Dims) -> Dims:
        """A shape of rank 3 with its first two dims in the order of layout 0."""
        return (shape[1], shape[0], shape[2]) if self.batch_first else shape

    def _sequence_first(self, value: Value, perm: tuple[int, ...]) -> Value:
        if not self.batch_first:
            return value
        return _transposed(self.b, value, perm, "sequence_first")

    @property
    def is_usual(self) -> bool:
        """True if the AI Core's layers can express it, P and input_forget aside."""
        sources = [self.b.optional_source(position) for position in (1, 2, 3)]
        constant = all(source is None or source.const is not None for source in sources)
        has_steps = self.steps is None or self.steps > 0
        return constant and self.activations.usual and self.clip <= 0 and has_steps

    def initial(self, position: int) -> Value | None:
        value = self.b.optional_input(position)
        return None if value is None else self._sequence_first(value, (1, 0, 2))

    def initial_of(self, position: int, direction: int) -> Value | None:
        """An initial state of one direction [1, batch, hidden], or None."""
        value = self.initial(position)
        if value is None or self.directions == 1:
            return value
        return _rows(self.b, value, direction, "initial")

    def attributes(self) -> dict[str, AttrValue]:
        return {
            "activations": ",".join(self.activations.names),
            "activation_alpha": self.activations.alphas,
            "activation_beta": self.activations.betas,
            "clip": self.clip if self.clip > 0 else -1.0,
            "direction": self.direction,
            "hidden_size": self.hidden,
        }

    def whole(self, op: str, attributes: dict[str, AttrValue]) -> list[Value]:
        b, names = self.b, _NAMES[self.b.node.op_type]
        inputs = [self.x, *(b.optional_input(position) for position in (1, 2, 3, 4))]
        inputs += [self.initial(position) for position in range(5, min(len(names), 7))]
        inputs += [b.optional_input(position) for position in range(7, len(names))]
        dtype, state = self.x.type.dtype, (self.directions, self.batch, self.hidden)
        states = ["Y_h", "Y_c"][: len(names[5:7])]
        outputs = [("Y", TensorType(dtype, (self.steps, *state)))]
        outputs += [(name, TensorType(dtype, state)) for name in states]
        return self._source_layout(list(b.ops(op, inputs, outputs, attributes)))

    def results(self, parts: Sequence[Sequence[Value]]) -> list[Value]:
        """Y and the last states from each direction's outputs [steps, batch, hidden]."""
        b = self.b
        shape = (self.steps, 1, self.batch, self.hidden)
        whole = []
        for part in parts:
            type_ = TensorType(part[0].type.dtype, shape)
            whole.append(b.op("Unsqueeze", [part[0]], type_, {"axes": (1,)}, "Y.part"))
        joined = [_joined(b, whole, 1)]
        for states in list(zip(*parts, strict=True))[1:]:
            last = [
                _rows(b, state, 0 if toward == "REDIRECTIONAL" else -1, "last")
                for state, toward in zip(states, DIRECTIONS[self.direction], strict=True)
            ]
            joined.append(_joined(b, last, 0))
        return self._source_layout(joined)

    def _source_layout(self, values: list[Value]) -> list[Value]:
        if not self.batch_first:
            return values
        y, *states = values
        turned = [_transposed(self.b, y, (2, 0, 1, 3), "Y")]
        return turned + [_transposed(self.b, state, (1, 0, 2), "state") for state in states]


# Parts ------------------------------------------------------------------------------------------


def _may_be(dims: Dims, wanted: Dims) -> bool:
    """True if no dim that is known is another one."""
    pairs = zip(dims, wanted, strict=False)
    return len(dims) == len(wanted) and all(None in pair or len({*pair}) == 1 for pair in pairs)


def _transposed(b: Builder, value: Value, perm: tuple[int, ...], label: str) -> Value:
    shape = tuple(value.type.dims[axis] for axis in perm)
    type_ = TensorType(value.type.dtype, shape)
    return b.op("TransposeD", [value], type_, {"perm": perm}, label)


def _rows(b: Builder, value: Value, row: int, label: str) -> Value:
    """One row of the first axis; -1 is the last one."""
    if value.type.is_open:
        bounds = [
            b.const(name, np.array([number], np.int64))
            for name, number in (("begin", row), ("end", _END if row < 0 else row + 1), ("axis", 0))
        ]
        type_ = TensorType(value.type.dtype, (1, *value.type.dims[1:]))
        return b.op("StridedSliceV2", [value, *bounds], type_, label=label)
    rest, row = value.type.shape[1:], row % value.type.shape[0]
    attributes: dict[str, AttrValue] = {
        "begin": (row, *(0 for _ in rest)),
        "end": (row + 1, *rest),
        "strides": (1,) * (len(rest) + 1),
    }
    return b.op(
        "StridedSliceD", [value], TensorType(value.type.dtype, (1, *rest)), attributes, label
    )


def _joined(b: Builder, values: list[Value], axis: int) -> Value:
    """`values`, each of size 1 along `axis`, joined there; one alone is handed on."""
    if len(values) == 1:
        return values[0]
    first = values[0].type
    shape = (*first.dims[:axis], len(values), *first.dims[axis + 1 :])
    attributes: dict[str, AttrValue] = {"concat_dim": axis, "N": len(values)}
    return b.op("ConcatD", values, TensorType(first.dtype, shape), attributes, "joined")
