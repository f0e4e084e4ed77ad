"""Types of tensors in blocks, for the tests of kernels."""

from typing import Any

import pytest

from atc_py.compare.kernels.verify import KernelVerdict
from atc_py.ir import TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage
from tests import sampling

SANITIZED = [False, pytest.param(True, marks=pytest.mark.sweep)]
"""Whether kernels are built with sanitizers."""


def sampled(first: str, *others: str) -> list[Any]:
    """Return parameters of which the first is tested always, and all in the whole sweep."""
    return sampling.sampled([first], others)


def stored(dtype: DType, shape: Shape, name: str, groups: int = 1) -> TensorType:
    """Return a tensor in a blocked format; images and filters are NCHW."""
    storage = Storage(Format(name), groups)
    rank4 = len(shape) == len("NCHW") and storage.format is not Format.FRACTAL_NZ
    return TensorType(dtype, shape, Format.NCHW if rank4 else Format.ND, storage)


def image(dtype: DType, *shape: int) -> TensorType:
    """Return an image in NC1HWC0."""
    return stored(dtype, shape, "NC1HWC0")


def matrix(dtype: DType, *shape: int) -> TensorType:
    """Return matrices in FRACTAL_NZ."""
    return stored(dtype, shape, "FRACTAL_NZ")


def addressed(checked: list[KernelVerdict]) -> set[str | None]:
    """Return the addressing of operands by kernels: `storage` or `origin`."""
    return {each.kernel.get("addresses") for each in checked}
