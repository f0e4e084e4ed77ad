"""Models of many gigabytes, in small: external data, zip64 records and weights that pass.

`make bench-large` does the same with 6 and 10 GB.
"""

import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import atc_py
from atc_py.device.sim.memory import memory_budget
from atc_py.package import integrity, read_ahead, records
from tests.bench.very_large import make_sparse_model

WIDTH, PRODUCTS = 64, 5


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a chain of products whose weights, in a file of their own, are numbers."""
    path = make_sparse_model(tmp_path, PRODUCTS, WIDTH)
    generator = np.random.default_rng(3)
    numbers = generator.standard_normal(PRODUCTS * WIDTH * WIDTH, dtype=np.float32) / 8
    (tmp_path / "weights.bin").write_bytes(numbers.tobytes())
    return path


def results(om: Path) -> list[npt.NDArray[np.generic]]:
    """Return what two runs on different data give."""
    generator = np.random.default_rng(4)
    feeds = [generator.standard_normal((1, WIDTH), dtype=np.float32) for _ in range(2)]
    with atc_py.load(om) as loaded:
        return [loaded.run({"x0": feed})[f"x{PRODUCTS}"] for feed in feeds]


def test_small_limits_change_no_result(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atc_py.convert(model, tmp_path / "plain.om")
    wanted = results(tmp_path / "plain.om")
    monkeypatch.setattr(records, "ZIP64_FROM", 3 * WIDTH * WIDTH)  # from the second weight on
    monkeypatch.setattr(memory_budget, "HELD_WHOLE", 0)
    monkeypatch.setattr(memory_budget, "HELD_OF_LARGE", 0)
    monkeypatch.setattr(integrity, "_AT_ONCE", 1000)
    monkeypatch.setattr(read_ahead, "CHUNK", 1024)
    atc_py.convert(model, tmp_path / "large.om")
    with zipfile.ZipFile(tmp_path / "large.om") as archive:
        assert archive.testzip() is None
    for found, expected in zip(results(tmp_path / "large.om"), wanted, strict=True):
        assert np.abs(expected).max() > 0
        np.testing.assert_array_equal(found, expected)
