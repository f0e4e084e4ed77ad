"""A configuration file read and checked as far as no model is needed."""

import math
from dataclasses import dataclass
from pathlib import Path

from atc_py.diag import BAD_AIPP, AtcError, AtcFault, Place
from atc_py.options.aipp.config import AippConfig, config_of_fields
from atc_py.options.aipp.fields import AIPP_FIELDS, AippField, FieldKind
from atc_py.options.aipp.image_formats import IMAGE_FORMATS, OTHER_FORMATS
from atc_py.options.aipp.text_format import TextField, TextFormatError, TextPlace, read_fields
from atc_py.system.input_files import read_bytes
from atc_py.text import Text

_MOST_BYTES = 1 << 20
"""Bytes of a configuration file; a real one has a few hundred."""

_OPTION = "--insert_op_conf"
"""ATC's name of the option, which its messages state."""


@dataclass(frozen=True, slots=True)
class AippFile:
    """A configuration file."""

    path: str
    configs: tuple[AippConfig, ...]  # one for each `aipp_op`, in order; there may be none


def read_aipp_file(path: Path) -> AippFile:
    """The configurations of a file, with values of the right types and in their ranges.

    Raises:
        AtcError: FILE_NOT_FOUND and its like with ATC's E10001; BAD_AIPP with the line, the column
            and the field: ATC's E13005 where the text does not follow the grammar, E10052 where a
            value is refused.
    """
    result = parse_aipp(str(path), read_aipp_text(path))
    for config in result.configs:
        check_values(config)
        check_mode(config)
    return result


def read_aipp_text(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or FILE_TOO_LARGE.
    """
    try:
        return decoded(read_bytes(path, _MOST_BYTES))
    except AtcError as error:
        (found,) = error.diagnostics
        fault = AtcFault("E10001", (str(path), _OPTION, found.message))
        raise AtcError(found._replace(atc=fault)) from None


def decoded(data: bytes) -> str:
    """Bytes as text; what is not UTF-8 may be in comments alone, and there it is skipped.

    Files with comments in GBK are common, and protobuf reads them too: the grammar itself is ASCII.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_aipp(path: str, text: str) -> AippFile:
    """The configurations of a text; values have their types, but are not checked."""
    try:
        configs = [_one_config(path, field) for field in read_fields(text)]
    except TextFormatError as error:
        raise _refusal(path, error.message, error.field, error.place, "E13005", path) from None
    return AippFile(path, tuple(configs))


def _one_config(path: str, field: TextField) -> AippConfig:
    if field.name == "multi_shape_op":
        message = Text("`multi_shape_op` is written by ATC itself and has no meaning here")
        raise _refusal(path, message, field.name, field.place, "E10052", message)
    if field.name != "aipp_op":
        name = field.name[:40]
        raise TextFormatError(
            Text("expected `aipp_op`, found {found}", found=repr(name)), field.place, name
        )
    if field.fields is None:
        raise TextFormatError(Text("`aipp_op` takes fields in braces"), field.place, field.name)
    return config_of_fields(path, field.place, field.fields)


def _refusal(
    path: str, message: Text, field: str | None, place: TextPlace, code: str, argument: str
) -> AtcError:
    return BAD_AIPP.error(
        message,
        place=Place(path, field=field, line=place.line, column=place.column),
        atc=AtcFault(code, (argument,)),
    )


def check_values(config: AippConfig) -> None:
    """Refuse values outside their ranges, and fields that nothing here has."""
    for row in AIPP_FIELDS:
        if row.name in config:
            _check_value(config, row)


def _check_value(config: AippConfig, row: AippField) -> None:
    value = config[row.name]
    if row.refused and value != row.default:
        raise config.error(
            Text("{field} {message}", field=repr(row.name), message=Text(row.refused)),
            row.name,
            Text("delete the field"),
        )
    if row.kind is FieldKind.FORMAT and value:
        _check_format(config, str(value))
    if row.kind is FieldKind.MODE and value not in {"undefined", "static", "dynamic"}:
        raise config.error(
            Text("'aipp_mode' must be static or dynamic, found {value}", value=value), row.name
        )
    if isinstance(value, bool | str):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise config.error(
            Text("{name} must be a finite number, found {value}", name=repr(row.name), value=value),
            row.name,
        )
    low, high = row.least, row.most
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"[{low:g}, {high:g}]"
        if isinstance(value, int):
            bounds = f"[{int(low or 0)}, {int(high or 0)}]"
        raise config.error(
            Text(
                "{name} must be in {bounds}, found {value}",
                name=repr(row.name),
                bounds=bounds,
                value=value,
            ),
            row.name,
        )


def _check_format(config: AippConfig, name: str) -> None:
    if name in OTHER_FORMATS:
        message = Text(
            "the picture format {name} belongs to camera SoCs and is not modeled", name=name
        )
    elif name.isdigit() or name.startswith("-"):
        message = Text("no picture format has the number {name}", name=name)
    else:
        return
    known = ", ".join(row.name for row in IMAGE_FORMATS)
    raise config.error(message, "input_format", Text("known are {known}", known=known))


def check_mode(config: AippConfig) -> None:
    """Refuse a configuration without mode, and one that lacks what its mode requires."""
    mode = config["aipp_mode"]
    if mode == "undefined":
        raise config.error(
            Text("'aipp_mode' is missing"),
            "aipp_mode",
            Text("add `aipp_mode: static` or `dynamic`"),
        )
    if mode == "dynamic" and not config["max_src_image_size"]:
        raise config.error(
            Text(
                "dynamic AIPP needs 'max_src_image_size', the largest number of bytes that all "
                "pictures of a run have together"
            ),
            "max_src_image_size",
            Text("for YUV420SP it is batch x height x width x 3 / 2, for RGB888 x 3"),
        )
    if mode == "static" and not config["input_format"]:
        known = ", ".join(row.name for row in IMAGE_FORMATS)
        raise config.error(
            Text("static AIPP needs 'input_format'"),
            "input_format",
            Text("add one of {known}", known=known),
        )
