"""Tests add products up in one order on every x86-64 machine of today."""

import os

import pytest

from tests.blas_kernels import KERNELS, VARIABLE, has_kernels, uses_kernels


@pytest.mark.skipif(
    not has_kernels() or os.environ.get(VARIABLE, KERNELS) != KERNELS,
    reason="the CPU has other kernels, or the user chose some",
)
def test_numpy_uses_the_kernels_of_the_pages() -> None:
    import numpy as np  # noqa: F401

    assert os.environ[VARIABLE] == KERNELS
    assert uses_kernels()
