"""Operator specifications as values: `OpSpec` and its parts, which nothing changes after loading.

msgspec converts the YAML data straight into these structs, so their fields are the keys that a
file may have. Fields whose key starts with `@` are filled in by the loader.
"""

from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Annotated, Literal, TypeAlias

import msgspec

from atc_py.spec.deviations import Deviation, Registered
from atc_py.spec.rule import (
    Bilingual,
    CounterEvidence,
    Level,
    Number,
    RewriteName,
    Scalar,
    SpecStruct,
    Text,
)
from atc_py.spec.rules import Constraint
from atc_py.tensor.dtypes import DType

Value: TypeAlias = bool | int | float | str | tuple[Scalar, ...]
"""An attribute's value; tensors have no literal form."""

_Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
_Layout: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]+\Z")]
_DTypes: TypeAlias = (
    Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]
    | Annotated[str, msgspec.Meta(pattern=r"^(any|same_as [A-Za-z_][A-Za-z0-9_]*)\Z")]
)


class AttributeType(Enum):
    """Types of attributes; ONNX's, and bool for custom operators."""

    INT = "int"
    FLOAT = "float"
    STRING = "string"
    BOOL = "bool"
    TENSOR = "tensor"
    SPARSE_TENSOR = "sparse_tensor"
    GRAPH = "graph"
    INTS = "ints"
    FLOATS = "floats"
    STRINGS = "strings"

    @property
    def is_list(self) -> bool:
        """True for ints, floats and strings."""
        return self in _ELEMENTS

    @property
    def element(self) -> "AttributeType":
        """The type of one element of a list, and any other type itself."""
        return _ELEMENTS.get(self, self)


_ELEMENTS = {
    AttributeType.INTS: AttributeType.INT,
    AttributeType.FLOATS: AttributeType.FLOAT,
    AttributeType.STRINGS: AttributeType.STRING,
}


class Notes(SpecStruct, frozen=True, kw_only=True):
    """Notes on how silent, odd or contradictory lines of the list are read, and why."""

    en: Text
    zh: Text | None = None


class Beyond(SpecStruct, frozen=True, kw_only=True):
    """Dtypes that are not listed, and the rewrite that takes them."""

    dtypes: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]
    rewrite: RewriteName


class OperandSpec(SpecStruct, frozen=True, kw_only=True):
    """An input or output.

    Attributes:
        name: ONNX's name.
        dtypes: the ones allowed, `any`, or `same_as` another operand.
        rank: number of dimensions, or None when it is free.
        layout: a letter for each dimension, by which rules name them.
        layouts: the layouts that it may have, of different ranks, where it may have several.
        variadic: one or more; only one operand can be, and those after it are required.
        supported: False where the list says that it is not supported yet.
        otherwise: what follows when it is used though it is not supported.
        rewrite: name of the rewrite where that is what follows.
        carried: unlisted dtypes that tensors are cast through, which loses nothing.
        beyond: further dtypes that are not listed, and the rewrite that takes them.
        absent: what stands for it where an opset that is not listed lets a node leave it out.
        listed: False where the list does not mention it and ONNX has it.
        since: first opset that has it.
        until: last opset that has it.
        proven, contradicted: as of rules; the source of CANN shows that it is not supported.
    """

    name: _Name
    dtypes: _DTypes
    rank: Annotated[int, msgspec.Meta(ge=0, le=8)] | None = None
    layout: _Layout | None = None
    layouts: tuple[_Layout, ...] = ()
    optional: bool = False
    variadic: bool = False
    supported: bool = True
    otherwise: Level = Level.ERROR
    rewrite: RewriteName | None = None
    carried: dict[DType, DType] = msgspec.field(default_factory=dict)
    beyond: Beyond | None = None
    absent: Literal["empty"] | None = None
    listed: bool = True
    since: int | None = None
    until: int | None = None
    proven: Text | None = None
    contradicted: CounterEvidence | None = None
    line: int = msgspec.field(default=0, name="@line")

    @property
    def same_as(self) -> str | None:
        """The operand whose dtype this one shares, or None."""
        if isinstance(self.dtypes, str) and self.dtypes != "any":
            return self.dtypes.partition(" ")[2]
        return None

    @property
    def all_layouts(self) -> tuple[str, ...]:
        """Every layout that it may have."""
        return self.layouts if self.layout is None else (self.layout,)

    def layout_of(self, rank: int) -> str | None:
        """The layout of a tensor of `rank`, or None where it has none of that rank."""
        return next((layout for layout in self.all_layouts if len(layout) == rank), None)

    def has_rank(self, rank: int) -> bool:
        """True if it may have `rank`."""
        if self.layouts:
            return self.layout_of(rank) is not None
        return self.rank in {None, rank}

    def exists_at(self, opset: int) -> bool:
        """True if the operator has it at `opset`."""
        return _is_within(self.since, opset, self.until)


