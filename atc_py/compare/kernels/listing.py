"""The kernels of a model as its `kernels.json` lists them: its schema, and whether it fits the model."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast

import msgspec
from msgspec import Meta

from atc_py.diag import NOT_TRUSTED, OM_CONTENT, Place
from atc_py.kernels.kernels import INDEX
from atc_py.package.archive import KERNELS
from atc_py.package.codec import unusable
from atc_py.package.foreign import is_offline
from atc_py.package.reader import OfflineModel
from atc_py.system.json_text import MAX_DEPTH, is_deep
from atc_py.system.structs import Result
from atc_py.text import Text

_Count = Annotated[int, Meta(ge=0, lt=2**53)]
"""Sizes and counts; no device has any beyond float64's integers."""

_Size = Annotated[int, Meta(gt=0, lt=2**53)]
_Name = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,199}\Z")]
"""A kernel is a function, a file and a folder: its name is a C++ identifier and a plain file name."""

_Text = Annotated[str, Meta(max_length=4096)]
_Numbers = Literal["exact", "close", "sums"]


class _StorageEntry(TypedDict):
    """A blocked format, and the groups of a filter."""

    format: _Text
    groups: _Size


class StorageEntry(_StorageEntry, total=False):
    """A storage; C0 is there where it is not that of the dtype."""

    c0: _Size


class _PortEntry(TypedDict):
    """Entry of an operand or result, as every list has it."""

    name: _Text
    dtype: _Text


class PortEntry(_PortEntry, total=False):
    """An operand or result; lists from before storage formats do not have them."""

    format: _Text
    storage: StorageEntry | None


class LinkEntry(TypedDict):
    """An operator that follows; `reads` has null where it reads the result so far."""

    op: _Text
    numbers: _Numbers
    reads: list[_Text | None]


class BufferEntry(TypedDict):
    """A piece of a core's buffers."""

    name: _Text
    storage: _Text
    bytes: _Count


class RowEntry(TypedDict):
    """A set of shapes with its plan; its tiling has numbers, lists and tables, which are shown."""

    shapes: list[list[_Count | None]]
    nodes: Annotated[list[str], Meta(min_length=1)]
    cores: _Count
    tiling: dict[str, Any]
    buffers: list[BufferEntry]
    read_bytes: _Count
    written_bytes: _Count
    workspace_bytes: _Count


class _KernelEntry(TypedDict):
    """Entry of a kernel, as every list has it."""

    name: _Name
    op: _Text
    engine: _Text
    family: _Text
    complete: bool
    numbers: _Numbers | None
    links: list[LinkEntry]
    lines: _Count
    inputs: list[PortEntry]
    outputs: list[PortEntry]
    rows: list[RowEntry]


class KernelEntry(_KernelEntry, total=False):
    """A kernel; `addresses` says whether it takes its operands as they are stored."""

    addresses: Literal["storage", "origin"]


class Index(TypedDict):
    """The whole list."""

    soc: _Text
    buffers: dict[str, _Size]
    kernels: list[KernelEntry]


def decode_index(text: str, place: Place) -> Index:
    """The list that `text` holds, validated by its schema."""
    try:
        document = msgspec.json.decode(text)
        msgspec.convert(document, Index)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise unusable(
            place, Text("the list of kernels does not follow its schema: {error}", error=error)
        ) from error
    if is_deep(document):
        raise unusable(
            place,
            Text("the list of kernels is nested more than {max_depth} times", max_depth=MAX_DEPTH),
        )
    index = cast("Index", document)  # the document itself has more keys than readers need
    for kernel in index["kernels"]:
        for row in kernel["rows"]:
            unknown = {each["storage"] for each in row["buffers"]} - index["buffers"].keys()
            if unknown:
                message = Text(
                    "{kernel} uses buffers {unknown} that are not listed",
                    kernel=kernel["name"],
                    unknown=sorted(unknown),
                )
                raise unusable(place, message)
    return index


