"""Models of one node by the rules of the newest operator list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.end_to_end import run_with_atc_py

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx
    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["LIST", "MODES", "run_on_newer_list"]

LIST = "cann-9.0"
MODES = ("must_keep_origin_dtype", "force_fp16")


def run_on_newer_list(
    model: onnx.ModelProto, feeds: Mapping[str, Array], folder: Path, mode: str = MODES[0]
) -> Array:
    """Return the only result of a model that keeps to the list."""
    options: dict[str, Any] = {"precision_mode": mode, "operator_list": LIST}
    (found,) = run_with_atc_py(model, feeds, folder, **options).values()
    return found
