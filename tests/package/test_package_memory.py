"""Writing takes the memory of one weight, whatever the model's size."""

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from atc_py.ir import CastConst, ConstData, DeferredConst, Graph, SplatConst
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType
from tests.sampling import sampled

MIB = 1 << 20


def written_peak(consts: list[ConstData], path: Path) -> int:
    """Return bytes allocated at the worst moment while constants are written."""
    graph = Graph()
    for const in consts:
        graph.add_output(graph.constant("w", const))
    gc.collect()
    tracemalloc.start()
    try:
        write_model(graph, path, PackageContents("", "sim"))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def deferred(transposed: bool) -> ConstData:
    """Return 8 MiB that are made when they are asked for."""

    def compute() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        array = np.ones((2048, 1024), np.float32)
        return array.reshape(1024, 2048).T if transposed else array

    return DeferredConst(DType.FLOAT32, (2048, 1024), (), compute, "ones")


@pytest.mark.parametrize("transposed", sampled([True], [False]))
def test_peak_is_about_two_weights(tmp_path: Path, transposed: bool) -> None:
    peak = written_peak([deferred(transposed) for _ in range(4)], tmp_path / "m.om")
    assert 8 * MIB <= peak < 20 * MIB


def test_cast_weights_take_source_and_result_alone(tmp_path: Path) -> None:
    consts: list[ConstData] = [
        CastConst(SplatConst(1.0, DType.FLOAT32, (2 * MIB,)), DType.FLOAT16) for _ in range(4)
    ]
    assert written_peak(consts, tmp_path / "m.om") < 24 * MIB


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_splat_is_never_whole_in_memory(tmp_path: Path, dtype: DType) -> None:
    const = SplatConst(1.5, dtype, (8, 1024, 1024))
    assert written_peak([const], tmp_path / "m.om") < 8 * MIB
    with open_model(tmp_path / "m.om") as model:
        array = model.array("weights/0000_w.npy").astype(np.float32)
        assert array.shape == (8, 1024, 1024)
        assert (array == 1.5).all()


def test_reading_copies_no_weight(tmp_path: Path) -> None:
    written_peak([SplatConst(1.0, DType.FLOAT32, (8 * MIB,))], tmp_path / "m.om")
    tracemalloc.start()
    try:
        with open_model(tmp_path / "m.om") as model:
            assert model.array("weights/0000_w.npy")[-1] == 1.0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB
