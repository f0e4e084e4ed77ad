"""The schema of `model.json`, the description inside an offline model.

The structs are what the writer encodes and the reader decodes; msgspec holds every document
against them, so nothing past the reader meets a missing key or a wrong type.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from atc_py.options.auto_gears import Padding, parse_dim
from atc_py.options.gears import SHAPE_DATA, GearKind, Gears

AIPP = "Aipp"
"""The operator that makes features of pictures."""

ATC_CMDLINE = "atc_cmdline"
"""Option that has the command line of the `atc` that wrote the model, arguments joined by spaces."""

FIXED = "fix"
"""Option that is recorded where rules rewrote the source model before it was compiled."""

INPUT_RANGES = "input_shape_range"
"""Option that is recorded where runs decide dims of inputs: the ranges, as --input-shape has them."""

FORMAT = "atc-py offline model"
FORMAT_VERSION = 3
READ_VERSIONS = (1, 2, FORMAT_VERSION)
"""Versions that are read: version 2 brought the memory plan, version 3 storage formats."""

OmAttribute: TypeAlias = bool | int | float | str | list[int | float]
"""Attributes as JSON holds them; a dtype is its name."""


class OmOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node of the source model: position, name, ONNX operator."""

    index: int
    name: str
    op_type: str


class OmStorage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The blocked format of a tensor, the groups of a filter, and C0 if it is not the dtype's."""

    format: str
    groups: int = 1
    c0: int = 0


class OmTensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor; `member` names the archive member with its data when it is a constant.

    A dim of `shape` is null where only the run knows it. `shape` and `format` are what the
    tensor means; `storage` is its layout in the device's memory, null for row by row. The member
    of a constant has its elements as `shape` orders them, whatever the storage. `stands_for` names
    the values of the source model that it is, none for a step on the way to one.
    """

    name: str
    dtype: str
    shape: list[int | None]
    format: str
    member: str | None = None
    storage: OmStorage | None = None
    stands_for: tuple[str, ...] = ()


class OmPort(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model input or output: the name that users see and its tensor."""

    name: str
    tensor: int


class OmNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One node; inputs and outputs are positions in `tensors`, -1 for an absent input.

    `nonfinite` is of the file alone: attributes with infinity or NaN, which JSON cannot name, as
    text. A description that was read has them among its attributes. Nodes with one `scope` are one
    launch; 0 stands for a launch of its own.
    """

    op: str
    name: str
    engine: str
    inputs: list[int]
    outputs: list[int]
    attributes: dict[str, OmAttribute]
    kernel: str | None
    origins: list[OmOrigin]
    nonfinite: dict[str, str | list[str]] = {}
    scope: int = 0


class OmMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size in bytes and SHA-256 (hex) of an archive member."""

    size: int
    sha256: str


class OmMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The memory plan; sizes are bytes.

    `places` has one entry a tensor: its offset in the arena, or `weights`, `input`, `output`,
    `chip` (inside one launch) or `run` (memory that is taken when the run knows the dims).
    Sizes in the arena are rounded up to `padding`, and as much follows, before they are aligned.
    """

    alignment: int
    reuse: bool
    arena: int
    lower_bound: int
    workspace: int
    places: list[int | str]
    padding: int = 0


class OmModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole description; nodes stand in an order in which producers come first.

    `memory` is null for a graph that has no plan.
    """

    format: str
    format_version: int
    producer: str
    name: str
    soc: str
    options: dict[str, str]
    inputs: list[OmPort]
    outputs: list[OmPort]
    tensors: list[OmTensor]
    nodes: list[OmNode]
    members: dict[str, OmMember]
    memory: OmMemory | None = None


PLAIN_GEARS_VERSION = 4
"""Version of a description with gears; readers of version 3 and less refuse it."""

GEARS_VERSION = 5
"""Version of one whose gears have names of dims, by which data between gears are padded."""


class OmGearInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input and its dims as the user gave them: null where a gear decides."""

    name: str
    dims: list[int | None]


class OmShapeData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input that ATC appends; a run may feed it, and then its numbers choose the gear."""

    name: str
    dtype: str
    shape: list[int]
    format: str


class OmGear(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gear: its numbers, the members with its graph and its report.

    `kernels` names the member of each kernel file that is not the one called `kernels/PATH`.
    """

    values: list[int]
    model: str
    report: str
    kernels: dict[str, str]


class OmPadding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`Padding`; dims are texts such as `past + 1`."""

    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    front: list[str]
    empty: list[str]
    leaks: list[str]


class OmGears(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The gears; `inputs` are in the order of the user's --input-shape."""

    kind: str
    inputs: list[OmGearInput]
    shape_data: OmShapeData
    gears: list[OmGear]
    padding: OmPadding | None = None


class OmIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a model with gears; graphs are in members of their own."""

    format: str
    format_version: int
    producer: str
    name: str
    soc: str
    options: dict[str, str]
    gears: OmGears
    members: dict[str, OmMember]


def shape_data_of(gears: Gears) -> OmShapeData:
    """The input that ATC appends to a model with these gears: int32 [k], last of all."""
    return OmShapeData(SHAPE_DATA, "int32", [len(gears.gears[0])], "ND")


def record_of_gears(found: OmGears) -> Gears:
    shapes = {each.name: tuple(each.dims) for each in found.inputs}
    numbers = tuple(tuple(gear.values) for gear in found.gears)
    padding = None if found.padding is None else _padding_of(found.padding)
    return Gears(GearKind(found.kind), shapes, numbers, padding=padding)


def _padding_of(found: OmPadding) -> Padding:
    inputs, outputs = (
        {name: tuple(map(parse_dim, dims)) for name, dims in named.items()}
        for named in (found.inputs, found.outputs)
    )
    return Padding(inputs, outputs, tuple(found.front), tuple(found.empty), tuple(found.leaks))


def padding_record(padding: Padding | None) -> OmPadding | None:
    if padding is None:
        return None
    inputs, outputs = (
        {name: list(map(str, dims)) for name, dims in named.items()}
        for named in (padding.inputs, padding.outputs)
    )
    return OmPadding(inputs, outputs, list(padding.front), list(padding.empty), list(padding.leaks))


class PackageContents(msgspec.Struct, frozen=True):
    """Contents of the offline model besides the graph."""

    producer: str  # name and version of the program that writes
    soc: str  # name of the SoC that the graph was compiled for
    # the compilation's options, as text
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    # text of each kernel file by its path below `kernels/`; paths are made of ASCII letters, digits
    # and `_.+-`
    kernels: Mapping[str, str] = msgspec.field(default_factory=dict)
    # name of the kernel that executes a node, by the node's name
    kernel_of: Mapping[str, str] = msgspec.field(default_factory=dict)
    # findings and figures, as JSON values
    report: Mapping[str, object] = msgspec.field(default_factory=dict)
