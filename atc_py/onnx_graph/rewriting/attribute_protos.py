"""Attributes of new nodes as ONNX's messages."""

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
from onnx import helper


def attribute_protos(attributes: Mapping[str, Any]) -> Iterator[onnx.AttributeProto]:
    """Yield the messages of attributes by name; those that are None are left out.

    An empty list does not show what it is a list of: it is one of integers, as every list of ONNX's
    operators that may be empty.
    """
    for name, value in sorted(attributes.items()):
        if value is not None:
            is_empty = isinstance(value, list | tuple) and not value
            of = onnx.AttributeProto.INTS if is_empty else None
            yield helper.make_attribute(name, value, attr_type=of)
