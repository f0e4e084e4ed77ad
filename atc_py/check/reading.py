"""What predicates answer, how they read a node, and short texts for the values that they see."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.check.alike import Reads
from atc_py.check.bound_node import BoundNode
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import AttributeType
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text, verbatim


class State(Enum):
    """Verdict of a predicate."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class Answer(msgspec.Struct, frozen=True):
    """Verdict of a predicate, and the value that it saw."""

    state: State  # whether the rule holds
    observed: Text  # the value at fault, or what is not known; empty where the rule holds
    # a condition of the answer that the rule itself does not state; mostly empty
    when: Text = msgspec.field(default=Text(""))


HOLDS = Answer(State.HOLDS, Text(""))
"""The rule holds."""


def fails(observed: object, when: Text | None = None) -> Answer:
    """The answer that the rule fails; `observed` is words or a value that reads the same everywhere."""
    return Answer(
        State.FAILS,
        observed if isinstance(observed, Text) else verbatim(observed),
        when or Text(""),
    )


def unknown(observed: object) -> Answer:
    """The answer that the rule is undecided; `observed` is what is known and open, `?x3x224x224`."""
    return Answer(State.UNKNOWN, observed if isinstance(observed, Text) else verbatim(observed))


def all_of(answers: Iterable[Answer]) -> Answer:
    """One answer for several: the first that fails, else the first open one, else HOLDS."""
    open_one: Answer | None = None
    for answer in answers:
        if answer.state is State.FAILS:
            return answer
        if answer.state is State.UNKNOWN:
            open_one = open_one or answer
    return open_one or HOLDS


class SettledError(Exception):
    """Ends a predicate where it stands, as its answer is settled."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


def asked(test: Callable[..., Answer], *arguments: object) -> Answer:
    """The answer of a test, which may settle it by what it reads."""
    try:
        return test(*arguments)
    except SettledError as settled:
        return settled.answer


READ_LIMIT = 2**20
"""Elements of a constant that rules on values look at; a larger one is not a list of axes."""

_CEILING = 2**64
"""Counts of elements stop here: no tensor has as many."""


# Attributes -------------------------------------------------------------------------------------


def attribute(node: BoundNode, name: str) -> Any:
    """The attribute's value or default; None if it has none or cannot be on the node."""
    return node.value(name) if node.has_attribute(name) else None


def elements(node: BoundNode, name: str) -> tuple[Any, ...]:
    """The elements of a list, or the one value of another attribute.

    An absent attribute settles that a rule holds, one that is not of its type that it fails.
    """
    row, value = node.spec.attribute(name), attribute(node, name)
    if value is None:
        raise SettledError(HOLDS)
    is_list = isinstance(value, tuple)
    items: tuple[Any, ...] = value if is_list else (value,)
    fits = row is not None and is_list == row.type.is_list
    if row is None or not fits or not all(_has_type(item, row.type.element) for item in items):
        raise SettledError(fails(shown(value)))
    return items


def list_of(node: BoundNode, name: str) -> tuple[Any, ...]:
    """The elements of a list; absent, it settles that a rule holds, no list, that it fails."""
    value = attribute(node, name)
    if isinstance(value, tuple):
        return value
    raise SettledError(HOLDS if value is None else fails(shown(value)))


def integer_list(node: BoundNode, name: str) -> tuple[int, ...]:
    """A list of integers; absent, it settles that a rule holds, anything else, that it fails."""
    value = list_of(node, name)
    items = integers(value)
    if items is None:
        raise SettledError(fails(shown(value)))
    return items


def integers(value: Any) -> tuple[int, ...] | None:
    """An integer or a list of integers as a tuple; None where it is anything else."""
    items: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    return items if all(_has_type(item, AttributeType.INT) for item in items) else None


