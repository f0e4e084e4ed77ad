"""Constants are computed ahead in pieces: the same bytes from any number of threads, in little memory."""

import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.ir import (
    CastConst,
    ConstData,
    DeferredConst,
    DenseConst,
    Graph,
    RowwiseConst,
    SplatConst,
)
from atc_py.package import read_ahead
from atc_py.package.read_ahead import CHUNK
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType
from tests.sampling import alternating

NOTHING = PackageContents("test", "sim")
PIECE = CHUNK // 16
"""Bytes of a piece where its length matters and the memory that it takes does not."""

LONG = 3 * PIECE // 2 + 77
"""Elements of a constant whose last piece is a short one, also in rows of 31."""


def dense(count: int, scale: float = 1.0) -> DenseConst:
    """Draw numbers between -2 and 2 times the scale."""
    drawn = np.random.default_rng(count).random(count, np.float32)
    return DenseConst(np.float32(4 * scale) * (drawn - np.float32(0.5)))


def halved(source: DenseConst) -> RowwiseConst:
    return RowwiseConst(
        DType.FLOAT32, source.shape, [source], lambda rows, array: array[rows] / 2, "halves"
    )


def constants() -> list[ConstData]:
    """Return constants of every kind, in pieces and whole."""
    long, short = dense(LONG, 40_000.0), dense(100)
    turned = DenseConst(np.arange(2 * PIECE, dtype=np.int64).reshape(2, -1).T)
    doubled = DeferredConst(
        DType.FLOAT32, (LONG,), [long], lambda x: x + x, "twice as much"
    )  # its source is a constant in pieces
    wide = DenseConst(np.arange(LONG, dtype=np.float32)[: LONG // 31 * 31].reshape(-1, 31))
    return [
        short,
        CastConst(long, DType.FLOAT16),
        CastConst(long, DType.BFLOAT16, clip=False),
        long,
        turned,
        CastConst(doubled, DType.FLOAT16),
        CastConst(halved(wide), DType.FLOAT16),
        halved(wide),
        CastConst(SplatConst(3.0, DType.FLOAT32, (LONG,)), DType.FLOAT16),
        CastConst(short, DType.FLOAT16),
        dense(0),
    ]


def graph_of(found: list[ConstData]) -> Graph:
    graph = Graph("constants")
    for number, const in enumerate(found):
        graph.add_output(graph.constant(f"w{number}", const))
    return graph


@pytest.mark.parametrize("few", [0, 1 << 30])
@pytest.mark.parametrize(("threads", "ahead"), alternating([2, 7, 1], [1 << 30, 1]))
def test_bytes_are_those_of_whole_constants(
    threads: int, ahead: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_ahead, "_piece_count", lambda _: 1)
    write_model(graph_of(constants()), tmp_path / "whole.om", NOTHING)
    monkeypatch.undo()
    monkeypatch.setattr(read_ahead, "CHUNK", PIECE)
    monkeypatch.setattr(read_ahead, "_THREADS", threads)
    monkeypatch.setattr(read_ahead, "_AHEAD", ahead)
    monkeypatch.setattr(read_ahead, "_FEW", few)
    write_model(graph_of(constants()), tmp_path / "pieces.om", NOTHING)
    assert (tmp_path / "whole.om").read_bytes() == (tmp_path / "pieces.om").read_bytes()
    with open_model(tmp_path / "pieces.om") as model:
        for number, const in enumerate(constants()):
            stored = model.array(f"weights/{number:04d}_w{number}.npy")
            np.testing.assert_array_equal(stored, const.numpy())


@pytest.mark.parametrize("computed", [False, True])
def test_large_constant_takes_the_memory_of_a_few_pieces(tmp_path: Path, computed: bool) -> None:
    whole = DenseConst(dense(16 * CHUNK).numpy().reshape(-1, 1024))
    graph = graph_of([CastConst(halved(whole) if computed else whole, DType.FLOAT16)])
    tracemalloc.start()
    write_model(graph, tmp_path / "m.om", NOTHING)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * CHUNK


def test_pieces_take_the_memory_of_those_that_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(size: int, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
        made.append(size)
        return np.zeros(size, dtype)

    monkeypatch.setattr("atc_py.package.read_ahead.np.empty", counted)
    casts: list[ConstData] = [CastConst(dense(4 * CHUNK), DType.FLOAT16) for _ in range(3)]
    write_model(graph_of(casts), tmp_path / "m.om", NOTHING)
    assert 1 <= made.count(CHUNK) <= 4  # of 12 pieces: two are ahead, one is written, one waits


def test_piece_that_cannot_be_computed_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(read_ahead, "CHUNK", PIECE)
    monkeypatch.setattr(CastConst, "cast", fail)
    with pytest.raises(MemoryError, match="no more"):
        write_model(graph_of(constants()), tmp_path / "m.om", NOTHING)
    assert list(tmp_path.iterdir()) == []


def test_constant_of_another_type_than_its_value_is_a_bug(tmp_path: Path) -> None:
    graph = graph_of([dense(LONG)])
    (value,) = graph.constants()
    value.const = CastConst(dense(LONG), DType.FLOAT16)
    with pytest.raises(ValueError, match=r"data of w0 is float16\[.*its type float32"):
        write_model(graph, tmp_path / "m.om", NOTHING)
