"""Checks of small models, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py import api
from tests.frontend import onnx_files

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import onnx

    from atc_py.check.findings import Finding, ModelCheck

__all__ = ["checked", "only"]


def checked(proto: onnx.ModelProto, folder: Path, **options: Any) -> ModelCheck:
    """The check of `proto`, written to a file in `folder`."""
    (model,) = api.check(onnx_files.save(proto, folder), **options).models
    return model


def only(model: ModelCheck) -> Finding:
    """The one finding of a model without faults."""
    assert model.faults == ()
    (finding,) = model.findings
    return finding