def _has_type(value: Any, kind: AttributeType) -> bool:
    # A bool is an int to Python, and no integer to ONNX.
    if kind is AttributeType.BOOL or isinstance(value, bool):
        return kind is AttributeType.BOOL and isinstance(value, bool)
    if kind is AttributeType.INT:
        return isinstance(value, int)
    if kind is AttributeType.FLOAT:
        return isinstance(value, int | float)
    return kind is AttributeType.STRING and isinstance(value, str)


# Tensors ----------------------------------------------------------------------------------------


class NamedTensor(NamedTuple):
    """A tensor of a node, with the name of the operand that it is.

    What must be known of it settles a rule where it is not: then the rule is undecided.
    """

    name: str
    tensor: SourceTensor

    @property
    def dims(self) -> tuple[int | None, ...] | None:
        """Its dims, which of a constant are those of its data."""
        return self.tensor.dims if self.tensor.const is None else self.tensor.const.shape

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def known_dims(self) -> tuple[int | None, ...]:
        """The dims, whose number must be known."""
        dims = self.dims
        if dims is None:
            raise SettledError(unknown(self.described()))
        return dims

    def known_rank(self) -> int:
        return len(self.known_dims())

    def known_count(self) -> int:
        """The number of elements, which must be known."""
        return self.known_length(count_of(self.dims))

    def known_length(self, length: int | None) -> int:
        """A number that follows from the dims, which must be known."""
        if length is None:
            raise SettledError(unknown(self.described()))
        return length

    @property
    def is_known(self) -> bool:
        """True if its values are known at compile time; those of an empty tensor are."""
        return self.tensor.const is not None or 0 in (self.tensor.dims or ())

    def data(self) -> npt.NDArray[Any]:
        """The data, which must be looked at."""
        data = self.constant()
        if isinstance(data, Text):
            raise SettledError(unknown(data))
        return data

    def integers(self) -> tuple[int, ...]:
        """The integers of the data, row by row; of others a rule fails."""
        data = self.data()
        values = numbers(data)
        if values is None or (values.size and values.dtype.kind == "f"):
            raise SettledError(fails(array_at_fault(data)))
        return tuple(values.tolist())

    def constant(self) -> npt.NDArray[Any] | Text:
        """The data, or why it is not looked at."""
        if not self.is_known:
            return Text("{name} is not constant", name=self.name)
        const = self.tensor.const
        if const is None:
            return np.empty(0, np.int64)
        if (count_of(const.shape) or 0) > READ_LIMIT:
            return Text(
                "{name} has more than {read_limit} elements, which are not read",
                name=self.name,
                read_limit=READ_LIMIT,
            )
        return Reads.data(const)

    def with_rank(self, text: str) -> Text:
        """A value that does not suit the rank, which is known."""
        return noted(text, Text("{name} has rank {rank}", name=self.name, rank=self.rank))

    def shape_text(self) -> str:
        """`1x3x?x?`; empty for a scalar and where the rank is not known."""
        return _dims_text(self.dims or ())

    def described(self) -> Text:
        """The shape in words, as far as it is known."""
        dims = self.dims
        if dims is None:
            return Text("the rank of {name} is not known", name=self.name)
        if not dims:
            return Text("{name} is a scalar", name=self.name)
        return Text("{name} is {dims}", name=self.name, dims=_dims_text(dims))


def operands(node: BoundNode, name: str) -> list[NamedTensor]:
    """The tensors of an operand: none if absent, several if it is variadic."""
    return [NamedTensor(name, tensor) for tensor in node.tensors(name)]


def operand(node: BoundNode, name: str) -> NamedTensor | None:
    """The tensor of an operand, the first of several; None where it is absent."""
    tensor = node.tensor(name)
    return None if tensor is None else NamedTensor(name, tensor)


