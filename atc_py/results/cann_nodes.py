"""Nodes that were compiled as a release of CANN computes them, in place of what ONNX defines."""

# Annotations are not postponed here: msgspec reads them when a report is read.
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec

from atc_py.diag import OM_CONTENT, Place
from atc_py.system.json_text import plain_values
from atc_py.system.structs import Result, ready_for_threads
from atc_py.text import Text

_KEY = "semantics"

NEWER = "newer"
"""Key in a report of the nodes that later lists alone take; it is there where there are such."""

NewerNodes: TypeAlias = Mapping[str, Mapping[str, int]]
"""Nodes by operator that a later list alone takes, by the list."""

T = TypeVar("T")
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w.:-]{1,100}$")]
_Count = Annotated[int, msgspec.Meta(ge=1)]


class CannDeviation(Result, frozen=True):
    """A deviation that a node meets.

    Attributes:
        name: operator and row, `GRU/reset-after-product`.
        certainty: how certain the release has it.
        effect: what CANN computes instead.
    """

    name: str
    certainty: Literal["proven", "inferred"]
    effect: str

    @property
    def text(self) -> str:
        """The name with its certainty."""
        return f"{self.name} ({self.certainty})"


class CannNode(Result, frozen=True):
    """A node of the file that was written as CANN computes it.

    Attributes:
        node: its position in the file's graph.
        name: its name in the file, possibly empty.
        operator: its operator there.
        deviations: in the order in which they were written out.
    """

    node: int
    name: str
    operator: str
    deviations: tuple[CannDeviation, ...]


class CannSemantics(Result, frozen=True):
    """Record of a compilation under `--semantics cann` in which nodes deviate from ONNX.

    Attributes:
        generation: the release of CANN; a number in older files.
        nodes: those that were written otherwise, in the order of the file.
    """

    generation: str | int
    nodes: tuple[CannNode, ...]

    def as_json(self) -> dict[str, object]:
        """The entry of a report; texts are in English."""
        return {_KEY: plain_values(self)}


ready_for_threads(CannSemantics)


def semantics_json(semantics: CannSemantics | None) -> dict[str, object]:
    """The entry of a JSON document, null where all nodes compute what ONNX defines."""
    return {_KEY: None} if semantics is None else semantics.as_json()


def read_semantics(report: Mapping[str, object], file: str) -> CannSemantics | None:
    """The record in an offline model's report; None where all nodes compute what ONNX says.

    Raises:
        AtcError: OM_CONTENT for a record that does not follow its schema.
    """
    return recorded(report, _KEY, CannSemantics, file)


def read_newer(report: Mapping[str, object], file: str) -> NewerNodes:
    """The nodes that later lists alone take, which `Facts` recorded; raises like `read_semantics`."""
    return recorded(report, NEWER, dict[_Name, dict[_Name, _Count]], file) or {}


def recorded(report: Mapping[str, object], key: str, kind: type[T], file: str) -> T | None:
    """A part of an offline model's report, None where it has none; raises like `read_semantics`."""
    if report.get(key) is None:
        return None
    try:
        return msgspec.convert(report[key], kind)
    except msgspec.ValidationError as error:
        text = Text("the record of {name} does not follow its schema: {error}")
        raise OM_CONTENT.error(
            text.with_values(name=key, error=error),
            place=Place(file, field="report.json"),
            help=Text("convert the model again with this version of atc-py"),
        ) from error
