"""Models of one operator, on the simulator and on onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.twin import differences, run_on_ort

Operands = Sequence[Array | None]
Types = Sequence[tuple[DType, Sequence[int | None]]]


def dtypes_of(op: str, position: int = 0) -> list[DType]:
    """Return the dtypes that the operand at `position` can have, on any engine."""
    row = find_operator(op)
    assert row is not None
    found = {column.inputs[position] for column in row.columns}
    # Operands of one dtype are one column of it.
    found |= {column.inputs[min(position, len(column.inputs) - 1)] for column in row.aicpu}
    return sorted(found, key=str)


def agree(
    op: str,
    inputs: Operands,
    outputs: Types,
    attributes: Attributes | None = None,
    *,
    constants: Sequence[int] = (),
    exact: bool = True,
) -> list[Array]:
    """Check that both devices give the same and return it.

    Args:
        op: the operator.
        inputs: its operands, None where absent.
        outputs: dtypes and dims of its results.
        attributes: its attributes.
        constants: positions of the inputs that are constants.
        exact: all numbers must be equal, else the bounds of `run --expect` hold.
    """
    model, feeds = model_of(op, inputs, outputs, attributes, constants=constants)
    expected = run_model(model, feeds)
    found = run_on_ort(model, feeds)
    assert found is not None
    assert differences(model, found, expected) == []
    if exact:
        for name, array in expected.items():
            np.testing.assert_array_equal(_comparable(found[name]), _comparable(array))
    return [expected[name] for name in expected]


def _comparable(array: Array) -> Array:
    """Return bfloat16 as float32: numpy does not know its NaN."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