def lengths(node: BoundNode, name: str, dim: str) -> Iterator[tuple[NamedTensor, int | None]]:
    """Yield each tensor of the operand with its dim `dim`, None where that is open.

    A tensor of another rank than the layouts' has no such dimension and is left out: the rule on
    its rank reports it.
    """
    row = node.operand(name)
    for tensor in operands(node, name):
        dims = tensor.dims
        if dims is None:
            yield tensor, None
            continue
        layout = row.layout_of(len(dims)) or ""
        if dim in layout:
            yield tensor, dims[layout.index(dim)]


def count_of(dims: Sequence[int | None] | None) -> int | None:
    """The number of elements, at most 2**64; None if it depends on an open dim."""
    if dims is None:
        return None
    if 0 in dims:
        return 0
    count: int = 1
    for dim in dims:
        if dim is None:
            return None
        count = min(count * dim, _CEILING)
    return count


def numbers(data: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The data as integers or float64, flat; None where it is not numbers."""
    try:
        dtype = DType.from_numpy(data.dtype)
    except UnknownDTypeError:
        return None
    if dtype.is_float:
        with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other here
            return data.ravel().astype(np.float64)
    return data.ravel() if dtype.is_integer else None


_ELEMENTS = 8
"""Elements of a list that are shown."""

_LETTERS = 60
"""Letters of a text that are shown."""

_WORD = re.compile(r"<?[A-Za-z_][A-Za-z0-9_.]{0,59}>?")
"""Texts that need no quotes: SAME_UPPER, <graph>."""

_BITS = 64
"""An integer of more bits is never a dim or a value of a tensor; its digits are not shown."""

_ROUNDING = 6e-8
"""Largest relative rounding error of float32: half a unit in its last place, 2**-24."""


def shown(value: Any) -> str:
    """A value as text that reads the same in every language; long ones are cut."""
    if isinstance(value, list | tuple):
        items = [shown(item) for item in value[:_ELEMENTS]]
        more = ["..."] if len(value) > _ELEMENTS else []
        return f"[{', '.join(items + more)}]"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"<tensor {_dims_text(shape) or 'scalar'}>"
    return _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        texts = (f"{value:.{digits}g}" for digits in (7, 8))
        text = next(
            (t for t in texts if math.isclose(float(t), value, rel_tol=_ROUNDING)), repr(value)
        )
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return quoted(value)
    return _clipped(str(value))


def quoted(text: str) -> str:
    """A text of the model in quotes; characters that do not print become escapes."""
    return f'"{_clipped(text)}"'


def at_fault(items: Sequence[Any], index: int) -> str:
    """A list whose element at `index` is at fault; of a long one only that element."""
    if len(items) <= _ELEMENTS:
        return shown(tuple(items))
    return f"[{index}] = {shown(items[index])}"


def array_at_fault(data: npt.NDArray[Any], index: int = 0) -> str:
    """The data of a constant, of which the flat element `index` is at fault."""
    items = data.ravel()
    if not data.ndim:
        return shown(items.tolist()[0])
    if data.size <= _ELEMENTS:
        return shown(items.tolist())
    places: list[int] = []
    rest = index
    for length in reversed(data.shape):
        rest, place = divmod(rest, length)
        places.insert(0, place)
    return f"{shown(places)} = {shown(items[index : index + 1].tolist()[0])}"


def noted(value: object, note: str) -> Text:
    """A value with a note after it in brackets."""
    return Text("{value} ({note})", value=value, note=note)


def _dims_text(dims: Sequence[int | None]) -> str:
    """Dims with an x between them; of very many only the first."""
    texts = ["?" if dim is None else _integer(dim) for dim in dims[:_ELEMENTS]]
    return "x".join(texts + (["..."] if len(dims) > _ELEMENTS else []))


def _integer(value: int) -> str:
    """An integer in full unless it is absurdly large."""
    bits = value.bit_length()
    if bits <= _BITS:
        return str(value)
    return f"< -2^{bits - 1}" if value < 0 else f">= 2^{bits - 1}"


def _clipped(text: str) -> str:
    cut = text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."
    return cut if cut.isprintable() else ascii(cut)[1:-1]
