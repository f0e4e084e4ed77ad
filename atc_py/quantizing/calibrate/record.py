"""Records of scales and offsets in AMCT's text format, read and written.

A record has layers by name. What is read and written again has the same bytes if it was laid out as
protobuf does: one field a line, each level indented by two blanks. Numbers are written as they were
read.

Source: `scale_offset_record_pytorch.proto`, `parse_record_file.py` and the page on records of AMCT.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from atc_py.diag import BAD_QUANT_RECORD, QUANT_FIELD_NOT_MODELED, Place, nearest
from atc_py.options.aipp.text_format import TextField
from atc_py.quantizing.calibrate.text_numbers import TextFile, quoted, spelled
from atc_py.quantizing.calibrate.value_range import EPSILON
from atc_py.text import Text

_INT8 = "INT8"
_CODES = range(-128, 128)
_SHIFTS = range(1, 17)
_NOT_MODELED = {
    "prune_record": "pruned channels",
    "kv_cache_value": "quantized caches of keys and values",
    "scale_h": "quantized states of recurrent layers",
    "offset_h": "quantized states of recurrent layers",
    "scale_r": "quantized weights of states",
    "offset_r": "quantized weights of states",
}


class LayerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Entry of a layer in a record; the fields are in the order of the file."""

    scale_d: float | None = None  # scale of the data
    offset_d: int | None = None
    scale_w: tuple[float, ...] = ()  # scales of the weights, one or one for each output channel
    offset_w: tuple[int, ...] = ()  # their offsets: zeros
    shift_bit: tuple[int, ...] = ()  # shifts of the sums, all 0 or all from 1 to 16
    # what the channels of the data are divided by; none if not balanced
    tensor_balance_factor: tuple[float, ...] = ()
    skip_fusion: bool | None = None  # the layer is not fused with its BatchNormalization
    dst_type: str | None = None  # dtype of codes; INT8, as are the two others
    act_type: str | None = None
    wts_type: str | None = None
    fakequant_precision_mode: str | None = None  # how AMCT's model of floats rounds scales


def read_record(text: str, path: str | None = None) -> dict[str, LayerRecord]:
    """The layers of a record by name.

    Raises:
        AtcError: BAD_QUANT_RECORD with the place for what no record has; QUANT_FIELD_NOT_MODELED
            for what is not computed here.
    """
    file = TextFile(text, path, BAD_QUANT_RECORD)
    results: dict[str, LayerRecord] = {}
    for entry in file.fields:
        _refuse_not_modeled(file, entry)
        if entry.name != "record":
            raise file.wrong(entry, "is not a field of a record")
        parts = {part.name: part for part in file.message(entry)}
        for part in parts.values():
            _refuse_not_modeled(file, part)
            if part.name not in {"key", "value"}:
                raise file.wrong(part, "is not a field of an entry")
        if parts.keys() != {"key", "value"}:
            raise file.wrong(entry, "needs a key and a value")
        key = file.string(parts["key"])
        if key in results:
            raise file.wrong(parts["key"], Text("{key} has an entry already", key=repr(key)))
        results[key] = _layer(file, parts["value"])
    return results


def record_text(layers: Mapping[str, LayerRecord]) -> str:
    """A record as text; equal layers are equal bytes."""
    lines = []
    for key, layer in layers.items():
        lines += ["record {", f"  key: {quoted(key)}", "  value {"]
        for name in LayerRecord.__struct_fields__:
            value = getattr(layer, name)
            values = value if isinstance(value, tuple) else () if value is None else (value,)
            lines += [f"    {name}: {_as_text(name, value)}" for value in values]
        lines += ["  }", "}"]
    return "".join(f"{line}\n" for line in lines)


