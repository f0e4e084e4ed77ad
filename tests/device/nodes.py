"""Nodes that the simulator refuses: the reason, as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from tests.device.models import run_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.tensor.dtypes import DType
    from tests.device.models import Array, Attributes

__all__ = ["refusal"]


def refusal(
    op: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int]]],
    attributes: Attributes | None = None,
    constants: Sequence[int] = (),
) -> str:
    """Return the device's complaint about one operator when the model is loaded."""
    with pytest.raises(AtcError) as caught:
        run_operator(op, inputs, outputs, attributes, constants)
    (found,) = caught.value.diagnostics
    assert found.code is OM_CONTENT
    return found.message
