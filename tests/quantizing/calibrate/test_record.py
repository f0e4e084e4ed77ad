"""Records in AMCT's text format: what is read and written again has the same bytes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import BAD_QUANT_RECORD, QUANT_FIELD_NOT_MODELED
from atc_py.quantizing.calibrate.record import (
    LayerRecord,
    check_record,
    read_record,
    record_text,
)
from tests.failures import in_one_item

STEM = """\
record {
  key: "stem/conv"
  value {
    scale_d: 0.0117647061
    offset_d: -102
    scale_w: 0.0078125
    scale_w: 0.02
    offset_w: 0
    offset_w: 0
    dst_type: "INT8"
  }
}
"""
OTHERS = """\
record { key: "pool" value { scale_d: 0.02352941 offset_d: -128 scale_w: 1 offset_w: 0 } }
record { key: "fc" value { scale_d: 0.031 offset_d: 5 scale_w: 0.004 offset_w: 0 \
tensor_balance_factor: 4 tensor_balance_factor: 1 } }
record { key: "add1:0" value { scale_d: 0.05 offset_d: 0 } }
"""
LAYERS = {
    "stem/conv": (2, 3),
    "pool": (2, 2),
    "fc": (10, 2),
    "add1:0": (2, 2),
}


def test_record_is_read_and_written_with_the_same_bytes() -> None:
    assert record_text(read_record(STEM)) == STEM
    whole = read_record(STEM + OTHERS)
    text = record_text(whole)
    assert text.startswith(STEM)
    assert "    scale_d: 0.02352941\n" in text
    assert record_text(read_record(text)) == text
    assert read_record(text) == whole
    assert record_text(pickle.loads(pickle.dumps(whole))) == text  # noqa: S301
    check_record(whole, LAYERS)


def test_values_of_a_record() -> None:
    found = read_record(STEM + OTHERS)
    assert found["stem/conv"] == LayerRecord(
        scale_d=float(np.float32(0.0117647061)),
        offset_d=-102,
        scale_w=(0.0078125, float(np.float32(0.02))),
        offset_w=(0, 0),
        dst_type="INT8",
    )
    assert list(found["fc"].tensor_balance_factor) == [4, 1]
    assert not found["add1:0"].scale_w


SCALES = st.floats(2**-23, 2**23, width=32)
LAYER_RECORDS = st.builds(
    lambda scale, offset, scales, shifts, factors, fusion: LayerRecord(
        scale_d=scale,
        offset_d=offset,
        scale_w=tuple(scales),
        offset_w=(0,) * len(scales),
        shift_bit=tuple(shifts),
        tensor_balance_factor=tuple(factors),
        skip_fusion=fusion,
        wts_type="INT8",
        fakequant_precision_mode="FORCE_FP16_QUANT",
    ),
    SCALES,
    st.integers(-128, 127),
    st.lists(SCALES, max_size=4),
    st.lists(st.integers(1, 16), max_size=3),
    st.lists(st.floats(2**-10, 1000, width=32), max_size=3),
    st.none() | st.booleans(),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(NAMES, LAYER_RECORDS, max_size=4))
def test_any_record_is_read_back(layers: dict[str, LayerRecord]) -> None:
    text = record_text(layers)
    found = read_record(text)
    assert list(found.values()) == list(layers.values())
    assert record_text(found) == text


def test_names_that_are_not_ascii_are_read_back() -> None:
    layers = {'层 "1"\\': LayerRecord(scale_d=1.0), "\x01é\n": LayerRecord(scale_d=2.0)}
    assert list(read_record(record_text(layers))) == list(layers)
    escaped = 'record { key: "\\345\\261\\202" value { scale_d: 1 } }'
    assert list(read_record(escaped)) == ["层"]


def value(text: str) -> str:
    """Return a record of one layer."""
    return f'record {{\n  key: "a"\n  value {{\n    {text}\n  }}\n}}\n'


@in_one_item(
    ("text", "words"),
    [
        (value("offset_d: 128"), "offset_d must be in [-128, 127], found 128"),
        (value("offset_d: -129"), "offset_d must be in"),
        (value("offset_d: 1.5"), "offset_d must be a whole number, found '1.5'"),
        (value("scale_w: 1 offset_w: 1"), "offset_w must be 0"),
        (value("scale_w: 1"), "must have the same number of scale_w and offset_w"),
        (value("scale_d: 0"), "scale_d must be positive"),
        (value("scale_d: -1"), "scale_d must be positive"),
        (value("scale_d: nan"), "scale_d must be positive"),
        (value("scale_d: 1e39"), "scale_d must be positive"),
        (value("scale_d: one"), "scale_d must be a number, found 'one'"),
        (value('scale_d: "1"'), "scale_d must be a number"),
        (value("scale_d { }"), "scale_d must be a value"),
        (value("scale_d: [1, 2]"), "found a list of 2"),
        (value("scale_w: [1, inf] offset_w: [0, 0]"), "scale_w must be positive"),
        (value("shift_bit: 0 shift_bit: 3"), "has shift_bit of 0 and of others"),
        (value("shift_bit: 17"), "shift_bit must be 0 or in [1, 16]"),
        (value("tensor_balance_factor: 1e-8"), "tensor_balance_factor must be in"),
        (value("skip_fusion: maybe"), "skip_fusion must be true or false"),
        (value("scale: 1"), "scale is not a field of a layer"),
        (STEM + STEM, "'stem/conv' has an entry already"),
        ('record { key: "a" }', "record needs a key and a value"),
        ("record { value { } }", "record needs a key and a value"),
        ("record { key: a value { } }", "key must be a text in quotes"),
        ('record { key: "a" value { } more: 1 }', "more is not a field of an entry"),
        ("record: 1", "record must be a message in braces"),
        ("records { }", "records is not a field of a record"),
        (STEM[:-3], "has no `}`"),
        ("\0", "does not belong here"),
    ],
)
def test_records_with_faults_are_refused(text: str, words: str) -> None:
    with pytest.raises(AtcError) as failed:
        read_record(text, "record.txt")
    found = failed.value.diagnostics[0]
    assert found.code is BAD_QUANT_RECORD
    assert words in found.message
    assert found.place is not None
    assert found.place.file == "record.txt"
    assert found.place.line is not None


@pytest.mark.parametrize(
    "text",
    [
        "prune_record { }",
        'record { key: "a" kv_cache_value { } }',
        value("scale_h: 1"),
        value('dst_type: "INT4"'),
        value('act_type: "INT16"'),
    ],
)
def test_fields_that_are_not_modeled_are_refused_by_name(text: str) -> None:
    with pytest.raises(AtcError) as failed:
        read_record(text)
    found = failed.value.diagnostics[0]
    assert found.code is QUANT_FIELD_NOT_MODELED
    assert found.place is not None
    assert found.place.field is not None
    assert found.place.field in found.message


@pytest.mark.parametrize(
    ("key", "layer", "words"),
    [
        ("stem/conw", LayerRecord(scale_d=1.0, offset_d=0), "no layer 'stem/conw'"),
        ("pool", LayerRecord(scale_d=1.0), "needs scale_d and offset_d"),
        ("fc", LayerRecord(scale_d=1.0, offset_d=0, scale_w=(1.0,) * 3), "3"),
        ("fc", LayerRecord(scale_d=1.0, offset_d=0, tensor_balance_factor=(1.0,)), "found 1"),
    ],
)
def test_record_of_another_model_is_refused(key: str, layer: LayerRecord, words: str) -> None:
    with pytest.raises(AtcError) as failed:
        check_record({key: layer}, LAYERS, "record.txt")
    found = failed.value.diagnostics[0]
    code: Code = BAD_QUANT_RECORD
    assert found.code is code
    assert words in found.message
    assert "stem/conv" in (found.help or "stem/conv")