class OlderDefault(SpecStruct, frozen=True, kw_only=True):
    """The default that held before an opset."""

    opset: int
    value: Value


class AttributeSpec(SpecStruct, frozen=True, kw_only=True):
    """An attribute.

    Attributes:
        name: ONNX's name.
        listed_as: the list's spelling where it is another one.
        default: the value that is computed with when a node does not set it.
        default_before: the default of older opsets, where it was another one.
        listed_default: the list's default, where it is not ONNX's.
        required: every node must set it.
        one_of: the values allowed; of a list, those of each element.
        range: least and greatest value allowed of a number.
        each: least and greatest value allowed of each element of a list.
        otherwise: what follows for a value that is not allowed.
        rewrite: name of the rewrite where that is what follows.
        supported: False where the list says that it is not supported yet.
        superfluous: it follows from the shapes; later opsets set it all the same.
        listed: False where the list does not mention it and ONNX has it.
        since: first opset that has it.
        until: last opset that has it.
        proven, contradicted: as of rules; both are about the values allowed.
    """

    name: _Name
    listed_as: _Name | None = None
    type: AttributeType
    default: Value | None = None
    default_before: OlderDefault | None = None
    listed_default: Value | None = None
    required: bool = False
    one_of: tuple[Scalar, ...] = ()
    range: tuple[Number, Number] | None = None
    each: tuple[Number, Number] | None = None
    otherwise: Level = Level.ERROR
    rewrite: RewriteName | None = None
    supported: bool = True
    superfluous: bool = False
    listed: bool = True
    since: int | None = None
    until: int | None = None
    proven: Text | None = None
    contradicted: CounterEvidence | None = None
    line: int = msgspec.field(default=0, name="@line")

    def exists_at(self, opset: int) -> bool:
        """True if the operator has it at `opset`."""
        return _is_within(self.since, opset, self.until)

    def default_at(self, opset: int) -> Value | None:
        """The default that holds at `opset`; None when there is none."""
        older = self.default_before
        return older.value if older is not None and opset < older.opset else self.default


class Target(SpecStruct, frozen=True, kw_only=True):
    """The target operator of a one-to-one lowering."""

    op: _Name
    # from the target's attribute names to the operator's own
    attributes: dict[str, str] = msgspec.field(default_factory=dict)


class Example(SpecStruct, frozen=True, kw_only=True):
    """The parts of a small node that keeps every rule at every listed opset."""

    # shape of each input that is given; optional ones may be left out
    inputs: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    # the data of inputs that are constants, in row-major order
    values: dict[str, tuple[Scalar, ...]] = msgspec.field(default_factory=dict)
    # attributes that are set, those that the opset has
    attributes: dict[str, Value] = msgspec.field(default_factory=dict)


