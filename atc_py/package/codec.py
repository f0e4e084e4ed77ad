"""Between descriptions and the bytes of `model.json`; also the other JSON in a package."""

import math
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from atc_py.diag import NOT_OM, OM_CONTENT, OM_VERSION, AtcError, Place
from atc_py.package.archive import MODEL, REPORT
from atc_py.package.schema import (
    FORMAT,
    FORMAT_VERSION,
    GEARS_VERSION,
    PLAIN_GEARS_VERSION,
    READ_VERSIONS,
    OmAttribute,
    OmIndex,
    OmModel,
    OmNode,
)
from atc_py.system.json_text import MAX_DEPTH, is_deep
from atc_py.system.structs import ready_for_threads
from atc_py.text import Text, plain_text

_T = TypeVar("_T")


class _Probe(msgspec.Struct):
    """Fields that every version of the description has."""

    format: str
    format_version: int


ready_for_threads(_Probe, OmModel, OmIndex)


def encode_model(model: OmModel) -> bytes:
    """JSON of a description; the same description gives the same bytes."""
    nodes = [_without_nonfinite(node) for node in model.nodes]
    return msgspec.json.encode(
        msgspec.structs.replace(model, nodes=nodes), order="deterministic", enc_hook=plain_text
    )


def encode_index(index: OmIndex) -> bytes:
    return msgspec.json.encode(index, order="deterministic", enc_hook=plain_text)


def encode_report(report: Mapping[str, object]) -> bytes:
    """Encode a report as JSON, byte for byte reproducible; NaN and infinity become null."""
    return msgspec.json.encode(dict(report), order="deterministic", enc_hook=plain_text)


def decode_description(data: bytes, file: str) -> OmModel | OmIndex:
    """The description in `data`, the `model.json` of `file`; an index where it has gears."""
    place = Place(file=file, field=MODEL)
    probe = _decode(data, _Probe, place)
    if probe.format != FORMAT:
        raise NOT_OM.error(
            Text(
                "{file} states the format {format}; atc-py reads {format_2}",
                file=file,
                format=repr(probe.format),
                format_2=repr(FORMAT),
            ),
            place=place,
            help=Text("convert the ONNX model with `atc-py convert`"),
        )
    if probe.format_version in {PLAIN_GEARS_VERSION, GEARS_VERSION}:
        return _decode(data, OmIndex, place)
    if probe.format_version not in READ_VERSIONS:
        known = " and ".join(f"version {version}" for version in range(1, GEARS_VERSION + 1))
        raise OM_VERSION.error(
            Text(
                "{file} has version {format_version} of the format; this atc-py reads {known}",
                file=file,
                format_version=probe.format_version,
                known=known,
            ),
            place=place,
            help=Text(
                "convert the ONNX model again with this atc-py, or use the one that wrote it"
            ),
        )
    return _decoded_model(data, place)


def decode_gear(data: bytes, file: str, member: str) -> OmModel:
    """The description in `data`, the member with the graph of a gear."""
    place = Place(file=file, field=member)
    model = _decoded_model(data, place)
    if (model.format, model.format_version) != (FORMAT, FORMAT_VERSION):
        message = Text(
            "{member} must be a description of version {format_version}, found {format}, "
            "version {format_version_2}",
            member=member,
            format_version=FORMAT_VERSION,
            format=repr(model.format),
            format_version_2=model.format_version,
        )
        raise unusable(place, message)
    return model


def unusable(place: Place, message: Text) -> AtcError:
    """The refusal of a document that is not as it was written."""
    return OM_CONTENT.error(message, place=place, help=Text("convert the ONNX model again"))


def _decoded_model(data: bytes, place: Place) -> OmModel:
    model = _decode(data, OmModel, place)
    nodes = [_with_nonfinite(node, place) for node in model.nodes]
    return msgspec.structs.replace(model, nodes=nodes)


def decode_report(data: bytes, file: str, member: str = REPORT) -> dict[str, object]:
    """The report in `data`, the `report.json` of `file`, or the one of a gear."""
    place = Place(file=file, field=member)
    report = _decode(data, dict[str, object], place)
    if is_deep(report):
        message = Text("{member} is nested more than {max_depth} times")
        raise unusable(place, message.with_values(member=member, max_depth=MAX_DEPTH))
    return report


def _decode(data: bytes, type_: type[_T], place: Place) -> _T:
    """JSON decoded as a type; errors say what is wrong and where in msgspec's own words."""
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = Text("{field} does not follow the schema: {error}")
        raise unusable(place, message.with_values(field=place.field, error=error)) from error


def _without_nonfinite(node: OmNode) -> OmNode:
    """The node with infinity and NaN moved to `nonfinite` as text."""
    moved = {name: value for name, value in node.attributes.items() if _is_nonfinite(value)}
    if not moved:
        return node
    texts = {
        name: [repr(number) for number in value] if isinstance(value, list) else repr(value)
        for name, value in moved.items()
    }
    kept = {name: value for name, value in node.attributes.items() if name not in moved}
    return msgspec.structs.replace(node, attributes=kept, nonfinite=texts)


def _is_nonfinite(value: OmAttribute) -> bool:
    if not isinstance(value, list):
        return isinstance(value, float) and not math.isfinite(value)
    return any(isinstance(number, float) and not math.isfinite(number) for number in value)


def _with_nonfinite(node: OmNode, place: Place) -> OmNode:
    if not node.nonfinite:
        return node
    try:
        numbers: dict[str, OmAttribute] = {
            name: [float(text) for text in texts] if isinstance(texts, list) else float(texts)
            for name, texts in node.nonfinite.items()
        }
    except ValueError as error:
        message = Text("a number of node {node} cannot be read: {error}")
        raise unusable(place, message.with_values(node=repr(node.name), error=error)) from error
    return msgspec.structs.replace(node, attributes={**node.attributes, **numbers}, nonfinite={})
