"""half and bfloat16_t of the host headers: they round as the simulator does."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.system.cache_folders import templates_dir
from atc_py.tensor.dtypes import DType

MAIN = """
#include "ascendc/numbers.h"
#include <cstdio>
template <typename T>
void Convert(const char* from, const char* into) {
  std::FILE* in = std::fopen(from, "rb");
  std::FILE* out = std::fopen(into, "wb");
  float wide[2];
  while (std::fread(wide, sizeof(float), 2, in) == 2) {
    const T a(wide[0]);
    const T b(wide[1]);
    const float back[] = {a, T(a + b), T(a * b), T(a / b)};
    std::fwrite(back, sizeof(float), 4, out);
  }
  std::fclose(in);
  std::fclose(out);
}
int main(int, char** names) {
  Convert<half>(names[1], names[2]);
  Convert<bfloat16_t>(names[1], names[3]);
}
"""


def _operands() -> NDArray[np.float32]:
    """Return pairs of float32: random bits, neighbors of every float16, and halfway points."""
    generator = np.random.default_rng(0)
    bits = generator.integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    near = np.concatenate([np.nextafter(halves, np.float32(to)) for to in (-np.inf, np.inf)])
    halfway = (halves[:-1] + halves[1:]) / 2
    ones = np.concatenate([bits, halves, near, halfway])
    return np.stack([ones, generator.permutation(ones)], 1).astype(np.float32)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[DType, NDArray[np.float32]]:
    """Return (a, a + b, a * b, a / b) of each pair, in both dtypes."""
    folder: Path = tmp_path_factory.mktemp("numbers")
    (folder / "main.cpp").write_text(MAIN)
    with np.errstate(all="ignore"):
        _operands().tofile(folder / "in")
    command = [*find_compiler().command, "-std=c++17", "-O1", "-ffp-contract=off"]
    command += ["-I", str(templates_dir() / "host"), "main.cpp", "-o", "main"]
    subprocess.run(command, check=True, cwd=folder)
    subprocess.run([folder / "main", "in", "f16", "bf16"], check=True, cwd=folder)
    names = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16"}
    return {
        dtype: np.fromfile(folder / name, np.float32).reshape(-1, 4)
        for dtype, name in names.items()
    }


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
@pytest.mark.parametrize("operation", ["conversion", "add", "multiply", "divide"])
def test_results_are_the_simulators_in_all_bits(
    found: dict[DType, NDArray[np.float32]], dtype: DType, operation: str
) -> None:
    with np.errstate(all="ignore"):
        a, b = (round_to_grid(np.ascontiguousarray(side), dtype) for side in _operands().T)
        exact: Any = a if operation == "conversion" else getattr(np, operation)(a, b)
        expected = round_to_grid(exact, dtype)
    result = found[dtype][:, ["conversion", "add", "multiply", "divide"].index(operation)]
    same = result.view(np.uint32) == expected.view(np.uint32)
    assert (same | (np.isnan(result) & np.isnan(expected))).all()
