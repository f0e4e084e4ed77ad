"""The kernels of OpenBLAS that tests and derived pages use, the same on every x86-64 machine of today.

OpenBLAS chooses kernels by CPU, and each adds products up in an order of its own. The last bits of
sums differ, some results in float16 round the other way, and errors of whole networks differ by up to
a factor of three. Figures of pages are those of the kernels for AVX2.
"""

import os
from contextlib import suppress
from pathlib import Path

from threadpoolctl import threadpool_info

KERNELS = "Haswell"
"""OpenBLAS's name of them."""

VARIABLE = "OPENBLAS_CORETYPE"


def choose_kernels() -> None:
    """Choose the kernels where the CPU has them, unless the user chose some; before numpy is imported."""
    if has_kernels():
        os.environ.setdefault(VARIABLE, KERNELS)


def has_kernels() -> bool:
    """Return True if this machine says that its CPU has AVX2."""
    with suppress(OSError):
        return " avx2 " in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return False


def kernels_in_use() -> list[str]:
    """Return the name of those that numpy of this process uses, if it is imported with OpenBLAS."""
    return [
        each["architecture"] for each in threadpool_info() if each["internal_api"] == "openblas"
    ][:1]


def uses_kernels() -> bool:
    """Return True if numpy of this process, which is imported, uses them."""
    return kernels_in_use() == [KERNELS]


def error_factor() -> float:
    """Return how many times larger or smaller an error of a whole network may be than a page says.

    Versions of libraries differ a little. Other kernels were seen to make a factor of three.
    """
    return 1.1 if uses_kernels() else 4.0