def check_record(
    layers: Mapping[str, LayerRecord],
    known: Mapping[str, tuple[int, int]],
    path: str | None = None,
) -> None:
    """Refuse a record that does not fit the layers of a model.

    `known` has the number of output channels, and of input channels, all groups together.
    """
    for key, layer in layers.items():
        place, channels = Place(path, field=key), known.get(key)
        if channels is None:
            near = " or ".join(nearest(key, known, 2))
            raise BAD_QUANT_RECORD.error(
                Text("the model has no layer {key} that can be quantized", key=repr(key)),
                place=place,
                help=Text("did you mean {near}?", near=near) if near else None,
            )
        if layer.scale_d is None or layer.offset_d is None:
            raise BAD_QUANT_RECORD.error(
                Text("{key} needs scale_d and offset_d", key=repr(key)), place=place
            )
        for name, allowed in (
            ("scale_w", {0, 1, channels[0]}),
            ("shift_bit", {0, 1, channels[0]}),
            ("tensor_balance_factor", {0, channels[1]}),
        ):
            count = len(getattr(layer, name))
            if count not in allowed:
                words = " or ".join(str(number) for number in sorted(allowed))
                message = Text(
                    "{key} needs {words} numbers {name}, found {count}",
                    key=repr(key),
                    words=words,
                    name=name,
                    count=count,
                )
                raise BAD_QUANT_RECORD.error(message, place=place)


def _refuse_not_modeled(file: TextFile, field: TextField) -> None:
    if field.name in _NOT_MODELED:
        raise QUANT_FIELD_NOT_MODELED.error(
            Text(
                "{field}: {not_modeled} are not modeled",
                field=field.name,
                not_modeled=_NOT_MODELED[field.name],
            ),
            place=file.place(field.place, field.name),
        )


_READERS: dict[str, Callable[[TextFile, TextField], Any]] = {
    "scale_d": TextFile.number,
    "offset_d": TextFile.whole,
    "scale_w": TextFile.numbers,
    "offset_w": TextFile.wholes,
    "shift_bit": TextFile.wholes,
    "tensor_balance_factor": TextFile.numbers,
    "skip_fusion": TextFile.truth,
    "dst_type": TextFile.string,
    "act_type": TextFile.string,
    "wts_type": TextFile.string,
    "fakequant_precision_mode": TextFile.word,
}

_LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "scale_d": (lambda x: 0 < x < math.inf, "must be positive and finite"),
    "offset_d": (lambda x: x in _CODES, "must be in [-128, 127]"),
    "scale_w": (lambda x: 0 < x < math.inf, "must be positive and finite"),
    "offset_w": (lambda x: x == 0, "must be 0"),
    "shift_bit": (lambda x: x == 0 or x in _SHIFTS, "must be 0 or in [1, 16]"),
    "tensor_balance_factor": (
        lambda x: EPSILON <= x <= 1 / EPSILON,
        f"must be in [{EPSILON:g}, {1 / EPSILON:g}]",
    ),
}


def _layer(file: TextFile, value: TextField) -> LayerRecord:
    """The entry of a layer; of a field that is there twice, the last counts."""
    results: dict[str, Any] = {}
    for field in file.message(value):
        _refuse_not_modeled(file, field)
        read = _READERS.get(field.name)
        if read is None:
            raise file.wrong(field, "is not a field of a layer")
        read_value = read(file, field)
        many = read_value if isinstance(read_value, list) else [read_value]
        holds, words = _LIMITS.get(field.name, (None, ""))
        for number in many:
            if holds is not None and not holds(number):
                raise file.wrong(
                    field, Text("{words}, found {value}", words=Text(words), value=number)
                )
        if field.name in {"dst_type", "act_type", "wts_type"} and read_value != _INT8:
            raise QUANT_FIELD_NOT_MODELED.error(
                Text(
                    "{name} {actual} is not modeled, only {words} is",
                    name=field.name,
                    actual=repr(read_value),
                    words=repr(_INT8),
                ),
                place=file.place(field.place, field.name),
            )
        if isinstance(read_value, list):
            results[field.name] = (*results.get(field.name, ()), *many)
        else:
            results[field.name] = read_value
    layer = LayerRecord(**results)
    if len(layer.scale_w) != len(layer.offset_w):
        counts = f"{len(layer.scale_w)} scale_w and {len(layer.offset_w)} offset_w"
        raise file.wrong(
            value,
            Text(
                "must have the same number of scale_w and offset_w, found {counts}", counts=counts
            ),
        )
    if len({shift == 0 for shift in layer.shift_bit}) > 1:
        raise file.wrong(value, "has shift_bit of 0 and of others")
    return layer


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return spelled(value)
    if isinstance(value, int):
        return str(value)
    return value if name == "fakequant_precision_mode" else quoted(value)