class OpSpec(SpecStruct, frozen=True, kw_only=True):
    """Everything that the operator list says about one operator."""

    op: _Name  # ONNX's op_type
    listed_as: _Name | None = None  # the list's spelling where it is another one
    opsets: tuple[int, ...] = ()  # as listed, gaps included; empty for custom operators
    # first opset whose nodes may be restated; before it they meant another thing though they looked
    # the same
    restated_since: int = 1
    custom: bool = False  # not one of ONNX's operators
    summary: Bilingual
    inputs: tuple[OperandSpec, ...]  # by position
    outputs: tuple[OperandSpec, ...]  # by position
    attributes: tuple[AttributeSpec, ...] = ()  # as the file orders them
    constraints: tuple[Constraint, ...] = ()  # rules on whole nodes
    # nodes to which CANN gives another meaning, or which it refuses
    deviations: tuple[Deviation, ...] = ()
    # opsets at which CANN's parser has the operator, where they are not those of most
    registered: tuple[Registered, ...] = ()
    # dtypes of the operands of a node on int8, an integer layer; none where the operator is not one
    quantized: dict[_Name, DType] = msgspec.field(default_factory=dict)
    # the target operator, or None when a lowering function makes the nodes
    target: Target | None = None
    notes: Notes | None = None  # how the list is read
    example: Example = Example()  # a node that keeps every rule; tests derive their models from it
    # number of the page that the file is a reading of, where the list has pages
    page: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}\Z")] | None = None
    # no page of the list has it; kept from the first list, as exporters still write it
    kept: bool = False
    # the page says that it is made for one customer and not recommended to others
    special_case: bool = False
    # what of its arithmetic is not published, or contradictory, so that it does not compile; None
    # where it is known
    unpublished: Bilingual | None = None
    path: str = msgspec.field(default="", name="@path")
    # the file of another list that it is like, if any
    like_path: str = msgspec.field(default="", name="@like_path")
    opsets_line: int = msgspec.field(default=1, name="@opsets_line")
    # the group of a user's file, where its folder does not say it
    own_group: str = msgspec.field(default="", name="@own_group")
    # the file's name in reports where it is a user's
    shown_as: str = msgspec.field(default="", name="@shown_as")

    @property
    def group(self) -> str:
        """The folder of its file: math, nn, tensor ..."""
        return self.own_group or PurePath(self.path).parent.name

    @property
    def list_name(self) -> str:
        """Its list; "" for a user's file."""
        return "" if self.shown_as else _list_of(self.path)

    @property
    def spellings(self) -> frozenset[str]:
        """The types by which files call the operator: the list's, and those of CANN's parser."""
        return frozenset({self.op, *(row.name for row in self.registered if row.name)})

    @property
    def opset_text(self) -> str:
        """The opsets as ranges, `8-11, 13`; `custom` for custom operators."""
        return "custom" if self.custom else compressed(self.opsets)

    @property
    def file_name(self) -> str:
        """`op_specs/base/nn/conv.yaml`, wherever the folder is; a user's file as the user named it."""
        return self.shown_as or _shown(self.path)

    def place_of(self, line: int) -> str:
        """`op_specs/base/nn/conv.yaml:23`, where a rule or attribute of that line stands.

        A line below 0 stands in the file that this one is like.
        """
        if line < 0:
            return f"{_shown(self.like_path)}:{-line}"
        return f"{self.file_name}:{line}"

    def attribute(self, name: str) -> AttributeSpec | None:
        """The attribute called `name`, or None."""
        return next((row for row in self.attributes if row.name == name), None)

    def is_unlisted(self, row: AttributeSpec) -> bool:
        """True if no listed opset has the attribute: it came later, or went before."""
        return not any(row.exists_at(opset) for opset in self.opsets)

    def operand(self, name: str) -> OperandSpec | None:
        """The input or else output called `name`, or None."""
        return next((row for row in (*self.inputs, *self.outputs) if row.name == name), None)

    def dtypes_of(self, operand: OperandSpec) -> tuple[DType, ...] | None:
        """The dtypes that `operand` may have, `same_as` followed; None when any will do."""
        while isinstance(operand.dtypes, str):
            other = self.operand(operand.same_as or "")
            if other is None:
                return None
            operand = other
        return operand.dtypes


@lru_cache(maxsize=1024)
def _list_of(path: str) -> str:
    """The folder of lists' files: `base` of `op_specs/base/nn/conv.yaml`."""
    return ("", *PurePath(path).parts)[-3:][0]


def _shown(path: str) -> str:
    """The name of a list's file from `op_specs/` on."""
    return "/".join(("op_specs", *PurePath(path).parts[-3:]))


def compressed(numbers: tuple[int, ...]) -> str:
    """Ascending numbers as ranges: (8, 9, 10, 13) is `8-10, 13`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


def _is_within(since: int | None, opset: int, until: int | None) -> bool:
    return (since is None or since <= opset) and (until is None or opset <= until)
