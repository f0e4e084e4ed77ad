"""Operators of the newest list that index, on shapes that only the run knows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from tests.lowering.newer_list import LIST
from tests.lowering.opened import MODES, Loaded, Opened, cut, loaded

Array = NDArray[Any]


def loaded_by_list(net: Opened, mode: str) -> AbstractContextManager[Loaded]:
    """Load a model that keeps to the list."""
    return loaded(net.model(), mode, op_specs=None, operator_list=LIST)


def drawn(seed: int, shape: tuple[int, ...]) -> Array:
    """Return float32 numbers that float16 holds."""
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(np.float32)


def places(seed: int, shape: tuple[int, ...], length: int) -> Array:
    """Return indices from both ends of an axis, each of a row another one."""
    generator = np.random.default_rng(seed)
    rows = [generator.permutation(length)[: shape[1]] for _ in range(shape[0])]
    found = np.array(rows, np.int32).reshape(shape)
    return np.where(generator.random(shape) < 0.5, found - length, found).astype(np.int32)


@pytest.mark.parametrize("mode", MODES)
def test_elements_are_replaced_in_any_shape(mode: str) -> None:
    net = Opened(16)
    operands = net.open("x", 2), net.indices("i", 2), net.open("u", 2)
    net.output(net.op("ScatterElements", *operands, axis=1))
    with loaded_by_list(net, mode) as model:
        for seed, (shape, given) in enumerate(
            [((3, 5), (2, 4)), ((1, 1), (1, 1)), ((4, 2), (0, 2)), ((6, 6), (6, 6))]
        ):
            feeds = {**cut("x", drawn(seed, shape)), **cut("u", drawn(seed + 9, given))}
            model.agree({**feeds, **cut("i", places(seed, given, shape[1]))})


@pytest.mark.parametrize("mode", MODES)
def test_slices_are_chosen_in_any_shape(mode: str) -> None:
    net = Opened(13)
    x, condition = net.open("x", 2), net.open("c", 1, np.bool_)
    net.output(net.op("Compress", x, condition, axis=-1))
    net.output(net.op("Compress", x, condition))
    net.output(net.op("Compress", x, net.const([False, True], np.bool_), axis=0))
    with loaded_by_list(net, mode) as model:
        for seed, (shape, length) in enumerate(
            [((3, 5), 4), ((2, 1), 1), ((2, 4), 0), ((6, 6), 6)]
        ):
            held = np.random.default_rng(seed).random(length) < 0.5
            model.agree({**cut("x", drawn(seed, shape)), **cut("c", held)})


@pytest.mark.parametrize("mode", MODES)
def test_values_are_put_back_into_any_shape(mode: str) -> None:
    net = Opened(11)
    wanted = net.fed("wanted", np.int64, (3,))
    operands = net.open("x", 3), net.indices("i", 3), wanted
    net.output(net.op("MaxUnpool", *operands, kernel_shape=[2], strides=[2]))
    with loaded_by_list(net, mode) as model:
        for seed, (shape, to) in enumerate([((1, 2, 3), (1, 2, 6)), ((2, 1, 2), (2, 1, 5))]):
            values = drawn(seed, shape)
            found = np.arange(values.size, dtype=np.int32).reshape(shape)[..., ::-1]
            feeds = {**cut("x", values), **cut("i", np.ascontiguousarray(found))}
            model.agree({**feeds, "wanted": np.array(to, np.int64)})


def test_windows_of_open_dims_are_refused() -> None:
    net = Opened(11)
    net.output(net.op("MaxUnpool", net.open("x", 3), net.indices("i", 3), kernel_shape=[2]))
    with pytest.raises(AtcError, match="open dims, known only at run time"):
        next(_entered(net))


def _entered(net: Opened) -> Iterator[Loaded]:
    with loaded_by_list(net, MODES[0]) as model:
        yield model


def test_sequences_of_any_length_are_counted() -> None:
    net = Opened(13)
    pool = {"ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2], "pool_int64s": [1, 2, 2, 1]}
    lengths = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1}
    words = net.indices("x", 2)
    net.output(net.op("TfIdfVectorizer", words, mode="TF", **pool, **lengths))
    with loaded_by_list(net, MODES[0]) as model:
        for shape in ((1, 1), (3, 6), (6, 2)):
            words_of_run = np.random.default_rng(shape[1]).integers(0, 4, shape).astype(np.int32)
            model.agree(cut("x", words_of_run))