def check_fit(
    kernels: Iterable[KernelEntry], nodes: Mapping[str, tuple[int, int]], place: Place
) -> None:
    """Check kernels against the nodes of the model: their numbers of inputs and outputs by name."""
    for kernel in kernels:
        if kernel["complete"] and kernel["numbers"] is None:
            raise unusable(
                place,
                Text(
                    "{kernel} is complete but has no description of its numbers",
                    kernel=kernel["name"],
                ),
            )
        for row in kernel["rows"]:
            message = _misfit(kernel, row, nodes)
            if message:
                raise unusable(
                    place, Text("{field} {message}", field=kernel["name"], message=Text(message))
                )


def _misfit(kernel: KernelEntry, row: RowEntry, nodes: Mapping[str, tuple[int, int]]) -> str:
    """The reason why a row's nodes cannot be a launch of the kernel, or nothing."""
    links = kernel["links"]
    launched = row["nodes"][: 1 + len(links)]
    unknown = [node for node in launched if node not in nodes]
    if unknown:
        return Text("serves {unknown}, which the model does not have", unknown=repr(unknown[0]))
    if len(launched) <= len(links):
        return Text(
            "has {count} links and serves {count_2} nodes", count=len(links), count_2=len(launched)
        )
    pairs = zip(launched[1:], links, strict=True)
    if any(len(link["reads"]) != nodes[node][0] for node, link in pairs):
        return "has links that read other operands than their nodes"
    if len(kernel["outputs"]) != nodes[launched[-1]][1]:
        return Text(
            "writes {count} results, its nodes have {nodes}",
            count=len(kernel["outputs"]),
            nodes=nodes[launched[-1]][1],
        )
    return ""


class KernelList(Result, frozen=True):
    """The list of a model's kernels as `kernels.json` has it.

    Attributes:
        soc: what they are planned for.
        buffers: bytes of a core's ub, l1, l0a, l0b and l0c.
        kernels: an object for each kernel.
    """

    soc: str
    buffers: Mapping[str, int]
    kernels: tuple[KernelEntry, ...]


def kernel_texts(model: OfflineModel) -> dict[str, str]:
    """Text of each kernel file by its path below `kernels/`."""
    return {
        member.removeprefix(KERNELS): model.text(member)
        for member in model.members
        if member.startswith(KERNELS)
    }


def index_place(model: OfflineModel) -> Place:
    return Place(file=str(model.path), field=KERNELS + INDEX)


def read_kernels(model: OfflineModel) -> KernelList:
    """The list of the model's kernels; empty where no node launches one.

    Raises:
        AtcError: OM_CONTENT if nodes have kernels but their list is missing, or does
            not follow its schema.
    """
    member = KERNELS + INDEX
    place = index_place(model)
    if member not in model.members:
        if any(name.startswith(KERNELS) for name in model.members):
            raise OM_CONTENT.error(
                Text("{path} has kernels but no list of them", path=model.path),
                place=place,
                help=Text("convert the model again with this version of atc-py"),
            )
        return KernelList(model.description.soc, {}, ())
    index = decode_index(model.text(member), place)
    return KernelList(index["soc"], index["buffers"], tuple(index["kernels"]))


def check_trust(path: Path, *, trusted: bool) -> None:
    """Refuse to build the kernels that an offline model carries unless its user trusts them.

    Its digests say that the file is as it was written, not who wrote it; kernels of an ONNX model
    come from templates of this machine.

    Raises:
        AtcError: NOT_TRUSTED.
    """
    if not trusted and is_offline(path):
        raise NOT_TRUSTED.error(
            Text(
                "{path} carries C++ that --verify would build and run on this machine with your "
                "permissions",
                path=path,
            ),
            place=Place(file=str(path)),
            help=Text("also give --trust if you know who wrote the file, or verify the ONNX model"),
        )
