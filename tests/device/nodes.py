"""Nodes that the simulator refuses: the reason, as one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator


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
    assert not re.search("([a-z]{3,} ){3}", found.message.in_language("zh"))  # no sentence is left
    return found.message
