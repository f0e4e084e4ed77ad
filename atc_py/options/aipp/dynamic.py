"""Settings of dynamic AIPP for a run: read from a file, checked against the model and the run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from atc_py.diag import BAD_AIPP, BAD_OPTION, AtcError, AtcFault, Place
from atc_py.options.aipp.config import AippConfig, GivenField, typed_value, unknown_field
from atc_py.options.aipp.fields import BIASES, MATRIX, FieldKind, channel_fields, find_field
from atc_py.options.aipp.file import (
    AippFile,
    check_mode,
    check_values,
    decoded,
    parse_aipp,
    read_aipp_text,
)
from atc_py.options.aipp.geometry import NetworkInput, picture_settings
from atc_py.options.aipp.image_formats import image_format
from atc_py.options.aipp.parameters import settings_of_bytes
from atc_py.options.aipp.settings import AippSettings, source_bytes
from atc_py.options.aipp.text_format import TextFormatError, TextPlace, TextValue
from atc_py.system.input_files import read_bytes
from atc_py.text import Text, plural

_NAME, _RANK, _EDGE = "related_input_name", "related_input_rank", "input_edge_idx"


def assigned_configs(file: AippFile, inputs: Sequence[str]) -> dict[int, AippConfig]:
    """The configurations of a file by the position of their input among `inputs`, by name.

    Names of inputs are refused, as ATC takes them for Caffe models alone.

    Raises:
        AtcError: BAD_AIPP (E10052) for an input that the model does not have, for names, which
            ATC takes for Caffe models alone, and for two configurations for one input.
    """
    results: dict[int, AippConfig] = {}
    for config in file.configs:
        at = _position(config, inputs)
        if at in results:
            place = results[at].place
            raise config.error(
                Text(
                    "input {at} ({inputs}) has a second configuration, after that of line {line}",
                    at=at,
                    inputs=repr(inputs[at]),
                    line=place.line if place else 0,
                ),
                _RANK,
                Text("give each input one `aipp_op`, with its own `related_input_rank`"),
            )
        results[at] = config
    return results


def _position(config: AippConfig, inputs: Sequence[str]) -> int:
    name, at = str(config[_NAME]), config.integer(_RANK)
    if name:
        known = f"`related_input_rank: {inputs.index(name)}`" if name in inputs else f"`{_RANK}`"
        message = Text(
            "'{name}' names inputs of Caffe models alone, found {name_2}",
            name=_NAME,
            name_2=repr(name),
        )
        raise config.error(message, _NAME, Text("write {known} for an ONNX model", known=known))
    if at >= len(inputs):
        names = ", ".join(map(repr, inputs))
        raise config.error(
            plural(
                len(inputs),
                "'{rank}' is {at}, but the model has {n} input: {names}",
                "'{rank}' is {at}, but the model has {n} inputs: {names}",
                rank=_RANK,
                at=at,
                names=names,
            ),
            _RANK,
            Text("positions start at 0"),
        )
    if config.integer(_EDGE):
        raise config.error(
            Text(
                "'{edge}' is {config}, but an input has only edge 0",
                edge=_EDGE,
                config=config[_EDGE],
            ),
            _EDGE,
            Text("delete the field"),
        )
    return at


def dims_gears_refusal(path: str) -> AtcError:
    """Build the error for AIPP beside gears of dims, which ATC refuses as E10001."""
    reason = "AIPP is not possible with --dynamic_dims"
    return BAD_OPTION.error(
        Text("AIPP cannot be combined with gears of dims"),
        help=Text("use gears of image sizes, or prepare the pictures outside the model"),
        atc=AtcFault("E10001", (path, "--insert_op_conf", reason)),
    )


def fp16_input_refusal(config: AippConfig, name: str) -> AtcError:
    """Build the error for AIPP on an input that is fed as float16, which ATC refuses as E10034."""
    return config.error(
        Text(
            "input {name} is fed as float16, but AIPP makes it a picture of bytes", name=repr(name)
        ),
        _RANK,
        Text("leave the input out of --input-fp16-nodes"),
        AtcFault("E10034", (name,)),
    )


_SECTION = "aipp_op"
_LINE = re.compile(r"\s*(?P<name>[^\s:=#;]+)\s*[:=]\s*(?P<value>[^#;]*?)\s*(?:[#;].*)?")
_NOTHING = re.compile(r"\s*(?:[#;].*)?")
_HEAD = re.compile(r"\s*\[\s*([^\]]*?)\s*\]\s*(?:[#;].*)?")


def is_ini(text: str) -> bool:
    """True if the first line that says something is the head of a section."""
    lines = (line for line in text.splitlines() if not _NOTHING.fullmatch(line))
    return next(lines, "").lstrip().startswith("[")


def parse_ini(path: str, text: str) -> AippConfig:
    """The settings of the section [aipp_op].

    Keys are the fields of the configuration file, switches are 0 or 1. A key may be repeated with
    the same value, as a published example does.
    """
    begin: TextPlace | None = None
    given: dict[str, GivenField] = {}
    try:
        for number, line in enumerate(text.splitlines(), 1):
            if _NOTHING.fullmatch(line):
                continue
            head = _HEAD.fullmatch(line)
            if head is None:
                _add(given, line, number, begin)
            else:
                begin = _begin(head, number, begin)
    except TextFormatError as error:
        found = error.place
        place = Place(path, field=error.field, line=found.line, column=found.column)
        raise BAD_AIPP.error(error.message, place=place) from None
    return AippConfig(path, begin, given)


def _begin(head: re.Match[str], number: int, begin: TextPlace | None) -> TextPlace:
    place = TextPlace(number, head.start(1) + 1)
    if head[1] != _SECTION or begin is not None:
        raise TextFormatError(
            Text(
                "expected a single section [{section}], found a second header [{head}]",
                section=_SECTION,
                head=head[1][:30],
            ),
            place,
        )
    return place


def _add(given: dict[str, GivenField], line: str, number: int, begin: TextPlace | None) -> None:
    match = _LINE.fullmatch(line)
    if match is None or begin is None:
        column = len(line) - len(line.lstrip()) + 1
        expected = "`key : value`" if begin else f"[{_SECTION}]"
        raise TextFormatError(
            Text(
                "expected {expected}, found {line}", expected=expected, line=repr(line.strip()[:30])
            ),
            TextPlace(number, column),
        )
    name, place = match["name"], TextPlace(number, match.start("name") + 1)
    row = find_field(name)
    if row is None:
        raise unknown_field(name, place)
    value = TextValue(
        match["value"], TextPlace(number, match.start("value") + 1), row.kind is FieldKind.STRING
    )
    typed = typed_value(row, value)
    if name in given and given[name].value != typed:
        raise TextFormatError(
            Text("{name} is given a second time, with another value", name=repr(name)), place, name
        )
    given[name] = GivenField(typed, place)


_MOST_RUN_BYTES = 1 << 20
"""Bytes of a file with settings; the largest buffer has 12,256."""

_PARTS = {
    "matrix": MATRIX,
    "input_bias": BIASES[:3],
    "output_bias": BIASES[3:],
    "mean_chn": channel_fields("mean_chn"),
    "min_chn": channel_fields("min_chn"),
    "var_reci_chn": channel_fields("var_reci_chn"),
}
"""Attributes that are several fields of a file."""


def read_run_settings(
    path: Path, networks: Mapping[int, NetworkInput], inputs: Sequence[str], count: int
) -> dict[int, tuple[AippSettings, ...]]:
    """The settings of a file by the position of their input, one entry a picture.

    The file is one of three: protobuf text with an `aipp_op` of `aipp_mode: dynamic` for each
    input, the [aipp_op] section of ais_bench, or the bytes of a parameter buffer. The latter two
    are for models with one input with dynamic AIPP. Text gives all pictures the same settings.

    `networks` are the inputs with dynamic AIPP by position, `count` the pictures of a run.

    Raises:
        AtcError: FILE_NOT_FOUND and its like; BAD_AIPP with line, column and field.
    """
    data = read_bytes(path, _MOST_RUN_BYTES)
    # A buffer has reserved bytes of 0, and a text has none.
    text = None if b"\0" in data else decoded(data)
    if text is not None and not is_ini(text):
        result = assigned_configs(parse_aipp(str(path), text), inputs)
        for at, config in result.items():
            if at not in networks:
                raise config.error(
                    Text("input {inputs} has no dynamic AIPP", inputs=repr(inputs[at])),
                    "related_input_rank",
                )
        missing = [at for at in networks if at not in result]
        if missing:
            name = inputs[missing[0]]
            raise BAD_AIPP.error(
                Text("{path} has no settings for input {name}", path=path, name=repr(name)),
                place=Place(str(path)),
                help=Text(
                    "add an `aipp_op` with `related_input_rank: {missing}`", missing=missing[0]
                ),
            )
        return {at: (_of_text(result[at], network),) * count for at, network in networks.items()}
    at, network = _only(path, networks)
    if text is not None:
        return {at: (_of_text(parse_ini(str(path), text), network),) * count}
    return {at: settings_of_bytes(data, str(path))}


def _only(path: Path, networks: Mapping[int, NetworkInput]) -> tuple[int, NetworkInput]:
    if len(networks) != 1:
        raise BAD_AIPP.error(
            Text(
                "{path} has settings for one input, but {count} have dynamic AIPP",
                path=path,
                count=len(networks),
            ),
            place=Place(str(path)),
            help=Text("write an `aipp_op` for each input in protobuf's text form"),
        )
    return next(iter(networks.items()))


def _of_text(config: AippConfig, network: NetworkInput) -> AippSettings:
    check_values(config)
    if config["aipp_mode"] == "static":
        raise config.error(
            Text("settings of a run have `aipp_mode: dynamic`, found static"), "aipp_mode"
        )
    for name in ("input_format", "src_image_size_w", "src_image_size_h"):
        if not config[name]:
            raise config.error(Text("{name} is missing: each run states it", name=repr(name)), name)
    return replace(picture_settings(config, network, dynamic=True), aipp_mode="dynamic")


def read_picture_configs(path: Path) -> tuple[AippConfig, ...]:
    """The configurations of a file that say all about a picture.

    Those are configurations of static AIPP, and settings for a run of dynamic AIPP as text.

    Raises:
        AtcError: as `read_aipp_file`; BAD_AIPP for dynamic AIPP without the settings of a run.
    """
    text = read_aipp_text(path)
    if is_ini(text):
        configs: tuple[AippConfig, ...] = (parse_ini(str(path), text),)
    else:
        configs = parse_aipp(str(path), text).configs
    for config in configs:
        check_values(config)
        if config["aipp_mode"] == "undefined" and not is_ini(text):
            check_mode(config)
        if not config["input_format"]:
            raise config.error(
                Text("'input_format' is missing"),
                "input_format",
                Text("settings of dynamic AIPP come with each run; give the file that has them"),
            )
    return configs


def config_of_settings(settings: AippSettings, file: str | None = None) -> AippConfig:
    """Settings as a configuration with every field, which has no places."""
    given: dict[str, GivenField] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        names = _PARTS.get(field.name, (field.name,))
        values = value if field.name in _PARTS else (value,)
        given |= {name: GivenField(part, None) for name, part in zip(names, values, strict=True)}
    return AippConfig(file, None, {name: given[name] for name in given if find_field(name)})


def checked_pictures(
    pictures: Sequence[AippSettings],
    network: NetworkInput,
    most: int,
    file: str | None = None,
) -> tuple[AippSettings, ...]:
    """The settings of a run's pictures, checked as a device checks them.

    The network's batch is the number of pictures, `most` the `max_src_image_size` of the model.

    Raises:
        AtcError: BAD_AIPP for another number of pictures than the batch, a format or geometry that
            the SoC does not take, sizes that are not the network's, and pictures that have more
            than `most` bytes together.
    """
    batch = network.shape[network.layout.index("N")]
    if len(pictures) != batch:
        raise BAD_AIPP.error(
            Text(
                "there are settings for {count} pictures, but the model's batch is {batch}",
                count=len(pictures),
                batch=batch,
            ),
            place=Place(file),
        )
    results = []
    for at, settings in enumerate(pictures):
        if image_format(settings.input_format).buffer_code is None:
            raise BAD_AIPP.error(
                Text(
                    "dynamic AIPP does not take {input_format}", input_format=settings.input_format
                ),
                place=Place(file, field="input_format"),
            )
        config = config_of_settings(settings, file)
        try:
            check_values(config)
            found = picture_settings(config, network, dynamic=True)
        except AtcError as error:
            (cause,) = error.diagnostics
            message = Text("picture {at}: ", at=at) + cause.message
            raise AtcError(cause._replace(message=message)) from None
        results.append(replace(found, aipp_mode="dynamic"))
    _check_size(source_bytes(results[0], batch), batch, most, file)
    return tuple(results)


def _check_size(size: int, batch: int, most: int, file: str | None) -> None:
    """Refuse pictures that have more than `most` bytes together."""
    if size > most:
        raise BAD_AIPP.error(
            Text(
                "{batch} pictures of {size} bytes are {size_2} bytes, more than "
                "max_src_image_size {most}",
                batch=batch,
                size=size // batch,
                size_2=size,
                most=most,
            ),
            place=Place(file, field="src_image_size_w"),
            help=Text("convert the model with a larger `max_src_image_size`"),
        )
