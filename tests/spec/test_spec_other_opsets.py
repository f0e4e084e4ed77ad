"""Rows for opsets that are not listed, against ONNX's own definitions."""

from collections.abc import Iterator
from typing import Any

import onnx
import onnx.defs
import onnx.helper
import pytest

from atc_py.spec import AttributeSpec, OpSpec, library
from tests.failures import in_one_item
from tests.spec.every_list import LISTS, each_spec, list_of

MEANINGS = {
    ("RoiAlign", "coordinate_transformation_mode"): "output_half_pixel",
    ("BatchNormalization", "is_test"): 1,
    ("Dropout", "is_test"): 1,
}
"""Attributes whose default is not what the listed opsets compute, and the value that is."""


def _later(spec: OpSpec) -> Iterator[Any]:
    """Yield ONNX's definitions of an operator after the last listed opset."""
    opset = max(spec.opsets)
    for later in range(opset + 1, onnx.defs.onnx_opset_version() + 1):
        schema = onnx.defs.get_schema(spec.op, later)
        if schema.since_version == later:
            yield schema


def _cases() -> Iterator[Any]:
    """Yield every attribute that ONNX adds after the last listed opset, in its first form."""
    for spec in each_spec():
        if spec.custom:
            continue
        seen = set(onnx.defs.get_schema(spec.op, max(spec.opsets)).attributes)
        for schema in _later(spec):
            for name in sorted(set(schema.attributes) - seen):
                seen.add(name)
                yield pytest.param(spec, name, schema, id=f"{list_of(spec)}-{spec.op}-{name}")


def _rows() -> Iterator[tuple[OpSpec, AttributeSpec]]:
    """Yield attributes that none of the listed opsets has."""
    for spec in each_spec():
        for row in spec.attributes:
            if not spec.custom and not any(row.exists_at(opset) for opset in spec.opsets):
                yield spec, row


@in_one_item(("spec", "name", "schema"), list(_cases()))
def test_attribute_of_a_later_opset_has_a_row(spec: OpSpec, name: str, schema: Any) -> None:
    row = spec.attribute(name)
    assert row is not None
    assert row.since == schema.since_version
    formal = schema.attributes[name]
    assert row.type.value == formal.type.name.lower()
    default = onnx.helper.get_attribute_value(formal.default_value)
    if formal.default_value.name:
        assert row.default == (default.decode() if isinstance(default, bytes) else default)
    else:
        assert row.default in {None, (1, 1)}
    assert spec.notes is not None
    assert name in spec.notes.en


def test_rows_of_other_opsets_allow_what_listed_opsets_compute() -> None:
    odd = {}
    for spec, row in _rows():
        if row.one_of and row.default not in row.one_of:
            (odd[spec.op, row.name],) = row.one_of
    assert odd == MEANINGS


def test_rows_of_other_opsets_are_not_listed_but_for_layout() -> None:
    listed = {(spec.op, row.name) for spec, row in _rows() if row.listed}
    assert listed == {("GRU", "layout"), ("LSTM", "layout")}


def test_superfluous_is_what_shapes_say() -> None:
    for name in LISTS:
        rows = [(spec, row) for spec in library(name).all() for row in spec.attributes]
        found = {(spec.op, row.name) for spec, row in rows if row.superfluous}
        assert found == {("Split", "num_outputs")}, name


def test_inputs_that_later_opsets_leave_out_stand_for_empty_ones() -> None:
    for spec in each_spec():
        absent = {row.name for row in spec.inputs if row.absent == "empty"}
        assert absent == (set() if spec.custom else _left_out_later(spec)), list_of(spec)


def _left_out_later(spec: OpSpec) -> set[str]:
    """Return inputs that every listed opset demands and that a later one lets nodes leave out."""
    known = {opset for opset in spec.opsets if onnx.defs.has(spec.op, opset)}
    listed: list[Any] = [onnx.defs.get_schema(spec.op, opset) for opset in known]
    options = {(row.name, row.option.name) for each in listed for row in each.inputs}
    later = {
        row.name for each in _later(spec) for row in each.inputs if row.option.name == "Optional"
    }
    return {
        name for name in later if (name, "Single") in options and (name, "Optional") not in options
    }
