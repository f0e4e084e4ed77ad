"""All checks on an offline model, in the order in which one rests on the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from mmap import mmap

import msgspec
from msgspec.structs import replace

from atc_py.diag import Sink
from atc_py.options.gears import Gears
from atc_py.package.archive import MODEL, REPORT
from atc_py.package.codec import decode_description, decode_gear, decode_report
from atc_py.package.content import Reporter, check_description, check_members, check_names
from atc_py.package.describe import check_memory
from atc_py.package.gears_content import (
    check_agreement,
    checked_gears,
    fed_shapes,
    names_of_gear,
)
from atc_py.package.integrity import damaged_headers, damaged_members, read_directory
from atc_py.package.read_ahead import npy_header
from atc_py.package.records import Entry
from atc_py.package.schema import OmIndex, OmModel
from atc_py.package.stored_types import check_storage
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape, element_count, format_shape
from atc_py.text import Text


@dataclass(frozen=True, slots=True)
class Verified:
    """Contents of a sound file, or of one gear of it."""

    # the members by name, in the file's order; those of a gear have the names that they would have
    # in a model of its shape alone
    entries: Mapping[str, Entry]
    description: OmModel  # the decoded `model.json`
    report: dict[str, object]  # the decoded `report.json`


class VerifiedFile(msgspec.Struct, frozen=True):
    """A sound file."""

    models: tuple[Verified, ...]  # what it holds for each gear; one where it has no gears
    gears: Gears | None
    entries: Mapping[str, Entry]


def verify(data: mmap, file: str) -> VerifiedFile:
    """Check the bytes by their digests, then the description for contradictions.

    Raises:
        AtcError: every finding of the first stage that has any: NOT_OM, OM_VERSION, OM_MEMBER,
            OM_CONTENT or OM_PLAN.
    """
    entries, description = _sound_members(data, file)
    if isinstance(description, OmModel):
        sink = Sink()
        check_members(description, entries.values(), file, sink)
        _check_graph(data, entries, description, file, sink)
        report = decode_report(entries[REPORT].data_in(data), file)
        return VerifiedFile((Verified(entries, description, report),), None, entries)
    sink = Sink()
    check_members(description, entries.values(), file, sink)
    sink.raise_errors()
    gears = checked_gears(description, file)
    models = tuple(
        _verified_gear(data, entries, description, gear, file)
        for gear in range(len(description.gears.gears))
    )
    descriptions = [each.description for each in models]
    check_agreement(gears, descriptions, description, file)
    return VerifiedFile(models, replace(gears, fed=fed_shapes(descriptions)), entries)


def _verified_gear(
    data: mmap, entries: Mapping[str, Entry], index: OmIndex, gear: int, file: str
) -> Verified:
    row = index.gears.gears[gear]
    model = decode_gear(entries[row.model].data_in(data), file, row.model)
    names = names_of_gear(index, model, gear)
    own = {name: index.members[real] for name, real in names.items() if name != MODEL}
    model = replace(model, members=own)
    place = f"{file}, gear {gear}"
    sink = Sink()
    _check_graph(data, entries, model, place, sink)
    report = decode_report(entries[row.report].data_in(data), file, row.report)
    return Verified({name: entries[real] for name, real in names.items()}, model, report)


def _check_graph(
    data: mmap, entries: Mapping[str, Entry], model: OmModel, file: str, sink: Sink
) -> None:
    """Check the graph of a description; the sink may have findings about its members."""
    check_description(model, file, sink)
    sink.raise_errors()
    check_storage(model, file, sink)
    sink.raise_errors()
    check_memory(model, file, sink)
    _check_weights(data, entries, model, Reporter(file, sink))
    sink.raise_errors()


def _sound_members(data: mmap, file: str) -> tuple[dict[str, Entry], OmModel | OmIndex]:
    sink = Sink()
    listed, digest = read_directory(data, file)
    check_names(listed, file, sink)
    sink.raise_errors()
    entries = {entry.name: entry for entry in listed}
    sink.extend(damaged_headers(data, listed, file))
    damaged_model = damaged_members(data, [entries[MODEL]], {MODEL: digest}, file)
    if damaged_model:
        sink.extend(damaged_model)
        sink.raise_errors()
    description = decode_description(entries[MODEL].data_in(data), file)
    digests = {name: member.sha256 for name, member in description.members.items()}
    sink.extend(damaged_members(data, listed, digests, file))
    sink.raise_errors()
    return entries, description


def _check_weights(
    data: mmap, entries: Mapping[str, Entry], model: OmModel, report: Reporter
) -> None:
    """Compare the headers of constants, which are never evaluated, with the types of their tensors."""
    for tensor in model.tensors:
        if tensor.member is None:
            continue
        entry, dtype = entries[tensor.member], DType(tensor.dtype)
        shape = closed_shape(tuple(tensor.shape))
        header = npy_header(dtype, shape)
        size = len(header) + element_count(shape) * dtype.itemsize
        found = data[entry.data_offset : entry.data_offset + min(len(header), entry.size)]
        if found != header or size != entry.size:
            message = Text(
                "{entry} must be an array {dtype} of {shape} in {size} bytes; found {size_2} "
                "bytes with the header {text}",
                entry=entry.name,
                dtype=dtype.value,
                shape=format_shape(shape),
                size=size,
                size_2=entry.size,
                text=repr(found[10:].decode("ascii", "backslashreplace").strip()),
            )
            report.add(entry.name, message)
