"""The schema of `model.json` in an offline model with gears: one graph for each list of shapes.

The graphs are documents of their own, each with what an offline model of one shape has in its
`model.json`, but for the list of members; that is here. They share the archive's members.
"""

import msgspec

from atc_py.options.gears import SHAPE_DATA, GearKind, Gears
from atc_py.package.schema import OmMember

GEARS_VERSION = 4
"""Version of a description with gears; readers of version 3 and less refuse it."""


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


class OmGears(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The gears; `inputs` are in the order of the user's --input-shape."""

    kind: str
    inputs: list[OmGearInput]
    shape_data: OmShapeData
    gears: list[OmGear]


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
    """The gears that a description records.

    Raises:
        ValueError: it has no kind of that name.
    """
    shapes = {each.name: tuple(each.dims) for each in found.inputs}
    return Gears(GearKind(found.kind), shapes, tuple(tuple(gear.values) for gear in found.gears))
